//! `orphan-sandbox`: a sandbox or container outlives its pod.

use super::{EACH, Rule, called, cite_groups, clock, count, subject_from, subject_of};
use crate::{
    digest::{Group, Log},
    event::{ErrorClass, Event, Kind},
    evidence::Evidence,
    finding::{Citation, Confidence, Finding, Remedy, Risk, Severity, Subject},
    runtime::{Container, Outcome},
};
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "orphan-sandbox",
    title: "A sandbox or container outlives its pod",
    explains: false,
    check,
};

const CALLS: &[Kind] = &[
    Kind::StopSandboxFailed,
    Kind::RemoveSandboxFailed,
    Kind::StopContainerFailed,
    Kind::RemoveContainerFailed,
];
/// An ordinary pod is gone well before: 30 s grace by default, then the kubelet's clean-up.
const PATIENCE: TimeDelta = TimeDelta::minutes(5);

fn check(evidence: &Evidence) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let mut left: Vec<Left> = in_docker(evidence, log);
    let known = |left: &[Left], group: &Group| {
        left.iter().any(|l| {
            l.subject
                .id
                .as_ref()
                .zip(group.first.subject())
                .is_some_and(|(a, b)| a.matches(b))
        })
    };
    for group in log.of(CALLS) {
        if let Some(one) = stuck_in_log(evidence, log, group)
            && !known(&left, group)
        {
            left.push(one);
        }
    }
    left.chunks(left.len().max(1))
        .filter(|some| !some.is_empty())
        .map(tell)
        .collect()
}

/// Something left of a pod.
struct Left {
    subject: Subject,
    removal: Option<Event>,
    citations: Vec<Citation>,
    status: Option<String>,
    confirmed: bool,
}

/// Returns what runs in Docker although the log shows its pod being removed for longer than it should take.
fn in_docker(evidence: &Evidence, log: &Log) -> Vec<Left> {
    let containers = evidence
        .runtime
        .iter()
        .flat_map(|runtime| &runtime.containers);
    let stays = |container: &&Container| {
        container
            .inspected
            .as_ref()
            .is_some_and(|inspected| inspected.running)
            && container.pod.is_some()
    };
    containers
        .filter(stays)
        .filter_map(|container| {
            // By UID only: a pod of the same name may have taken its place (StatefulSets).
            let removal = log.removal_of(None, Some(container.uid.as_ref()?))?;
            if evidence.now - removal.at? < PATIENCE {
                return None;
            }
            Some(Left {
                subject: subject_of(container),
                removal: Some(removal.clone()),
                citations: vec![removal.citation.clone()],
                status: Some(container.listed_status.clone()),
                confirmed: true,
            })
        })
        .collect()
}

/// Returns what the kubelet tries in vain to stop or remove after its pod went; time-outs are another finding.
fn stuck_in_log(evidence: &Evidence, log: &Log, group: &Group) -> Option<Left> {
    let class = group.first.error.as_ref()?.class;
    if matches!(
        class,
        ErrorClass::Deadline | ErrorClass::NotFound | ErrorClass::Busy | ErrorClass::Unavailable
    ) {
        return None;
    }
    let id = group.first.subject()?;
    let listed = evidence
        .runtime
        .as_ref()
        .filter(|runtime| runtime.list.outcome == Outcome::Answered);
    if listed.is_some_and(|runtime| runtime.find(id).is_none()) {
        return None;
    }
    let event = &group.first;
    let removal = log.removal_of(event.pod.as_ref(), event.uid.as_ref())?;
    let mut citations = vec![removal.citation.clone()];
    citations.extend(cite_groups(&[group], 2));
    Some(Left {
        subject: subject_from(event),
        removal: Some(removal.clone()),
        citations,
        status: None,
        confirmed: false,
    })
}

fn tell(left: &[Left]) -> Finding {
    let first = &left[0];
    let short = first.subject.id.as_ref().map_or("", |id| id.short());
    let since = clock(first.removal.as_ref().and_then(|event| event.at));
    let status = first
        .status
        .as_ref()
        .map(|status| format!(", and Docker still lists it as \"{status}\""))
        .unwrap_or_default();
    Finding {
        id: RULE.id,
        title: match left {
            [_] => format!("{} outlives its pod", called(&first.subject)),
            many => format!("{} outlive their pods", count(many.len(), "container")),
        },
        severity: Severity::Warning,
        confidence: if left.iter().any(|l| l.confirmed) {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: format!(
            "The kubelet was told to remove the pod at {since}{status}. What is left of a pod holds its resources and its mounts, and each failed try to remove it costs a call to the runtime. It does not hold up the relist unless its inspect hangs."
        ),
        subjects: left.iter().map(|l| l.subject.clone()).collect(),
        citations: left
            .iter()
            .take(EACH)
            .flat_map(|l| l.citations.clone())
            .collect(),
        remedies: vec![Remedy {
            title: "Stop it, and let the kubelet remove it".to_owned(),
            risk: Risk::Disruptive,
            command: format!("docker stop {short}"),
            cost: "what still runs in it ends; check first that the pod is gone: kubectl get pod"
                .to_owned(),
        }],
    }
}
