//! Sandboxes and containers that are not made in time, while all else answers.

use super::{Part, RULE, culprit};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Severity, Variant},
    kubelet::{
        event::{ErrorClass, Kind},
        summary::Group,
    },
    rules::{
        daemon,
        lines::{Episode, Lines},
        remedies::save_stacks,
    },
};
use chrono::TimeDelta;

/// The calls that make something.
const STARTS: &[Kind] = &[Kind::RunSandboxFailed, Kind::CreateContainerFailed];
/// One that takes too long is an everyday matter: a large image, a busy disk.
const MANY_STARTS: u64 = 6;
/// RunPodSandbox has twice the request time-out (CRI client); with the back-off after it nothing is tried for longer.
const START_TIMEOUT: TimeDelta = TimeDelta::minutes(10);

/// Returns whether a finding tells of that alone: no relist waits for it, so it explains no outage.
pub(in crate::rules) fn is_slow_start(finding: &Finding) -> bool {
    finding.id == RULE.id && finding.variant == Variant::SlowStarts
}

/// Sandboxes and containers that are not made in time, while all else answers: a slow disk, a network plugin, a
/// runtime that hangs in part.
pub(super) fn slow(evidence: &Evidence) -> Option<Finding> {
    let mut all = Lines::failed(evidence, STARTS, ErrorClass::Deadline);
    let overload = overload(evidence);
    all.0.extend(overload.0.iter().copied());
    let Episode {
        lines: logged,
        active,
        first,
        last,
    } = all.episode(evidence, MANY_STARTS, START_TIMEOUT)?;
    let lines = logged.counted();
    let failed = match overload.is_empty() {
        true => "timed out",
        false => "timed out, or found the try before still going on",
    };
    let loaded = match overload.is_empty() {
        true => "a slow disk, a network plugin that hangs, or the runtime itself can be behind it. The relist does not wait for these calls.".to_owned(),
        false => format!(
            "CRI-O itself says that requests time out in it due to the system's load ({}): a slow disk, or too little of processors. Then its answers to the relist are late, too.",
            overload.counted()
        ),
    };
    Some(Finding {
        id: RULE.id,
        variant: match overload.is_empty() {
            true => Variant::SlowStarts,
            false => Variant::Plain,
        },
        title: match overload.is_empty() {
            true => "The container runtime does not make sandboxes and containers in time",
            false => "CRI-O says that requests time out in it due to the system's load",
        }
        .to_owned(),
        severity: match active && !overload.is_empty() {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "The kubelet's calls that make a sandbox or a container {failed} ({lines}, {first} to {last}), while no list and no status call did. New pods do not start; {loaded}"
        ),
        subjects: vec![daemon(culprit(evidence, Part::Itself))],
        citations: logged.cite(6),
        remedies: if active {
            vec![save_stacks(evidence)]
        } else {
            Vec::new()
        },
        spans: overload.spans(),
    })
}

/// What CRI-O says of a name that an earlier try still holds (cri-o server/container_create.go, sandbox_run.go).
const OVERLOAD: &str = "due to system load";

/// Returns the lines in which CRI-O says that it is too slow for its load.
fn overload(evidence: &Evidence) -> Lines<'_> {
    let says = |group: &&Group| {
        let error = group.last.error.as_ref();
        error.is_some_and(|error| error.text.contains(OVERLOAD))
    };
    let lines = Lines::of(evidence, STARTS).0.into_iter();
    Lines(lines.filter(says).collect())
}
