//! Which of the troubles that are over a finding speaks of: the last one is what people ask about.
//!
//! A trouble is an outage, with all that the log shows of its time; or, where the node never went down for it, a
//! stretch of lines of its own.

use crate::finding::{Finding, Severity};
use crate::kubelet::incident::{CALL_TIMEOUT, Incident};
use crate::kubelet::summary::PAUSE;
use crate::rules::explains_lag;
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::cmp::Reverse;

/// A call that an outage begins with may have ended so long before the relist that the lag counts from.
const LEAD_TIME: TimeDelta = TimeDelta::seconds(CALL_TIMEOUT.num_seconds() + 30);

/// When a finding's trouble ended.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ended {
    at: Time,
    /// Whether the node was down for it: then it is a trouble apart, however near another one is.
    outage: bool,
}

/// For each finding of which trouble it is, counted back from the last one: 0 for what holds now and for the
/// last of what is over, the highest number for what explains no lag.
pub(super) fn troubles(findings: &[Finding], outages: &[Incident]) -> Vec<usize> {
    let ends: Vec<_> = findings.iter().map(|it| ended(it, outages)).collect();
    let mut known: Vec<Ended> = ends.iter().copied().flatten().collect();
    known.sort_by_key(|ended| Reverse((ended.at, ended.outage)));
    known.dedup();
    let starts = latest_of_each(&known);
    let number = |ended: &Ended| {
        let trouble = starts.iter().rposition(|start| start.at >= ended.at);
        trouble.unwrap_or_default()
    };
    findings
        .iter()
        .zip(&ends)
        .map(|(finding, ended)| match ended {
            Some(ended) => number(ended),
            None if finding.active => 0,
            None => starts.len(),
        })
        .collect()
}

/// Of moments, the last ones first, the one that each trouble ended at.
fn latest_of_each(known: &[Ended]) -> Vec<Ended> {
    let mut starts: Vec<Ended> = Vec::new();
    let mut before: Option<Ended> = None;
    for &ended in known {
        let same = before
            .is_some_and(|before| !before.outage && !ended.outage && before.at - ended.at <= PAUSE);
        if !same {
            starts.push(ended);
        }
        before = Some(ended);
    }
    starts
}

/// When the trouble ended that a finding speaks of; `None` for what holds now, for what can be no cause of a
/// lag and was at no outage's time, and for what has no time.
fn ended(finding: &Finding, outages: &[Incident]) -> Option<Ended> {
    if finding.active {
        return None;
    }
    if let Some(outage) = outage_of(finding, outages) {
        return Some(Ended {
            at: outage.last_line,
            outage: true,
        });
    }
    let weighs = finding.severity == Severity::Critical || explains_lag(finding.id);
    let at = last(finding).filter(|_| weighs)?;
    Some(Ended { at, outage: false })
}

/// The last outage that a finding's lines lie in, or, if they lie in none, near to.
fn outage_of<'a>(finding: &Finding, outages: &'a [Incident]) -> Option<&'a Incident> {
    let touched = |before: TimeDelta, after: TimeDelta| {
        let touches = move |outage: &&Incident| {
            let mut spans = finding.spans.iter();
            spans.any(|&(from, to)| to >= outage.start - before && from <= outage.last_line + after)
        };
        outages.iter().rev().find(touches)
    };
    touched(TimeDelta::zero(), TimeDelta::zero()).or_else(|| touched(LEAD_TIME, PAUSE))
}

pub(super) fn last(finding: &Finding) -> Option<Time> {
    let cited = finding.citations.iter().filter(|cited| !cited.is_call);
    let spans = finding.spans.iter().map(|&(_, to)| to);
    cited.filter_map(|cited| cited.time).chain(spans).max()
}
