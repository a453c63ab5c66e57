//! `hung-container`: one container's status never comes, so the relist cannot finish.
//!
//! Docker holds a container's lock while it starts, stops or kills it; if that never ends, no inspect of it
//! does. An ordinary start holds the lock for seconds: an unanswered inspect alone is only suspicious.

use super::{
    EACH, Rule, cite_groups, cite_probe, clock, count, first_of, inspect_call, last_of, lasts,
    lines_of, restart_docker, save_stacks, subject_from, subject_of, took,
};
use crate::{
    digest::{Group, Log},
    event::{ErrorClass, Kind, Time},
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, SubjectKind},
    id::ContainerId,
    incident::CALL_TIMEOUT,
    runtime::{Container, Outcome, Runtime},
};
use chrono::TimeDelta;
use std::collections::BTreeSet;

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
        title: title(suspects, active),
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
        explanation: explain(evidence, suspects, active),
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

/// Returns "Sandbox b15929dfcea1 of pod default/web-2".
fn called(suspect: &Suspect) -> String {
    super::called(&subject(suspect))
}

fn title(suspects: &[Suspect], active: bool) -> String {
    match (suspects, active) {
        ([one], true) => format!("{} does not answer", called(one)),
        ([one], false) => format!("{} did not answer for a time", called(one)),
        (many, true) => format!("{} do not answer", count(many.len(), "container")),
        (many, false) => format!(
            "{} did not answer for a time",
            count(many.len(), "container")
        ),
    }
}

fn explain(evidence: &Evidence, suspects: &[Suspect], active: bool) -> String {
    let what = match suspects {
        [one] => explain_one(evidence, one),
        many => many_together(evidence, many),
    };
    let logged = suspects.iter().any(|s| !s.deadlines.is_empty());
    let why = match (logged, active) {
        (_, false) => {
            "While it lasted the kubelet's relist, which asks one pod after the other, could not finish."
        }
        (true, true) => {
            "The kubelet's relist asks one pod after the other, so it cannot finish, and after 3 minutes the node goes NotReady."
        }
        (false, true) => {
            "An ordinary start or stop keeps a container busy for seconds; if it lasts, the kubelet's relist waits for it, and after 3 minutes the node goes NotReady."
        }
    };
    format!("{what} {why}")
}

fn explain_one(evidence: &Evidence, suspect: &Suspect) -> String {
    let runtime = evidence.runtime.as_ref();
    let mut text = Vec::new();
    match (suspect.container, runtime) {
        (Some(container), Some(runtime)) => {
            text.push(format!(
                "{}{}",
                called(suspect),
                seen_in_docker(container, runtime)
            ));
            let since = first_of(&suspect.deadlines).map(|first| clock(Some(first)));
            let lines = lines_of(&suspect.deadlines);
            text.extend(since.map(|since| {
                format!("The kubelet's calls for it have timed out since {since} ({lines}).")
            }));
        }
        _ => text.push(format!("{}{}", called(suspect), timed_out(suspect))),
    }
    if suspect.container.is_none() && runtime.is_some_and(|r| r.list.outcome == Outcome::Answered) {
        text.push("It is not in Docker any more.".to_owned());
    }
    let subject = subject(suspect);
    let removal = evidence
        .log
        .as_ref()
        .and_then(|log| log.removal_of(subject.pod.as_ref(), subject.uid.as_ref()));
    text.extend(
        removal.map(|removal| format!("Its pod is being deleted (since {}).", clock(removal.at))),
    );
    text.join(" ")
}

fn timed_out(suspect: &Suspect) -> String {
    let groups = &suspect.deadlines;
    let verbs: BTreeSet<_> = groups.iter().map(|group| verb(group.first.kind)).collect();
    let verbs: Vec<_> = verbs.into_iter().collect();
    let (first, last) = (clock(first_of(groups)), clock(last_of(groups)));
    let span = if first == last {
        first
    } else {
        format!("{first} to {last}")
    };
    let lines = lines_of(groups);
    format!(
        ": the kubelet's calls to {} it timed out ({lines}, {span}).",
        verbs.join(" and ")
    )
}

fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::StopSandboxFailed | Kind::StopContainerFailed | Kind::GcStopContainerFailed => "stop",
        Kind::StartContainerFailed => "start",
        Kind::RemoveSandboxFailed | Kind::RemoveContainerFailed => "remove",
        _ => "inspect",
    }
}

fn seen_in_docker(container: &Container, runtime: &Runtime) -> String {
    let others: Vec<_> = runtime
        .containers
        .iter()
        .filter(|c| c.id != container.id && c.probe.outcome == Outcome::Answered)
        .collect();
    let slowest = others
        .iter()
        .max_by_key(|c| c.probe.took)
        .map(|c| took(&c.probe));
    let others = slowest.map_or_else(String::new, |slowest| match others.len() {
        1 => format!("; the other one took {slowest}"),
        n => format!("; {n} others took {slowest} at most"),
    });
    let listed = format!(" Docker lists it as \"{}\".", container.listed_status);
    match container.probe.outcome {
        Outcome::TimedOut => format!(
            " answers no inspect (gave up after {}{others}).{listed}",
            took(&container.probe)
        ),
        Outcome::Answered => format!(" answers again (in {}).", took(&container.probe)),
        Outcome::Gone => " is not in Docker any more.".to_owned(),
        _ => format!(
            " could not be inspected now ({}).{listed}",
            super::probe_text(&container.probe)
        ),
    }
}

fn many_together(evidence: &Evidence, suspects: &[Suspect]) -> String {
    let pods: BTreeSet<_> = suspects.iter().filter_map(|s| subject(s).pod).collect();
    let named: Vec<_> = pods.iter().take(EACH).map(ToString::to_string).collect();
    let more = pods.len().saturating_sub(named.len());
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let hanging = suspects.iter().filter(|s| hangs(s)).count();
    let asked = evidence.runtime.as_ref().map_or_else(String::new, |_| {
        format!("; {hanging} of them answer no inspect now")
    });
    format!(
        "The kubelet's calls for {} timed out{asked}. They belong to {}: {}{more}.",
        count(suspects.len(), "container"),
        count(pods.len(), "pod"),
        named.join(", "),
    )
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
        restart_docker(),
    ]
}
