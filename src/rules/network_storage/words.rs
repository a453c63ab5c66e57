//! What is said of tasks that wait for a file system's server.

use super::{MOUNTS, Stuck, pod};
use crate::evidence::Evidence;
use crate::node::Mount;
use crate::rules::shares::Share;
use crate::rules::{count, shares};
use std::collections::BTreeSet;

fn servers<'a>(mounts: &[&'a Mount]) -> BTreeSet<&'a str> {
    mounts.iter().map(|mount| mount.server()).collect()
}

/// Returns the finding's title.
pub(super) fn title(stuck: &[Stuck], mounts: &[&Mount]) -> String {
    let tasks = count(stuck.len(), "task");
    let servers = servers(mounts);
    match servers.first().filter(|_| servers.len() == 1) {
        Some(server) => format!("{tasks} wait for {server}, which does not answer"),
        None => format!("{tasks} wait for a file system's server that does not answer"),
    }
    .replace("1 task wait ", "1 task waits ")
}

/// Returns what the finding says; `told`: a container's call waits meanwhile.
pub(super) fn explain(
    evidence: &Evidence,
    stuck: &[Stuck],
    (mounts, shares, narrowed): (&[&Mount], &[Share<'_>], bool),
    told: bool,
) -> String {
    let mut names: Vec<_> = stuck
        .iter()
        .map(|task| format!("{} (process {})", task.process.comm, task.process.pid))
        .collect();
    names.dedup();
    let more = names.len().saturating_sub(MOUNTS);
    names.truncate(MOUNTS);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let functions: BTreeSet<_> = stuck.iter().map(|task| task.function).collect();
    let functions: Vec<_> = functions.into_iter().collect();
    let mut text = vec![format!(
        "{} of {} sleep in the kernel until a file system's server answers (in {}), and did not wake up for a second.",
        count(stuck.len(), "thread"),
        names.join(", "),
        functions.join(", ")
    )
    .replace("1 thread of", "A thread of")
    .replacen(" sleep in", if stuck.len() == 1 { " sleeps in" } else { " sleep in" }, 1)
    .replace("and did not wake up", if stuck.len() == 1 { "and did not wake up" } else { "and none woke up" })];
    let named: Vec<_> = mounts
        .iter()
        .take(MOUNTS)
        .map(|mount| {
            let pod = pod(evidence, mount).map(|pod| pod.to_string());
            let pod = pod.or_else(|| mount.uid.as_ref().map(ToString::to_string));
            let pod = pod.map_or_else(String::new, |pod| format!(" of pod {pod}"));
            format!(
                "{} ({}, from {}){pod}",
                mount.point, mount.fs_type, mount.source
            )
        })
        .collect();
    if narrowed {
        text.push(format!(
            "Of several such mounts, Docker's files point to {}: {}.",
            named.join("; "),
            shares::told(shares)
        ));
    }
    match (named.as_slice(), mounts.len() - named.len()) {
        _ if narrowed => {}
        ([], _) => text
            .push("No mount of that kind is seen: it sits in another mount namespace.".to_owned()),
        ([one], 0) => text.push(format!("The only such mount is {one}.")),
        (some, 0) => text.push(format!("It is one of these mounts: {}.", some.join("; "))),
        (some, more) => text.push(format!(
            "It is one of these mounts: {} and {more} more.",
            some.join("; ")
        )),
    }
    if !shares.is_empty() && !narrowed {
        text.push(format!("By Docker's files {}.", shares::told(shares)));
    }
    if told {
        text.push("Docker does not answer for a container meanwhile: a start, stop or inspect waits for the same server, and so does the kubelet's relist.".to_owned());
    }
    text.join(" ")
}
