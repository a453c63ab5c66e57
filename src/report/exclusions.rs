//! What was ruled out, and what could not be judged: each rule that found nothing is asked for what speaks against it.

use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};
use crate::rules::{Absent, Exclusion, Rule, Trouble, explains_lag};

/// Found where the kubelet itself reports a lag that no log shows.
const UNEXPLAINED: &str = "pleg-unexplained";

/// A cause that what was looked at speaks against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuledOut {
    pub id: &'static str,
    /// What speaks against it, a clause.
    pub because: String,
    pub by: Vec<String>,
}

/// A cause that could not be judged, for want of evidence. Not ruled out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    pub id: &'static str,
    /// Why, a clause.
    pub why: String,
    /// The command that would decide; `None` for what is over and left no trace.
    pub decide: Option<String>,
}

/// What is ruled out and what is open, in the order of the rules; nothing where there is no lag to explain.
pub(super) fn exclude(
    evidence: &Evidence,
    findings: &[Finding],
    absent: &[(&'static Rule, Absent)],
) -> (Vec<RuledOut>, Vec<Undecided>) {
    let (mut out, mut open) = (Vec::new(), Vec::new());
    let Some(primary) = findings.first() else {
        return (out, open);
    };
    let trouble = Trouble::new(evidence, primary);
    let lags = trouble.outage.is_some() || primary.id == UNEXPLAINED;
    if primary.severity == Severity::Info || !(lags || explains_lag(primary.id)) {
        return (out, open);
    }
    for (rule, absent) in absent {
        let id = rule.id;
        match trouble.exclude(absent) {
            Exclusion::Silent => {}
            Exclusion::RuledOut { because, by } => out.push(RuledOut { id, because, by }),
            Exclusion::Unknown { why, decide } => open.push(Undecided { id, why, decide }),
        }
    }
    (out, open)
}
