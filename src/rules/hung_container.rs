//! `hung-container`: one container's status never comes, so the relist cannot finish.
//!
//! Docker holds a container's lock while it starts, stops or kills it; if that never ends, no inspect of it
//! does. An ordinary start holds the lock for seconds: an unanswered inspect alone is only suspicious. Where the host
//! was looked at, the process that does not end is named.

mod words;

use super::{
    EACH, Rule, cite_groups, cite_probe,
    holders::{self, Holder},
    inspect_call, lasts,
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
    node::{OciCommand, Role, State},
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
pub(super) const CALLS: &[Kind] = &[
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

/// For how long PLEG may be silent before the node goes NotReady (kubelet pkg/kubelet/pleg/generic.go).
const THRESHOLD: TimeDelta = TimeDelta::minutes(3);

/// One suspect, and what speaks against it.
struct Suspect<'a> {
    id: &'a ContainerId,
    deadlines: Vec<&'a Group>,
    /// The kubelet's tries to sync its pod that ended in the same time-out. They go on while the node is Ready
    /// between two rises of the lag, so that Ready alone does not prove the end of the hang (seen on a real node).
    pod_errors: Vec<&'a Group>,
    container: Option<&'a Container>,
    /// Who holds its lock.
    holder: Option<Holder<'a>>,
}

impl<'a> Suspect<'a> {
    fn new(id: &'a ContainerId, container: Option<&'a Container>) -> Self {
        Self {
            id,
            deadlines: Vec::new(),
            pod_errors: Vec::new(),
            container,
            holder: None,
        }
    }
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
                deadlines: vec![group],
                ..Suspect::new(id, runtime.and_then(|runtime| runtime.find(id)))
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
            suspects.push(Suspect::new(&container.id, Some(container)));
        }
    }
    for (id, container) in held(evidence) {
        if !suspects.iter().any(|suspect| suspect.id.matches(id)) {
            suspects.push(Suspect::new(id, container));
        }
    }
    for suspect in &mut suspects {
        suspect.pod_errors = pod_errors(evidence.log.as_ref(), suspect);
    }
    suspects.retain(|suspect| hangs(suspect) || !is_runtime_wide(evidence.log.as_ref(), suspect));
    find_holders(evidence, &mut suspects);
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

/// Returns the containers that an OCI runtime process has worked on for longer than the kubelet waits, unless Docker
/// shows that it holds nothing up: an `exec` may be old and in nobody's way.
fn held(evidence: &Evidence) -> Vec<(&ContainerId, Option<&Container>)> {
    let limit = CALL_TIMEOUT.to_std().unwrap_or(holders::STUCK);
    let mut held = Vec::new();
    for process in evidence.host.iter().flat_map(|host| &host.processes) {
        let Role::OciRuntime(command) = process.role else {
            continue;
        };
        let (Some(id), false) = (&process.container, command == OciCommand::Init) else {
            continue;
        };
        let container = match &evidence.runtime {
            None => None,
            Some(runtime) => match runtime.find(id) {
                Some(container) if container.probe.outcome == Outcome::NotProbed => Some(container),
                // Another daemon's, or one that answers.
                _ => continue,
            },
        };
        if process.age.is_some_and(|age| age >= limit) && process.state != State::Dead {
            held.push((id, container));
        }
    }
    held
}

fn find_holders<'a>(evidence: &'a Evidence, suspects: &mut [Suspect<'a>]) {
    for suspect in suspects.iter_mut().filter(|suspect| !answers(suspect)) {
        suspect.holder = holders::of_container(evidence, suspect.id);
    }
    // A thread does not tell for which container it waits: only a single one that hangs may be meant.
    let mut hanging = suspects.iter_mut().filter(|suspect| hangs(suspect));
    if let (Some(one), None) = (hanging.next(), hanging.next())
        && one.holder.is_none()
    {
        one.holder = holders::waiting_thread(evidence);
    }
}

fn answers(suspect: &Suspect) -> bool {
    suspect
        .container
        .is_some_and(|c| matches!(c.probe.outcome, Outcome::Answered | Outcome::Gone))
}

/// Whether an OCI runtime process has worked on it for longer than any ordinary work takes.
fn is_held(suspect: &Suspect) -> bool {
    suspect.holder.is_some_and(|holder| holder.is_stuck())
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
    // One without a deadline is not suspected for the log's sake.
    !suspect.deadlines.is_empty()
        && suspect
            .deadlines
            .iter()
            .all(|group| group.last.at.is_some_and(whole))
}

fn is_active(evidence: &Evidence, suspect: &Suspect) -> bool {
    match (suspect.container, &evidence.runtime) {
        (Some(container), _) if container.probe.outcome == Outcome::TimedOut => true,
        _ if answers(suspect) => false,
        _ if is_held(suspect) => true,
        // Not in the list: removed since.
        (None, Some(runtime)) if runtime.list.outcome == Outcome::Answered => false,
        _ => lasts(evidence, last(suspect)),
    }
}

fn accuse(evidence: &Evidence, suspects: &[Suspect]) -> Finding {
    // The log, Docker, and the kernel.
    let sources = |s: &Suspect| [hangs(s), !s.deadlines.is_empty(), is_held(s)];
    let agree = |s: &Suspect| sources(s).into_iter().filter(|&seen| seen).count() >= 2;
    let both = suspects.iter().any(agree);
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
    let held: Vec<_> = suspects
        .iter()
        .filter_map(|s| Some((s.id, s.holder?)))
        .collect();
    citations.extend(
        held.iter()
            .take(EACH)
            .map(|(_, holder)| holder.cite(evidence)),
    );
    let subjects = suspects.iter().map(subject);
    let holders = held.iter().map(|(id, holder)| holder.subject(id));
    Finding {
        id: RULE.id,
        title: words::title(suspects, active),
        severity: if logged || suspects.iter().any(|s| hangs(s) && holds_for_long(s)) {
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
        subjects: subjects.chain(holders).collect(),
        citations,
        remedies: if active {
            remedies(evidence, suspects)
        } else {
            Vec::new()
        },
    }
}

/// Whether it has been held for longer than the kubelet's PLEG may be silent.
fn holds_for_long(suspect: &Suspect) -> bool {
    let age = suspect.holder.and_then(|holder| holder.age());
    age.and_then(|age| TimeDelta::from_std(age).ok())
        .is_some_and(|age| age >= THRESHOLD)
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
    let holders: Vec<_> = suspects.iter().filter_map(|s| s.holder).collect();
    let look = holders.first().map_or_else(
        || Remedy {
            title: "See which OCI runtime process holds it, and since when".to_owned(),
            risk: Risk::Safe,
            command: format!("ps -eo pid,ppid,stat,etime,wchan:24,args | grep {short}"),
            cost: "nothing; it only looks".to_owned(),
        },
        Holder::look,
    );
    let mut remedies = vec![look, save_stacks(evidence)];
    match (holders::end(&holders), holders.is_empty()) {
        (Some(end), _) => remedies.push(end),
        // A thread waits for a file system; no process is there to be ended.
        (None, false) => {}
        (None, true) => remedies.push(Remedy {
            title: "End that one OCI runtime process".to_owned(),
            risk: Risk::Disruptive,
            // A shim's command line names the id too, and killing the shim would lose the container: match from the
            // start.
            command: format!("pkill -f '^([^ ]*/)?(runc|crun) .*{short}'"),
            cost: "that one start, stop or exec fails, and the kubelet tries again".to_owned(),
        }),
    }
    remedies.push(restart_runtime(evidence));
    remedies
}
