//! `starting-up`: the kubelet started a moment ago, and the PLEG line is harmless.
//!
//! Speaks only while it lasts; start-ups that ended well are not worth a word.

use super::{Bearing, Rule, clock, lines::Lines, node};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Severity, Variant},
    kubelet::{event::Kind, incident::START_UP},
};

pub(super) const RULE: Rule = Rule {
    id: "starting-up",
    title: "The kubelet has just started",
    explains: false,
    bearing: Bearing::NONE,
    page: include_str!("../../docs/findings/starting-up.md"),
    check,
};

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let lines = Lines::of(evidence, &[Kind::PlegNever, Kind::RuntimeStatusPending]);
    let Some(last) = lines.last() else {
        return Vec::new();
    };
    let starts = log.starts.iter().rev().filter_map(|start| start.at);
    let Some(started) = starts
        .filter(|start| *start <= last)
        .max()
        .or(lines.first())
    else {
        return Vec::new();
    };
    // The first relist and the first status check follow within a second or two where all is well.
    let ended =
        log.last.is_some_and(|end| end - started > START_UP) || log.recovery_after(last).is_some();
    let now = evidence.now - started <= START_UP || evidence.runtime.is_none();
    if ended || !now {
        return Vec::new();
    }
    let started = clock(evidence, Some(started));
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: RULE.title.to_owned(),
        severity: Severity::Info,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "The kubelet started at {started}. Until its first relist and its first check of the runtime are done it says \"PLEG is not healthy: pleg has yet to be successful\"; that is normal for some seconds. If it still says so after a minute, run plegdoctor again."
        ),
        subjects: vec![node(evidence)],
        citations: lines.cite(3),
        remedies: Vec::new(),
        spans: Vec::new(),
    }]
}
