//! `hung-container`: one container's status never comes, so the relist cannot finish.
//!
//! Docker holds a container's lock while it starts, stops or kills it; if that never ends, no inspect of it
//! does. An ordinary start holds the lock for seconds: an unanswered inspect alone is only suspicious.

mod words;

use super::{
    EACH, Rule, cite_groups, cite_probe, inspect_call, lasts,
    remedies::{restart_runtime, save_stacks},
    subject_from, subject_of,
};
use crate::{
    digest::{Group, Log},
    event::{ErrorClass, Kind, Time},
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, SubjectKind},
    id::ContainerId,
    incident::CALL_TIMEOUT,
    runtime::{Container, Outcome},
};
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "hung-container",
    title: "One container's status never answers, so the kubelet's relist cannot finish",
    explains: true,
    check,
};

/// The calls that wait for a container's lock and name the container.
const CALLS: &[Kind] = &[
    Kind::SandboxStatusFailed,
    Kind::ContainerStatusFailed,
    Kind::StopSandboxFailed,
    Kind::StopContainerFailed,
    Kind::StartContainerFailed,
    Kind::RemoveSandboxFailed,
    Kind::RemoveContainerFailed,
    Kind::GcStopContainerFailed,
];

/// The calls that time out for all when the runtime as a whole hangs.
pub(super) const WHOLE_RUNTIME: &[Kind] = &[
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::RelistFailed,
    Kind::RuntimeVersionFailed,
    Kind::RuntimeStatusFailed,
    Kind::RuntimeSanityFailed,
];

/// One suspect, and what speaks against it.
struct Suspect<'a> {
    id: &'a ContainerId,
    deadlines: Vec<&'a Group>,
    /// The kubelet's tries to sync its pod that ended in the same time-out. They go on while the node is Ready
    /// between two rises of the lag, so that Ready alone does not prove the end of the hang (seen on a real node).
    pod_errors: Vec<&'a Group>,
    container: Option<&'a Container>,
}

fn check(evidence: &Evidence) -> Vec<Finding> {
    let suspects = suspects(evidence);
    if suspects.len() <= EACH {
        return suspects
            .iter()
            .map(|suspect| accuse(evidence, std::slice::from_ref(suspect)))
            .collect();
    }
    // Those that hang now and those that once did are two stories.
    let (now, before): (Vec<_>, Vec<_>) =
        suspects.into_iter().partition(|s| is_active(evidence, s));
    [now, before]
        .iter()
        .filter(|some| !some.is_empty())
        .map(|some| accuse(evidence, some))
        .collect()
}

fn suspects(evidence: &Evidence) -> Vec<Suspect<'_>> {
    let runtime = evidence.runtime.as_ref();
    let mut suspects: Vec<Suspect> = Vec::new();
    for group in evidence
        .log
        .iter()
        .flat_map(|log| log.failed(CALLS, ErrorClass::Deadline))
    {
        let Some(id) = group.first.subject() else {
            continue;
        };
        match suspects.iter_mut().find(|suspect| suspect.id.matches(id)) {
            Some(suspect) => suspect.deadlines.push(group),
            None => suspects.push(Suspect {
                id,
                deadlines: vec![group],
                pod_errors: Vec::new(),
                container: runtime.and_then(|runtime| runtime.find(id)),
            }),
        }
    }
    for container in runtime
        .into_iter()
        .filter(|r| r.answers())
        .flat_map(|r| &r.containers)
    {
        let known = suspects
            .iter()
            .any(|suspect| suspect.id.matches(&container.id));
        if container.probe.outcome == Outcome::TimedOut && !known {
            suspects.push(Suspect {
                id: &container.id,
                deadlines: Vec::new(),
                pod_errors: Vec::new(),
                container: Some(container),
            });
        }
    }
    for suspect in &mut suspects {
        suspect.pod_errors = pod_errors(evidence.log.as_ref(), suspect);
    }
    suspects.retain(|suspect| hangs(suspect) || !is_runtime_wide(evidence.log.as_ref(), suspect));
    // The status call is what a relist waits for; a stop or an exec may just be slow.
    suspects.sort_by_key(|s| {
        (
            !is_active(evidence, s),
            !blocks_status(s),
            std::cmp::Reverse(last(s)),
        )
    });
    suspects
}

fn pod_errors<'a>(log: Option<&'a Log>, suspect: &Suspect) -> Vec<&'a Group> {
    let of_pod = |group: &&Group| {
        let event = &group.first;
        suspect
            .deadlines
            .iter()
            .any(|deadline| match (&event.uid, &deadline.first.uid) {
                (Some(uid), Some(other)) => uid == other,
                _ => event.pod.is_some() && event.pod == deadline.first.pod,
            })
    };
    log.into_iter()
        .flat_map(|log| log.failed(&[Kind::PodSyncError], ErrorClass::Deadline))
        .filter(of_pod)
        .collect()
}

fn hangs(suspect: &Suspect) -> bool {
    suspect
        .container
        .is_some_and(|c| c.probe.outcome == Outcome::TimedOut)
}

fn blocks_status(suspect: &Suspect) -> bool {
    let status = |group: &&Group| {
        matches!(
            group.first.kind,
            Kind::SandboxStatusFailed | Kind::ContainerStatusFailed
        )
    };
    hangs(suspect) || suspect.deadlines.iter().any(status)
}

fn last(suspect: &Suspect) -> Option<Time> {
    suspect
        .deadlines
        .iter()
        .chain(&suspect.pod_errors)
        .filter_map(|group| group.last.at)
        .max()
}

/// Whether the runtime as a whole hung at that time, so that the deadline says nothing about this container.
fn is_runtime_wide(log: Option<&Log>, suspect: &Suspect) -> bool {
    let slack = CALL_TIMEOUT + TimeDelta::seconds(30);
    let near = |time: Time, group: &Group| {
        group
            .first
            .at
            .zip(group.last.at)
            .is_some_and(|(first, last)| time > first - slack && time < last + slack)
    };
    let whole = |time: Time| {
        log.is_some_and(|log| {
            log.failed(WHOLE_RUNTIME, ErrorClass::Deadline)
                .any(|g| near(time, g))
        })
    };
    suspect
        .deadlines
        .iter()
        .all(|group| group.last.at.is_some_and(whole))
}

fn is_active(evidence: &Evidence, suspect: &Suspect) -> bool {
    match (suspect.container, &evidence.runtime) {
        (Some(container), _) if container.probe.outcome == Outcome::TimedOut => true,
        (Some(container), _)
            if matches!(container.probe.outcome, Outcome::Answered | Outcome::Gone) =>
        {
            false
        }
        // Not in the list: removed since.
        (None, Some(runtime)) if runtime.list.outcome == Outcome::Answered => false,
        _ => lasts(evidence, last(suspect)),
    }
}

fn accuse(evidence: &Evidence, suspects: &[Suspect]) -> Finding {
    let both = suspects.iter().any(|s| hangs(s) && !s.deadlines.is_empty());
    let logged = suspects.iter().any(|s| !s.deadlines.is_empty());
    let active = suspects.iter().any(|s| is_active(evidence, s));
    let groups: Vec<_> = suspects
        .iter()
        .flat_map(|s| s.deadlines.iter().copied())
        .collect();
    let mut citations = cite_groups(&groups, 6);
    if let Some(runtime) = &evidence.runtime {
        let probed = suspects.iter().filter_map(|s| s.container).take(EACH);
        citations.extend(
            probed.map(|c| cite_probe(&inspect_call(c, suspects.len()), runtime, &c.probe)),
        );
    }
    Finding {
        id: RULE.id,
        title: words::title(suspects, active),
        severity: if logged {
            Severity::Critical
        } else {
            Severity::Warning
        },
        confidence: if both {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation: words::explain(evidence, suspects, active),
        subjects: suspects.iter().map(|s| subject(s)).collect(),
        citations,
        remedies: if active {
            remedies(evidence, suspects)
        } else {
            Vec::new()
        },
    }
}

fn subject(suspect: &Suspect) -> crate::finding::Subject {
    let from_log = suspect
        .deadlines
        .first()
        .map(|group| subject_from(&group.first));
    match (suspect.container, from_log) {
        (Some(container), from_log) => {
            let mut subject = subject_of(container);
            if subject.pod.is_none()
                && let Some(logged) = from_log
            {
                (subject.pod, subject.uid) = (logged.pod, logged.uid);
            }
            subject
        }
        (None, Some(logged)) => logged,
        (None, None) => crate::finding::Subject {
            kind: SubjectKind::Container,
            id: Some(suspect.id.clone()),
            name: None,
            pod: None,
            uid: None,
            pid: None,
        },
    }
}

fn remedies(evidence: &Evidence, suspects: &[Suspect]) -> Vec<Remedy> {
    let short = suspects.first().map_or("ID", |s| s.id.short());
    // A shim's command line names the id too, and killing the shim would lose the container: match from the start.
    let pattern = format!("'^([^ ]*/)?(runc|crun) .*{short}'");
    vec![
        Remedy {
            title: "See which OCI runtime process holds it, and since when".to_owned(),
            risk: Risk::Safe,
            command: format!("ps -eo pid,ppid,stat,etime,wchan:24,args | grep {short}"),
            cost: "nothing; it only looks".to_owned(),
        },
        save_stacks(evidence),
        Remedy {
            title: "End that one OCI runtime process".to_owned(),
            risk: Risk::Disruptive,
            command: format!("pkill -f {pattern}"),
            cost: "that one start, stop or exec fails, and the kubelet tries again".to_owned(),
        },
        restart_runtime(evidence),
    ]
}
