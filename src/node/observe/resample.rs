//! Watches those that wait or are stopped for a moment: who sleeps in the same sleep a second later is stuck, who has
//! woken up meanwhile is only slow. A debugger stops a daemon for moments, too.

use crate::io::deadline;
use crate::io::deadline::Ended;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::node::{Process, State, parse};
use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

const WATCH: Duration = Duration::from_secs(1);
const MAX_TASKS: usize = 512;

/// Fills in `still` of the threads that wait and of the processes that are stopped or in uninterruptible sleep. Without
/// any it takes no time.
pub(super) fn resample(
    tree: &Tree,
    found: &mut BTreeMap<u32, Process>,
    until: Instant,
    gaps: &mut Vec<Gap>,
) {
    let mut tasks: Vec<(u32, u32)> = Vec::new();
    for process in found.values() {
        if process.state == State::Uninterruptible || process.state.is_stopped() {
            tasks.push((process.pid, process.pid));
        }
        let waiting = process.threads.waiting.iter();
        tasks.extend(waiting.map(|thread| (process.pid, thread.tid)));
    }
    tasks.sort_unstable();
    tasks.dedup();
    tasks.truncate(MAX_TASKS);
    if tasks.is_empty() {
        return;
    }
    let mut still = BTreeMap::new();
    let tree = tree.clone();
    let ended = deadline::read_until_deadline(
        until,
        move |to| {
            let status = |(pid, tid): (u32, u32)| format!("proc/{pid}/task/{tid}/status");
            let before: Vec<_> = tasks
                .iter()
                .map(|&task| moment(tree.text(&status(task))))
                .collect();
            let time = tree.pass("watch", WATCH);
            for (task, before) in tasks.into_iter().zip(before) {
                let same = before.is_some() && moment(tree.later(&status(task))) == before;
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
    if !matches!(ended, Ok(Ended::Whole)) {
        gaps.push(Gap::new(
            "whether what waits or is stopped on this host stays so",
            "no time for a second sample",
        ));
    }
    for process in found.values_mut() {
        process.still = still.get(&(process.pid, process.pid)).copied();
        for thread in &mut process.threads.waiting {
            thread.still = still.get(&(process.pid, thread.tid)).copied();
        }
    }
}

/// What of a task stays the same as long as it sleeps one sleep, or is stopped without being let go meanwhile.
fn moment(status: io::Result<String>) -> Option<(u64, bool)> {
    let status = status.ok()?;
    Some((parse::sleeps(&status)?, parse::is_stopped(&status)))
}
