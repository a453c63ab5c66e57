//! Watches those that wait for a moment: who sleeps in the same sleep a second later is stuck, who has woken up
//! meanwhile is only slow.

use super::files;
use crate::{
    log::pump,
    node::{Process, State, parse},
};
use std::{
    collections::BTreeMap,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How long they are watched.
const WATCH: Duration = Duration::from_secs(1);
/// Most tasks that are watched.
const MOST: usize = 512;

/// Fills in `still` of the threads that wait and of the processes in uninterruptible sleep. Without any it takes no
/// time.
pub(super) fn watch(proc: &Path, found: &mut BTreeMap<u32, Process>, until: Instant) {
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
    let live = files::is_live(proc);
    let status = |&(pid, tid): &(u32, u32)| proc.join(format!("{pid}/task/{tid}/status"));
    let watched: Vec<_> = tasks
        .iter()
        .map(|task| (*task, status(task), files::later(&status(task), live)))
        .collect();
    if watched.is_empty() {
        return;
    }
    let mut still = BTreeMap::new();
    // What was not seen twice in time was not watched.
    let _ = pump::pump(
        until,
        move |to| {
            let started = Instant::now();
            let before: Vec<_> = watched.iter().map(|(_, file, _)| sleeps(file)).collect();
            if live {
                thread::sleep(WATCH);
            }
            for ((task, _, file), before) in watched.iter().zip(before) {
                let same = before.is_some() && sleeps(file) == before;
                if same && to.send((*task, started.elapsed().max(WATCH))).is_err() {
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

fn sleeps(status: &Path) -> Option<u64> {
    files::text(status).ok().as_deref().and_then(parse::sleeps)
}
