//! Which finding is the cause, which belong to it, and which stand for another trouble.
//!
//! One finding is the primary cause. What is only how it shows, or what made it likelier, contributes; all else is
//! a matter of its own. What causes and what aggravates what is declared in one place (`rules::support::causality`); here it is
//! only asked whether two findings can speak of the same trouble at all.

mod recency;

use crate::finding::{Finding, Severity};
use crate::kubelet::incident::Incident;
use crate::kubelet::summary::PAUSE;
use crate::rules;
use recency::{last, troubles};
use std::cmp::Reverse;

/// What a finding is to the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The cause: of the last resolved trouble, if nothing is wrong now.
    Primary,
    /// A symptom of another one: fixing that clears this.
    Consequence { of: &'static str },
    /// It makes another one likelier or worse, without being its cause.
    Feeds { what: &'static str },
    /// Another trouble: of another time, or that neither follows from the cause nor leads to it.
    Separate,
}

impl Role {
    /// Whether it belongs to the trouble of another finding without being its cause.
    pub fn contributes(&self) -> bool {
        matches!(self, Self::Consequence { .. } | Self::Feeds { .. })
    }
}

/// Puts findings in order, the primary cause first and what contributes to it next, and returns the role of each;
/// `outages` are those that the log shows, in its order.
pub(super) fn rank(findings: &mut Vec<Finding>, outages: &[Incident]) -> Vec<Role> {
    order(findings, outages);
    let Some(first) = findings.first() else {
        return Vec::new();
    };
    let cause = root(findings, first);
    let Some(at) = findings.iter().position(|it| std::ptr::eq(it, cause)) else {
        return Vec::new();
    };
    let mut primary = findings.remove(at);
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for finding in findings.drain(..) {
        match role(&primary, &finding) {
            Role::Separate => others.push((finding, Role::Separate)),
            role => own.push((finding, role)),
        }
    }
    // What follows from what follows, and what feeds another trouble, is named as such, too.
    for index in 0..others.len() {
        let (finding, _) = &others[index];
        let candidates = own.iter().map(|(it, _)| it);
        let role = candidates
            .chain(
                others
                    .iter()
                    .map(|(it, _)| it)
                    .filter(|it| it.id != finding.id),
            )
            .map(|other| role(other, finding))
            .find(Role::contributes);
        if let (Some(role), Some(slot)) = (role, others.get_mut(index)) {
            slot.1 = role;
        }
    }
    others.sort_by_key(|(finding, role)| (is_remark(finding), !finding.active, role.contributes()));
    // A node is NotReady because of whatever is behind what made it so.
    let consequence = |(finding, role): &(Finding, Role)| {
        matches!(role, Role::Consequence { .. }).then_some(finding.severity)
    };
    let worst = own.iter().filter_map(consequence).min();
    primary.severity = primary.severity.min(worst.unwrap_or(Severity::Info));
    let mut roles = vec![Role::Primary];
    findings.push(primary);
    for (finding, role) in own.into_iter().chain(others) {
        findings.push(finding);
        roles.push(role);
    }
    roles
}

/// The finding that is behind `first`, if another one is, and so on: the last of that chain.
fn root<'a>(findings: &'a [Finding], first: &'a Finding) -> &'a Finding {
    let mut cause = first;
    // Each step goes to another finding; two that name each other end it.
    for _ in 0..findings.len() {
        let behind = findings
            .iter()
            .find(|it| is_behind(it, cause) && !std::ptr::eq(*it, first));
        match behind {
            Some(behind) => cause = behind,
            None => break,
        }
    }
    cause
}

fn role(cause: &Finding, finding: &Finding) -> Role {
    if is_behind(cause, finding) {
        Role::Consequence { of: cause.id }
    } else if feeds(finding, cause) {
        Role::Feeds { what: cause.id }
    } else {
        Role::Separate
    }
}

fn is_behind(cause: &Finding, finding: &Finding) -> bool {
    rules::is_symptom(finding, cause) && at_one_time(cause, finding) && share(cause, finding)
}

fn feeds(finding: &Finding, cause: &Finding) -> bool {
    rules::is_aggravating(finding, cause) && at_one_time(cause, finding)
}

/// Whether both hold now, or the log shows both at one time.
fn at_one_time(a: &Finding, b: &Finding) -> bool {
    let near = |&(from, to): &(_, _)| {
        let mut others = b.spans.iter();
        others.any(|&(first, last)| from <= last + PAUSE && to >= first - PAUSE)
    };
    a.active == b.active && (a.active || a.spans.iter().any(near))
}

/// Whether what both name by number or id, processes and containers, can be the same.
fn share(a: &Finding, b: &Finding) -> bool {
    let both = |finding: &Finding| {
        let pids: Vec<_> = finding.subjects.iter().filter_map(|it| it.pid).collect();
        let ids: Vec<_> = finding
            .subjects
            .iter()
            .filter_map(|it| it.id.clone())
            .collect();
        (pids, ids)
    };
    let ((pids, ids), (their_pids, their_ids)) = (both(a), both(b));
    let apart = |some: bool, others: bool, common: bool| some && others && !common;
    let pid = pids.iter().any(|pid| their_pids.contains(pid));
    let id = ids
        .iter()
        .any(|id| their_ids.iter().any(|other| other.matches(id)));
    // One that both name is enough: a daemon's process, say, beside containers that only one of them names.
    pid || id
        || !(apart(!pids.is_empty(), !their_pids.is_empty(), pid)
            || apart(!ids.is_empty(), !their_ids.is_empty(), id))
}

/// Such a thing may hold now and still be no answer where something was wrong.
fn is_remark(finding: &Finding) -> bool {
    finding.severity == Severity::Info
}

/// Sorts findings: what is no mere remark, what holds now, what is of the last trouble, what is worse, what is surer,
/// what decides more, what came last. Of what is over, the last comes first: it is what people ask about.
fn order(findings: &mut Vec<Finding>, outages: &[Incident]) {
    let troubles = troubles(findings, outages);
    let mut all: Vec<_> = troubles.into_iter().zip(findings.drain(..)).collect();
    all.sort_by_cached_key(|(trouble, f)| {
        let last = Reverse(last(f));
        let over = (!f.active).then_some(last);
        let rest = (f.severity, over, f.confidence, rules::row(f.id), last);
        (is_remark(f), !f.active, *trouble, rest)
    });
    findings.extend(all.into_iter().map(|(_, finding)| finding));
}

#[cfg(test)]
mod tests;
