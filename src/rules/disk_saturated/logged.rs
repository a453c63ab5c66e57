//! What the log alone tells of a disk that fails: the kernel's words, in a log of all programs, and calls to the runtime
//! that time out from then on.
//!
//! Whether it is the disk of the runtime's data the log does not tell, so it is a suspicion. A file system's journal that
//! hangs is a disk's matter, too; any other task that hangs is not known to wait for one.

use super::RULE;
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::rules::lines::Lines;
use crate::rules::remedies::remedy;
use crate::rules::{clock, hung_container, hung_runtime, is_cause};
use crate::syntax::time::Time;

/// Kernel threads that do nothing but write to a disk: ext4's journal, xfs' log.
const WRITERS: &[&str] = &["jbd2/", "xfsaild/", "xfs-cil/"];

/// Returns the finding, where calls time out after the kernel has said that a disk fails, and nothing else is to blame.
pub(super) fn by_the_log(evidence: &Evidence, found: &[Finding]) -> Option<Finding> {
    let calls: Vec<_> = [hung_runtime::CALLS, hung_container::CALLS].concat();
    let late = Lines::failed(evidence, &calls, ErrorClass::Deadline).latest();
    let (first, last) = late.first().zip(late.last())?;
    let told = told(evidence, first, last);
    let since = told.first()?;
    if found.iter().any(|it| is_cause(it) && it.active) {
        return None;
    }
    let active = late.go_on(evidence) && told.last().is_some_and(|at| last - at <= PAUSE);
    let mut citations = told.cite(3);
    citations.extend(late.cite(2));
    let disk = told.0.iter().find(|it| it.first.kind == Kind::DiskError);
    let disk = disk.and_then(|it| it.first.detail.clone());
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match active {
            true => "A disk fails, and calls to the runtime time out",
            false => "A disk failed, and calls to the runtime timed out for a time",
        }
        .to_owned(),
        severity: match active {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "The kernel says that {} ({}, the first at {}). Then the kubelet's calls to the runtime timed out ({}, from {} on). Starting and stopping containers syncs and unmounts, and waits for each retry of the disk; the log does not show whether it holds the runtime's data.",
            match &disk {
                Some(disk) => format!("the disk {disk} fails to read or write"),
                None => "what writes a file system's journal to its disk hangs".to_owned(),
            },
            told.counted(),
            clock(evidence, told.first()),
            late.counted(),
            clock(evidence, late.first())
        ),
        subjects: disk.into_iter().map(subject).collect(),
        citations,
        remedies: match active {
            true => remedies(),
            false => Vec::new(),
        },
        spans: vec![(since, last)],
    })
}

/// Returns what the kernel said of disks right before the calls that began and ended then, or meanwhile.
fn told(evidence: &Evidence, first: Time, last: Time) -> Lines<'_> {
    let mut lines = Lines::of(evidence, &[Kind::DiskError, Kind::HungTask]);
    lines.0.retain(|group| {
        let near = group.first.at.is_some_and(|at| at <= first)
            && group
                .last
                .at
                .is_some_and(|at| at >= first - PAUSE && at <= last + PAUSE);
        near && (group.first.kind == Kind::DiskError || writes(group))
    });
    lines
}

fn writes(group: &Group) -> bool {
    let name = group.first.detail.as_deref().unwrap_or_default();
    WRITERS.iter().any(|writer| name.starts_with(writer))
}

fn subject(disk: String) -> Subject {
    Subject {
        kind: SubjectKind::Disk,
        id: None,
        name: Some(disk),
        pod: None,
        uid: None,
        pid: None,
    }
}

fn remedies() -> Vec<Remedy> {
    vec![
        remedy(
            "See what the kernel says of the disk, and which disk holds the runtime's data",
            Risk::Safe,
            "dmesg -T | grep -iE 'I/O error|blocked for more than|reset|remount' | tail; df /var/lib/docker /var/lib/containerd /var/lib/containers",
            "nothing",
        ),
        remedy(
            "See how long its requests wait",
            Risk::Safe,
            "iostat -x 1 10",
            "nothing; a disk that fails is to be replaced, and the node drained first",
        ),
    ]
}
