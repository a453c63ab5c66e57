//! `windows-node`: the log is of a Windows node, of which this program knows nothing.
//!
//! Told by the words of Windows' container service, and by lags in steps of 100 ns, as its clock has them: a lag of
//! Linux' clock ends so by chance once in a hundred times.

use super::node;
use super::support::old_form::{Bearing, OldRule as Rule};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Severity, Variant};
use crate::kubelet::summary::{Group, Log};
use crate::syntax::citation::Citation;
use chrono::TimeDelta;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "windows-node",
    title: "This is a Windows node, which plegdoctor does not cover",
    explains: false,
    bearing: Bearing::NONE,
    page: include_str!("../../docs/findings/windows-node.md"),
    check,
};

/// What only Windows' kubelets log: the library for its container service, its pipes.
const WORDS: &[&str] = &["hcsshim", "hcs::", "npipe:", "//./pipe/", r"\\.\pipe\"];
/// The steps of Windows' clock, in nanoseconds, and steps of which lags would look rounded by whoever wrote them down.
const STEP: i64 = 100;
const ROUND: i64 = 10_000;
/// … or all of them by who cuts them to microseconds.
const MICRO: i64 = 1000;
/// So many different lags in such steps are no chance.
const LAGS: usize = 3;

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let words = worded(log);
    let lags = coarse(log);
    let mut reasons = Vec::new();
    let mut citations = Vec::new();
    if let Some(group) = words {
        reasons.push("Its lines speak of Windows' container service.".to_owned());
        citations.push(group.first.citation.clone());
    }
    if let Some((number, cited)) = lags {
        reasons.push(format!(
            "Its lags, {number} different ones, are whole multiples of 100 ns, as Windows' clock counts."
        ));
        citations.extend(cited);
    }
    if reasons.is_empty() {
        return Vec::new();
    }
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: RULE.title.to_owned(),
        severity: Severity::Info,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "{} What is known here of Docker, containerd, processes and mounts is Linux': what else this report says of causes may not hold, and the commands that it would offer are left out, since they do not fit. On Windows the container service (HCS) itself is what mostly hangs, and a removal of a container with it.",
            reasons.join(" ")
        ),
        subjects: vec![node(evidence)],
        citations,
        remedies: Vec::new(),
        spans: Vec::new(),
    }]
}

/// Takes Linux' commands from all findings of a node that is Windows': `kubectl` alone runs elsewhere.
pub(super) fn leave_out_commands(findings: &mut [Finding]) {
    if !findings.iter().any(|finding| finding.id == RULE.id) {
        return;
    }
    for finding in findings {
        let mut remedies = std::mem::take(&mut finding.remedies);
        remedies.retain(|remedy| remedy.command.starts_with("kubectl "));
        finding.remedies = remedies;
    }
}

fn worded(log: &Log) -> Option<&Group> {
    log.groups.iter().find(|group| {
        let error = group.first.error.as_ref();
        error.is_some_and(|error| WORDS.iter().any(|word| error.text.contains(word)))
    })
}

/// Returns how many different lags there are and where two stand, if all of them are in Windows' steps and not round.
fn coarse(log: &Log) -> Option<(usize, Vec<Citation>)> {
    let all = log.incidents.iter().flat_map(|incident| &incident.samples);
    let nanos: BTreeSet<i64> = all
        .filter_map(|(_, lag): &(_, TimeDelta)| lag.num_nanoseconds())
        .collect();
    let fine = nanos.iter().filter(|&&lag| lag % ROUND != 0).count();
    let coarse =
        nanos.iter().all(|lag| lag % STEP == 0) && nanos.iter().any(|lag| lag % MICRO != 0);
    let first = log.incidents.first()?;
    (coarse && fine >= LAGS).then(|| (nanos.len(), vec![first.first.clone(), first.last.clone()]))
}
