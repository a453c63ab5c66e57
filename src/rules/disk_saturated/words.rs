//! How a disk that can do no more is told.

use super::{Harm, Sick};
use crate::evidence::Evidence;
use crate::finding::{Remedy, Risk};
use crate::node::Disk;
use crate::rules::count;
use crate::rules::holders::span;
use std::collections::BTreeSet;

/// Most processes that are named.
const NAMED: usize = 3;

/// Returns the case in a few words.
pub(super) fn title(sick: &[Sick]) -> String {
    let names: Vec<_> = sick.iter().map(|sick| sick.disk.name.as_str()).collect();
    let holds: BTreeSet<_> = sick.iter().flat_map(|sick| &sick.disk.holds).collect();
    let holds: Vec<_> = holds.into_iter().map(String::as_str).collect();
    let (disks, hold, fail) = match names.len() {
        1 => ("Disk", "holds", "fails"),
        _ => ("Disks", "hold", "fail"),
    };
    let what = match sick.iter().all(|sick| sick.errors.is_empty()) {
        true => "can do no more",
        false => fail,
    };
    format!(
        "{disks} {}, which {hold} {}, {what}",
        names.join(", "),
        holds.join(", ")
    )
}

/// Returns a disk's figures, as `iostat` calls them.
pub(super) fn figures(disk: &Disk) -> String {
    let wait = match disk.wait {
        Some(wait) => format!("await {:.0} ms", wait.as_secs_f64() * 1000.0),
        None => "none finished".to_owned(),
    };
    format!("util {:.0} %, queue {:.1}, {wait}", disk.busy, disk.queue)
}

/// Returns the story.
pub(super) fn explain(evidence: &Evidence, sick: &[Sick], harm: &Harm) -> String {
    let mut text: Vec<_> = sick.iter().flat_map(told).collect();
    let io = evidence.host.as_ref().and_then(|host| host.pressure.io);
    if let Some(full) = io.and_then(|io| io.full).filter(|&full| full >= 10.0) {
        text.push(format!(
            "In {full:.0} % of the last ten seconds everything that had something to do waited for disks."
        ));
    }
    text.extend(waiters(harm));
    text.extend(harm.docker.clone());
    if !harm.logged.is_empty() {
        text.push(format!(
            "The kubelet's calls to the runtime time out ({}).",
            harm.logged.counted()
        ));
    }
    text.push("Starts, stops and inspects wait for the disk, and so does the kubelet's relist; restarting the runtime does not make a disk faster.".to_owned());
    text.join(" ")
}

fn told(sick: &Sick) -> Vec<String> {
    let disk = sick.disk;
    let through = disk
        .through
        .as_ref()
        .map_or_else(String::new, |above| format!(", by {above}"));
    let holds = format!(
        "{} (which holds {}{through})",
        disk.name,
        disk.holds.join(", ")
    );
    let mut told = Vec::new();
    if sick.slow {
        told.push(match disk.wait {
            None => format!(
                "{holds} finished none of its {} in the second that it was watched.",
                count(usize::try_from(disk.in_flight).unwrap_or(usize::MAX), "request")
            ),
            Some(wait) => format!(
                "{holds} was busy for {:.0} % of the second that it was watched; a request took {:.0} ms, with {:.1} at a time.",
                disk.busy,
                wait.as_secs_f64() * 1000.0,
                disk.queue
            ),
        });
    }
    if let Some(last) = sick.errors.last() {
        let errors = match sick.errors.len() {
            1 => "an error".to_owned(),
            more => format!("{more} errors"),
        };
        let ago = last
            .ago
            .map_or_else(String::new, |ago| format!(", the last {} ago", span(ago)));
        told.push(format!(
            "The kernel reports {errors} of {}{ago}.",
            if sick.slow { &disk.name } else { &holds }
        ));
    }
    told
}

fn waiters(harm: &Harm) -> Option<String> {
    let waiters = &harm.waiters;
    let first = waiters.first()?;
    let mut names: Vec<_> = waiters
        .iter()
        .map(|waiter| format!("{} (process {})", waiter.process.comm, waiter.process.pid))
        .collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let places: BTreeSet<_> = waiters.iter().filter_map(|waiter| waiter.wchan).collect();
    let places: Vec<_> = places.into_iter().take(NAMED).collect();
    let places = match places.as_slice() {
        [] => String::new(),
        some => format!(" (in {})", some.join(", ")),
    };
    let (threads, wait) = match waiters.len() {
        1 => ("A thread".to_owned(), "waits"),
        many => (format!("{many} threads"), "wait"),
    };
    let still = match first.still {
        true => ", and did not wake up for a second",
        false => "",
    };
    Some(format!(
        "{threads} of {} {wait} for a disk{places}{still}.",
        names.join(", ")
    ))
}

/// Returns what to do: who keeps the disk busy is to be found first.
pub(super) fn remedies(sick: &[Sick]) -> Vec<Remedy> {
    let look = |title: &str, command: String, cost: &str| Remedy {
        title: title.to_owned(),
        risk: Risk::Safe,
        command,
        cost: cost.to_owned(),
        actions: Vec::new(),
    };
    let mut remedies = vec![
        look(
            "See which processes read and write most",
            "pidstat -d 1 5 # or iotop -boqqq -d 1 -n 5".to_owned(),
            "nothing; slowing down that one (ionice -c 3 -p PID) or moving it to another disk is the cure",
        ),
        look(
            "See whether it stays so, and whether the disk is at its provider's limit",
            "iostat -x 1 10".to_owned(),
            "nothing; a cloud's disk that has used up its credit waits with little to do",
        ),
    ];
    if sick.iter().any(|sick| !sick.errors.is_empty()) {
        remedies.insert(
            0,
            look(
                "See what the kernel says of the disk",
                "dmesg -T | grep -iE 'I/O error|medium error|reset|timeout' | tail".to_owned(),
                "nothing; a disk that fails has to be replaced, and the node drained before",
            ),
        );
    }
    remedies
}
