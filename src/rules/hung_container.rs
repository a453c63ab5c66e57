//! `hung-container`: one container's status never comes, so the relist cannot finish.
//!
//! Docker holds a container's lock while it starts, stops or kills it; if that never ends, no inspect of it
//! does. An ordinary start holds the lock for seconds: an unanswered inspect alone is only suspicious. Where the host
//! was looked at, the process that does not end is named.

mod held;
mod in_turn;
mod remedies;
mod shape;
mod stacks;
mod words;

pub(super) use in_turn::in_turn;

use super::{
    Bearing, EACH, Judged, Rule, Scene, bearing::is_extract, cite_probe, holders::Holder,
    hung_runtime, inspect_call, lasts, lines::Lines, subject_from, subject_of,
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Severity, Subject, SubjectKind, Variant},
    io::probe::Outcome,
    kubelet::{
        event::{ErrorClass, Kind},
        incident::{CALL_TIMEOUT, Incident},
        summary::{Group, Log, PAUSE},
    },
    runtime::Container,
    syntax::{id::ContainerId, time::Time},
};
use chrono::TimeDelta;
use in_turn::has_answered;
use std::cmp::Reverse;

pub(super) const RULE: Rule = Rule {
    id: "hung-container",
    title: "One container's status never answers, so the kubelet's relist cannot finish",
    explains: true,
    bearing: Bearing {
        behind: &["orphan-sandbox"],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/hung-container.md"),
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

/// One suspect, and what speaks against it.
struct Suspect<'a> {
    id: &'a ContainerId,
    deadlines: Lines<'a>,
    /// The kubelet's tries to sync its pod that ended in the same time-out. They go on while the node is Ready
    /// between two rises of the lag, so that Ready alone does not prove the end of the hang (seen on a real node).
    pod_errors: Lines<'a>,
    container: Option<&'a Container>,
    /// Who holds it up now.
    holder: Option<Holder<'a>>,
}

impl<'a> Suspect<'a> {
    fn new(id: &'a ContainerId, container: Option<&'a Container>) -> Self {
        Self {
            id,
            deadlines: Lines::default(),
            pod_errors: Lines::default(),
            container,
            holder: None,
        }
    }
}

/// What is proved of a suspect; those of the same proof may be told together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Proof {
    over: bool,
    /// Whether time-outs of its calls still count.
    logged: bool,
    /// Whether its status calls are among them: those are what a relist waits for.
    status: bool,
    /// Whether its inspect does not answer now.
    hangs: bool,
    /// Whether a process works on it now that should have ended.
    held: bool,
}

impl Proof {
    /// Returns how many sources say so: the log, the runtime, the kernel.
    fn sources(self) -> usize {
        let sources = [self.logged, self.hangs, self.held];
        sources.into_iter().filter(|&says| says).count()
    }

    /// What a relist waits for is the status; a stop alone may just take long.
    fn holds_up(self) -> bool {
        self.logged && (self.status || self.hangs)
    }
}

fn judge(scene: &Scene) -> Judged {
    if let Some(runtime) = scene.all_answer() {
        let took = runtime.told().map(|container| container.probe.took);
        let millis = took.max().unwrap_or_default().as_millis().max(1);
        let all = runtime.containers.len();
        let because =
            format!("each of {all} containers answers its inspect, in {millis} ms at most");
        return Judged::out(because, "docker inspect");
    }
    match scene.without(CALLS, ErrorClass::Deadline) {
        Some((log, outage)) if outage.list_errors > 0 && outage.rises == 1 => Judged::silent(
            log,
            "each relist failed at its list, before any status was asked for",
        ),
        _ => scene.needs_runtime("plegdoctor probe --all # on the node: each container by itself"),
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let suspects = suspects(evidence);
    let mut findings = tell(evidence, &suspects);
    let more = shape::more(evidence, &suspects);
    if let (Some(first), Some(more)) = (findings.first_mut(), more) {
        first.explanation = format!("{} {more}", first.explanation);
    }
    if suspects.is_empty() {
        findings.extend(shape::unnamed(evidence));
    }
    findings
}

fn tell(evidence: &Evidence, suspects: &[Suspect]) -> Vec<Finding> {
    // Those that hold up the relist now do it together: it waits for one after the other, and all are to be freed. Of what
    // is over, or held up besides, each has its own story.
    let alike = |a: &Suspect, b: &Suspect| {
        let (a, b) = (proof(evidence, a), proof(evidence, b));
        a == b && (suspects.len() > EACH || (!a.over && (a.hangs || a.holds_up())))
    };
    suspects
        .chunk_by(alike)
        .map(|some| accuse(evidence, some))
        .collect()
}

/// Returns all suspects, those with the same proof side by side.
fn suspects(evidence: &Evidence) -> Vec<Suspect<'_>> {
    let runtime = evidence.runtime.as_ref();
    let mut suspects: Vec<Suspect> = Vec::new();
    for group in Lines::failed(evidence, CALLS, ErrorClass::Deadline).0 {
        let Some(id) = group.first.subject() else {
            continue;
        };
        match suspects.iter_mut().find(|suspect| suspect.id.matches(id)) {
            Some(suspect) => suspect.deadlines.0.push(group),
            None => suspects.push(Suspect {
                deadlines: Lines(vec![group]),
                ..Suspect::new(id, runtime.and_then(|runtime| runtime.find(id)))
            }),
        }
    }
    let answering = runtime.filter(|runtime| runtime.answers());
    for container in answering.iter().flat_map(|runtime| &runtime.containers) {
        let known = suspects
            .iter()
            .any(|suspect| suspect.id.matches(&container.id));
        if container.probe.outcome == Outcome::TimedOut && !known {
            suspects.push(Suspect::new(&container.id, Some(container)));
        }
    }
    for suspect in &mut suspects {
        suspect.pod_errors = pod_errors(evidence, suspect);
    }
    let slow = in_turn(evidence).is_some();
    suspects.retain(|suspect| {
        let of_all = is_runtime_wide(evidence, suspect) || (slow && has_status(suspect));
        hangs(suspect) || !of_all
    });
    for (id, container) in held::containers(evidence) {
        if !suspects.iter().any(|suspect| suspect.id.matches(id)) {
            suspects.push(Suspect::new(id, container));
        }
    }
    held::find(evidence, &mut suspects);
    suspects.sort_by_key(|suspect| {
        let Proof {
            over,
            logged,
            status,
            hangs,
            held,
        } = proof(evidence, suspect);
        (
            (over, Reverse(logged), Reverse(status), Reverse(hangs)),
            Reverse(held),
            Reverse(last(suspect)),
        )
    });
    suspects
}

fn pod_errors<'a>(evidence: &'a Evidence, suspect: &Suspect) -> Lines<'a> {
    let of_pod = |group: &&Group| {
        let event = &group.first;
        let same = |deadline: &&Group| match (&event.uid, &deadline.first.uid) {
            (Some(uid), Some(other)) => uid == other,
            _ => event.pod.is_some() && event.pod == deadline.first.pod,
        };
        suspect.deadlines.0.iter().any(same)
    };
    let all = Lines::failed(evidence, &[Kind::PodSyncError], ErrorClass::Deadline);
    Lines(all.0.into_iter().filter(of_pod).collect())
}

fn proof(evidence: &Evidence, suspect: &Suspect) -> Proof {
    let over = !is_active(evidence, suspect);
    Proof {
        over,
        logged: !suspect.deadlines.is_empty()
            && (over || goes_on(evidence, suspect) || held::covers_the_log(evidence, suspect)),
        status: has_status(suspect),
        hangs: hangs(suspect),
        held: !over && held::is_held(suspect),
    }
}

fn has_status(suspect: &Suspect) -> bool {
    let mut groups = suspect.deadlines.0.iter();
    groups.any(|group| group.first.kind.is_status())
}

fn hangs(suspect: &Suspect) -> bool {
    suspect
        .container
        .is_some_and(|c| c.probe.outcome == Outcome::TimedOut)
}

fn last(suspect: &Suspect) -> Option<Time> {
    suspect.deadlines.last().max(suspect.pod_errors.last())
}

/// Whether the log shows no recovery after its last time-out. An event of its pod is the best sign there is: the
/// kubelet has none to tell of a pod whose inspection failed.
fn goes_on(evidence: &Evidence, suspect: &Suspect) -> bool {
    let last = last(suspect);
    let uid = suspect
        .deadlines
        .0
        .iter()
        .find_map(|group| group.first.uid.as_ref());
    let sign = |log: &Log| {
        uid.and_then(|uid| log.sign_of(uid))
            .is_some_and(|sign| Some(sign) > last)
    };
    // What hangs is tried again; only a status call may wait in silence, and then the PLEG is called unhealthy.
    let log = evidence.log.as_ref();
    let waits = has_status(suspect) && log.is_some_and(Log::has_outage);
    let repeated = waits || suspect.deadlines.are_recent(evidence, PAUSE);
    // A relist at work says nothing of calls that it does not wait for and that were tried in vain again.
    let in_vain = !has_status(suspect) && is_tried_again(suspect);
    !suspect.deadlines.is_empty()
        && repeated
        && (in_vain || lasts(evidence, last))
        && !(has_status(suspect) && log.is_some_and(|log| has_answered(log, &suspect.deadlines)))
        && !log.is_some_and(sign)
}

/// Whether more than one call timed out, one after the other.
fn is_tried_again(suspect: &Suspect) -> bool {
    let times = suspect.deadlines.first().zip(suspect.deadlines.last());
    times.is_some_and(|(first, last)| last - first >= CALL_TIMEOUT)
}

/// Whether its runtime says that a killed process did not end (containerd#10755).
fn is_unkillable(suspect: &Suspect) -> bool {
    suspect.deadlines.say("to be killed")
}

/// Whether its status was asked for in vain again and again, and the kubelet did not once call its PLEG unhealthy.
fn stays_below(evidence: &Evidence, suspect: &Suspect) -> bool {
    let times = suspect.deadlines.first().zip(last(suspect));
    let Some((log, (first, last))) = evidence.log.as_ref().zip(times) else {
        return false;
    };
    let during = |outage: &Incident| outage.start <= last && outage.last_line >= first;
    has_status(suspect)
        && last - first >= CALL_TIMEOUT * 3
        && !log.incidents.iter().any(during)
        && !is_extract(log)
}

/// Whether the runtime as a whole hung at that time, so that the deadlines say nothing about this container.
fn is_runtime_wide(evidence: &Evidence, suspect: &Suspect) -> bool {
    let slack = CALL_TIMEOUT + TimeDelta::seconds(30);
    let whole = Lines::failed(evidence, hung_runtime::CALLS, ErrorClass::Deadline).spans();
    let near = |time: Time| {
        whole
            .iter()
            .any(|(first, last)| time > *first - slack && time < *last + slack)
    };
    suspect
        .deadlines
        .0
        .iter()
        .all(|group| group.last.at.is_some_and(near))
}

fn is_active(evidence: &Evidence, suspect: &Suspect) -> bool {
    let outcome = suspect.container.map(|container| container.probe.outcome);
    match (outcome, &evidence.runtime) {
        (Some(Outcome::TimedOut), _) => true,
        (Some(Outcome::Answered | Outcome::Gone), _) => false,
        // Not in the list: removed since.
        (None, Some(runtime)) if runtime.list.outcome == Outcome::Answered => false,
        _ => held::is_held(suspect) || goes_on(evidence, suspect),
    }
}

fn accuse(evidence: &Evidence, suspects: &[Suspect]) -> Finding {
    let proofs = || suspects.iter().map(|suspect| proof(evidence, suspect));
    let active = proofs().any(|proof| !proof.over);
    let critical = |suspect: &Suspect| {
        let holds_up = proof(evidence, suspect).holds_up() && !stays_below(evidence, suspect);
        holds_up || (hangs(suspect) && held::is_held_for_long(suspect))
    };
    let all = || {
        Lines(
            suspects
                .iter()
                .flat_map(|s| s.deadlines.0.iter().copied())
                .collect(),
        )
    };
    let mut citations = all().cite(6);
    if let Some(runtime) = &evidence.runtime {
        let probed = suspects.iter().filter_map(|s| s.container).take(EACH);
        let cite = |c: &Container| cite_probe(&inspect_call(c, suspects.len()), runtime, &c.probe);
        citations.extend(probed.map(cite));
    }
    let held: Vec<_> = suspects
        .iter()
        .filter_map(|suspect| Some((suspect.id, suspect.holder?)))
        .collect();
    let cite = |(_, holder): &(_, Holder)| holder.cite(evidence);
    citations.extend(held.iter().take(EACH).map(cite));
    let confirmed = proofs().all(|proof| proof.sources() > 1);
    let told = stacks::told(evidence, suspects);
    let mut explanation = words::explain(evidence, suspects);
    if let Some((sentence, citation)) = told {
        explanation = format!("{explanation} {sentence}");
        citations.push(citation);
    }
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: words::title(suspects, active),
        severity: if suspects.iter().any(critical) {
            Severity::Critical
        } else {
            Severity::Warning
        },
        confidence: if confirmed {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation,
        subjects: suspects
            .iter()
            .map(subject)
            .chain(held.iter().map(|(id, holder)| holder.subject(id)))
            .collect(),
        citations,
        remedies: if active {
            remedies::all(evidence, suspects)
        } else {
            Vec::new()
        },
        spans: all().spans(),
    }
}

fn subject(suspect: &Suspect) -> Subject {
    let from_log = suspect
        .deadlines
        .0
        .first()
        .map(|group| subject_from(&group.first));
    match (suspect.container, from_log) {
        (Some(container), from_log) => {
            let mut subject = subject_of(container);
            if let (None, Some(logged)) = (&subject.pod, from_log) {
                (subject.pod, subject.uid) = (logged.pod, logged.uid);
            }
            subject
        }
        (None, Some(logged)) => logged,
        (None, None) => Subject {
            kind: SubjectKind::Container,
            id: Some(suspect.id.clone()),
            name: None,
            pod: None,
            uid: None,
            pid: None,
        },
    }
}
