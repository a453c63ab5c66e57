//! What the log alone tells of a want of tasks: calls that failed since nothing could be started.
//!
//! A command in a container may fail so at that pod's own limit: it is no sign.

use super::{RULE, remedies};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Severity, Variant};
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::rules::lines::{Episode, Lines};
use crate::rules::node;

/// fork(2)'s EAGAIN, as Go, C and shells spell it.
const WORDS: &str = "esource temporarily unavailable";
/// One or two may be a moment's rush, or one pod at its own limit.
const OFTEN: u64 = 3;
/// What the runtime does in its own cgroup, or in none of the pod's yet.
const CALLS: &[Kind] = &[
    Kind::RunSandboxFailed,
    Kind::CreateContainerFailed,
    Kind::StartContainerFailed,
    Kind::StopSandboxFailed,
    Kind::StopContainerFailed,
    Kind::RemoveSandboxFailed,
    Kind::RemoveContainerFailed,
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::RelistFailed,
];

/// Returns the finding, where several calls in one episode failed so.
pub(super) fn by_the_log(evidence: &Evidence) -> Option<Finding> {
    let spelled = |group: &&Group| {
        let error = group.last.error.as_ref();
        error.is_some_and(|it| it.class == ErrorClass::NoResources && it.text.contains(WORDS))
    };
    let lines = Lines::of(evidence, CALLS).0.into_iter();
    let all = Lines(lines.filter(spelled).collect());
    let Episode {
        lines: logged,
        active,
        first,
        last,
    } = all.episode(evidence, OFTEN, PAUSE)?;
    let over = match active {
        true => "",
        false => " It is resolved.",
    };
    Some(Finding {
        id: RULE.id,
        variant: Variant::TaskLimitHit,
        title: match active {
            true => "Cannot start processes: task limit reached",
            false => "Nothing new could be started for a time: task limit reached",
        }
        .to_owned(),
        severity: match active {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "The runtime could not start a process or a thread (\"resource temporarily unavailable\", {}, {first} to {last}): the machine, or the daemon's unit, has as many tasks as it may have. At the limit no container and no OCI runtime starts, and the daemon itself may die of it.{over}",
            logged.counted()
        ),
        subjects: vec![node(evidence)],
        citations: logged.cite(4),
        remedies: match active {
            true => remedies(
                "systemctl show -p TasksCurrent -p TasksMax docker containerd crio kubelet; cat /proc/loadavg /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max",
                None,
            ),
            false => Vec::new(),
        },
        spans: all.spans(),
    })
}
