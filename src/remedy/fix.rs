//! What `diagnose --fix` goes through, and what became of it, as values: the steps in their order, which is next,
//! and the record of each action.
//!
//! Nothing here acts, asks or waits. Steps come from the remedies of active findings alone; after each the node is
//! observed again, and the next comes from what that shows.

use crate::evidence::Evidence;
use crate::finding::action::Action;
use crate::finding::outcome::{ActionRecord, Asked, Outcome, Status};
use crate::finding::{Confidence, Finding, Risk, Severity};
use crate::kubelet::{Kubelet, Seen};
use crate::node::DEFAULT_ROOT;
use crate::report::{Report, Verdict};
use crate::rules::row;
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub finding: &'static str,
    pub title: String,
    pub confidence: Confidence,
    pub risk: Risk,
    pub cost: String,
    pub actions: Vec<Action>,
}

impl Step {
    fn harshness(&self) -> u8 {
        let all = self.actions.iter().map(Action::harshness);
        all.max().unwrap_or_default()
    }

    pub fn restarts(&self) -> bool {
        self.actions.iter().any(Action::restarts)
    }

    /// Whether something would be restarted on the word of one source alone: a person may decide that. All other
    /// actions see for themselves, right before, that they fit.
    pub fn is_guess(&self) -> bool {
        self.restarts() && self.confidence != Confidence::Confirmed
    }

    /// Whether it may be begun with before the node had its time to recover from `before`: not what restarts, nor what
    /// costs more.
    pub fn is_as_mild_as(&self, before: &Self) -> bool {
        self.risk <= before.risk && !self.restarts()
    }

    pub fn record(
        &self,
        action: &Action,
        asked: Asked,
        (started, ended): (Time, Time),
        outcome: Outcome,
    ) -> ActionRecord {
        ActionRecord {
            finding: self.finding,
            title: self.title.clone(),
            risk: self.risk,
            cost: self.cost.clone(),
            action: action.clone(),
            asked,
            started,
            ended,
            outcome,
        }
    }
}

/// The steps against what is wrong now, the mildest first: by risk, then by what is restarted, then by rule, then in
/// the remedies' order; each action once, for the surest of the findings that ask for a restart.
pub fn steps(report: &Report) -> Vec<Step> {
    let mut steps: Vec<Step> = report
        .findings
        .iter()
        // What is only told of is nothing to act on.
        .filter(|finding| finding.active && finding.severity != Severity::Info)
        .flat_map(steps_of)
        .collect();
    let row = |step: &Step| row(step.finding);
    // Stable: remedies of one finding, and findings of one rule, stay in their order.
    steps.sort_by_key(|step| (step.risk, step.harshness(), step.is_guess(), row(step)));
    let here = is_of_this_machine(report);
    let mut known = BTreeSet::new();
    for step in &mut steps {
        step.actions
            .retain(|action| (here || !action.is_to_the_host()) && known.insert(action.clone()));
    }
    steps.retain(|step| !step.actions.is_empty());
    steps
}

fn steps_of(finding: &Finding) -> impl Iterator<Item = Step> + '_ {
    finding.remedies.iter().map(|remedy| Step {
        finding: finding.id,
        title: remedy.title.clone(),
        confidence: finding.confidence,
        risk: remedy.risk,
        cost: remedy.cost.clone(),
        actions: remedy.actions.clone(),
    })
}

/// Whether the report is of this machine: its processes were looked at, so a log of another was not joined.
fn is_of_this_machine(report: &Report) -> bool {
    report
        .host
        .as_ref()
        .is_some_and(|host| host.root == DEFAULT_ROOT)
}

/// A relist that began so long ago stands: one of a node that is well is begun every second.
const STANDS: TimeDelta = TimeDelta::seconds(30);
/// … or, where it takes the runtime's events instead, every 5 minutes.
const STANDS_EVENTED: TimeDelta = TimeDelta::minutes(6);

/// Runs of the OCI runtime that are ended for one container: a wrapper, the runtime, its `init`. If more come, ending
/// them heals nothing.
const ENDS: usize = 3;

/// The first step that still has something to do, without what was settled before.
pub fn next(report: &Report, settled: &BTreeSet<Action>) -> Option<Step> {
    let is_futile = |action: &Action| {
        let Action::EndProcess(own) = action else {
            return false;
        };
        let same = |other: &&Action| matches!(other, Action::EndProcess(other) if other.container == own.container);
        settled.iter().filter(same).count() >= ENDS
    };
    steps(report).into_iter().find_map(|mut step| {
        step.actions
            .retain(|action| !settled.contains(action) && !is_futile(action));
        (!step.actions.is_empty()).then_some(step)
    })
}

/// What of a step is still asked for, and as surely, by a later look; `None` if nothing is.
pub fn still(report: &Report, step: &Step) -> Option<Step> {
    let now = steps(report);
    let asked = |action: &&Action| {
        let mut asking = now.iter().filter(|now| now.actions.contains(action));
        asking.any(|now| !now.is_guess() || step.is_guess())
    };
    let actions: Vec<_> = step.actions.iter().filter(asked).cloned().collect();
    (!actions.is_empty()).then(|| Step {
        actions,
        ..step.clone()
    })
}

/// The removals that failed before, if a mount was detached now: that may have been in their way.
pub fn again(now: &[ActionRecord], before: &[ActionRecord]) -> Vec<Action> {
    let detached = |record: &ActionRecord| {
        matches!(record.action, Action::DetachMount { .. }) && record.outcome.status == Status::Done
    };
    let failed = |record: &&ActionRecord| {
        let removal = matches!(record.action, Action::RemoveContainer { .. });
        removal && record.outcome.status == Status::Failed && now.iter().any(detached)
    };
    let failed = before.iter().filter(failed);
    failed.map(|record| record.action.clone()).collect()
}

/// Whether the relist stood still, so that its being at work later is worth telling.
pub fn relist_stood(evidence: &Evidence) -> bool {
    let mut incidents = evidence.log.iter().flat_map(|log| &log.incidents);
    let stands = |kubelet: &Kubelet| {
        let evented = kubelet.metrics.as_ref().is_some_and(|it| it.evented);
        let limit = if evented { STANDS_EVENTED } else { STANDS };
        kubelet.relist_age().is_some_and(|age| age.least() >= limit)
    };
    evidence.kubelet.as_ref().is_some_and(stands) || incidents.any(|incident| incident.ongoing)
}

/// Whether nothing is wrong (any more), so that nothing else must be done.
pub fn is_well(report: &Report) -> bool {
    matches!(report.verdict, Verdict::Healthy | Verdict::Recovered)
}

/// When the relist was seen at work after `time`, and by what: the kubelet's metrics, else its log.
pub fn relist_after(evidence: &Evidence, time: Time) -> Option<(Time, &'static str)> {
    let metrics = evidence
        .kubelet
        .as_ref()
        .and_then(|kubelet| kubelet.metrics.as_ref());
    let listed = match metrics.and_then(|metrics| metrics.last_seen) {
        // Cut to whole seconds: of the second of `time` itself nobody knows.
        Some(Seen::At(seen)) if seen > time => Some((seen, "metrics")),
        _ => None,
    };
    let told = || evidence.log.as_ref()?.recovery_after(time)?.at;
    listed.or_else(|| Some((told()?, "log")))
}

#[cfg(test)]
mod tests;
