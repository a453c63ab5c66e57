//! A runtime that answers too late: status calls of many containers in turn, or starts.

use super::Part;
use crate::finding::{Severity, Variant};
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::{Group, Log};
use crate::rules::support::answer::Draft;
use crate::rules::support::case::Case;
use crate::rules::support::log_lines::LogMatches;
use crate::rules::support::remedies::save_stacks;
use crate::rules::support::rotating_timeouts::rotating_timeouts;
use crate::rules::support::wording::count;
use crate::rules::support::{step, subject};
use chrono::TimeDelta;

/// The calls that make something.
const STARTS: &[Kind] = &[Kind::RunSandboxFailed, Kind::CreateContainerFailed];
/// A few that take too long are everyday: a large image, a busy disk.
const MIN_STARTS: u64 = 6;
/// RunPodSandbox has twice the request time-out (CRI client); with the back-off after it nothing is tried for longer.
const START_TIMEOUT: TimeDelta = TimeDelta::minutes(10);
/// What CRI-O says of a name that an earlier try still holds (cri-o server/container_create.go, sandbox_run.go).
const OVERLOAD: &str = "due to system load";

/// Status calls time out for one container after the other, and each answers the next time: the runtime is slow for all.
pub(super) fn status_calls(case: &Case) -> Option<Draft> {
    let (containers, lines) = rotating_timeouts(case.evidence)?;
    let active = lines.go_on(case.evidence);
    let containers = count(containers, "container");
    let severity = match case.log().is_some_and(Log::has_outage) {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    let title = match active {
        true => format!(
            "The container runtime is too slow: status calls for {containers} time out in turn"
        ),
        false => format!(
            "The container runtime was too slow for a time: status calls for {containers} timed out in turn"
        ),
    };
    let look = step::look(
        "See what the machine is short of",
        "head /proc/pressure/*; iostat -x 1 3; uptime",
    );
    Some(
        Draft::new(severity, title)
            .active(active)
            .once_resolved(Severity::Warning)
            .say(format!(
                "The kubelet's status calls for {containers} timed out, one after the other ({}), and succeeded in later relists: which containers are hit is random, and killing one process will not help.",
                lines.summary(case.evidence)
            ))
            .say("The runtime is slow for all, mostly for lack of disk, memory or CPU. Each of these calls costs a relist 2 minutes of its 3.")
            .about([subject::daemon(Part::Inspects.daemon(case.evidence))])
            .lines(&lines, 6)
            .spans(&lines)
            .steps([look, save_stacks(case.evidence)]),
    )
}

/// Sandboxes and containers start too late, while all else answers: a slow disk, a network plugin, a runtime that hangs in
/// part.
pub(super) fn starts(case: &Case) -> Option<Draft> {
    let evidence = case.evidence;
    let is_overload = |group: &Group| {
        let error = group.last.error.as_ref();
        error.is_some_and(|error| error.text.contains(OVERLOAD))
    };
    let overload = case.lines(STARTS).filter(is_overload);
    let mut all = case.failed(STARTS, ErrorClass::Deadline);
    all.0.extend(overload.0.iter().copied());
    let lines = all.episode(evidence, MIN_STARTS, START_TIMEOUT)?;
    let (active, lines) = (lines.active, lines.lines);
    let draft = match overload.is_empty() {
        true => slow(case, &lines),
        false => overloaded(case, &lines, &overload),
    };
    Some(
        draft
            .active(active)
            .once_resolved(Severity::Warning)
            .about([subject::daemon(Part::Itself.daemon(evidence))])
            .lines(&lines, 6)
            .spans(&overload)
            .steps([save_stacks(evidence)]),
    )
}

fn slow(case: &Case, lines: &LogMatches) -> Draft {
    let title = "The container runtime does not create sandboxes and containers in time";
    Draft::new(Severity::Warning, title)
        .variant(Variant::SlowStarts)
        .say(format!(
            "The kubelet's calls that create a sandbox or a container timed out ({}), while no list and no status call did.",
            lines.summary(case.evidence)
        ))
        .say("New pods do not start: the disk is slow, a network plugin hangs, or the runtime itself. The relist does not wait for these calls.")
}

fn overloaded(case: &Case, lines: &LogMatches, overload: &LogMatches) -> Draft {
    let title = "CRI-O says that requests time out in it due to the system's load";
    Draft::new(Severity::Critical, title)
        .say(format!(
            "The kubelet's calls that create a sandbox or a container timed out, or found the previous try still running ({}), while no list and no status call did.",
            lines.summary(case.evidence)
        ))
        .say(format!(
            "New pods do not start; CRI-O itself says that requests time out in it due to the system's load ({}): a slow disk, or too little CPU. Its answers to the relist are late, too.",
            overload.counted()
        ))
}
