//! Watches those that wait for a moment: who sleeps in the same sleep a second later is stuck, who has woken up
//! meanwhile is only slow.

use super::files::Tree;
use crate::{
    log::pump,
    node::{Process, State, parse},
};
use std::{
    collections::BTreeMap,
    io,
    time::{Duration, Instant},
};

/// How long they are watched.
const WATCH: Duration = Duration::from_secs(1);
/// Most tasks that are watched.
const MOST: usize = 512;

/// Fills in `still` of the threads that wait and of the processes in uninterruptible sleep. Without any it takes no
/// time.
pub(super) fn watch(tree: &Tree, found: &mut BTreeMap<u32, Process>, until: Instant) {
    let mut tasks: Vec<(u32, u32)> = Vec::new();
    for process in found.values() {
        if process.state == State::Uninterruptible {
            tasks.push((process.pid, process.pid));
        }
        let waiting = process.threads.waiting.iter();
        tasks.extend(waiting.map(|thread| (process.pid, thread.tid)));
    }
    tasks.sort_unstable();
    tasks.dedup();
    tasks.truncate(MOST);
    if tasks.is_empty() {
        return;
    }
    let mut still = BTreeMap::new();
    let tree = tree.clone();
    // What was not seen twice in time was not watched.
    let _ = pump::pump(
        until,
        move |to| {
            let status = |(pid, tid): (u32, u32)| format!("proc/{pid}/task/{tid}/status");
            let before: Vec<_> = tasks
                .iter()
                .map(|&task| sleeps(tree.text(&status(task))))
                .collect();
            let time = tree.pass("watch", WATCH);
            for (task, before) in tasks.into_iter().zip(before) {
                let same = before.is_some() && sleeps(tree.later(&status(task))) == before;
                if same && to.send((task, time)).is_err() {
                    return;
                }
            }
        },
        &mut |(task, time): ((u32, u32), Duration)| {
            still.insert(task, time);
            true
        },
    );
    for process in found.values_mut() {
        process.still = still.get(&(process.pid, process.pid)).copied();
        for thread in &mut process.threads.waiting {
            thread.still = still.get(&(process.pid, thread.tid)).copied();
        }
    }
}

fn sleeps(status: io::Result<String>) -> Option<u64> {
    status.ok().as_deref().and_then(parse::sleeps)
}
