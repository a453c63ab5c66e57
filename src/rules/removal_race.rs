//! `removal-race`: the kubelet asks for a container or sandbox that is gone already.
//!
//! Between a list and the calls that follow it something may be removed: such lines are harmless, and mostly not worth
//! a word. They are told where they stand beside an unhealthy PLEG, so that nobody takes them for its cause; where the
//! kubelet asks for the same id for hours; and where a container without its sandbox keeps the kubelet from starting.

mod unstarted;

pub(super) use unstarted::missed;

use super::lines::Lines;
use super::remedies::{RuntimeKind, RuntimeStack, docker_command, remedy, runtime_kind};
use super::support::old_form::{Bearing, OldRule as Rule};
use super::{clock, node};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::kubelet::summary::PAUSE;
use crate::syntax::duration;
use crate::syntax::id::ContainerId;
use crate::syntax::time::Time;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "removal-race",
    title: "The kubelet queries containers that were already removed",
    explains: false,
    bearing: Bearing::NONE,
    page: include_str!("../../docs/findings/removal-race.md"),
    check,
};

/// The calls that may come too late.
const CALLS: &[Kind] = &[
    Kind::PlegInspectFailed,
    Kind::PlegReinspectFailed,
    Kind::PlegWriteStatus,
    Kind::SandboxStatusFailed,
    Kind::ContainerStatusFailed,
    Kind::PodContainersStatusFailed,
    Kind::StopSandboxFailed,
    Kind::StopContainerFailed,
    Kind::RemoveSandboxFailed,
    Kind::RemoveContainerFailed,
    Kind::GcStopContainerFailed,
];
/// … of these, those that name the PLEG, so that they look like its trouble.
const LOOK_BAD: &[Kind] = &[
    Kind::PlegInspectFailed,
    Kind::PlegReinspectFailed,
    Kind::PlegWriteStatus,
];
/// A race is over in a moment; who asks for the same id for so long, and so often, will not stop by itself.
const FOR_EVER: TimeDelta = TimeDelta::hours(1);
const OFTEN: u64 = 6;

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let mut findings: Vec<_> = unstarted::tell(evidence).into_iter().collect();
    let lines = Lines::failed(evidence, CALLS, ErrorClass::NotFound);
    findings.extend(for_ever(evidence, &lines));
    if findings.is_empty() {
        findings.extend(beside(evidence, &lines));
    }
    findings
}

/// One id, and what it was asked for.
struct Asked<'a> {
    id: ContainerId,
    lines: Lines<'a>,
}

/// Returns the ids for which the kubelet has asked for hours.
fn for_ever(evidence: &Evidence, lines: &Lines) -> Option<Finding> {
    let mut asked: Vec<Asked> = Vec::new();
    for &group in &lines.0 {
        let Some(id) = id_of(&group.first) else {
            continue;
        };
        match asked.iter_mut().find(|one| one.id.matches(&id)) {
            Some(one) => one.lines.0.push(group),
            None => asked.push(Asked {
                id,
                lines: Lines(vec![group]),
            }),
        }
    }
    for one in &mut asked {
        // Hours later it is another story.
        one.lines = one.lines.latest();
    }
    asked.retain(|one| {
        let span = one.lines.first().zip(one.lines.last());
        one.lines.number() >= OFTEN && span.is_some_and(|(first, last)| last - first >= FOR_EVER)
    });
    let all = Lines(
        asked
            .iter()
            .flat_map(|one| one.lines.0.iter().copied())
            .collect(),
    );
    let first = asked.first()?;
    let listed = evidence.listed();
    let gone = listed.is_some_and(|it| asked.iter().all(|one| it.find(&one.id).is_none()));
    let span = all
        .first()
        .zip(all.last())
        .map(|(first, last)| last - first);
    let span = duration::human(span.unwrap_or(FOR_EVER));
    let what = match asked.len() {
        1 => format!("container {}", first.id.short()),
        many => format!("{many} containers"),
    };
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!("For {span} the kubelet has asked for what is gone: {what}"),
        severity: Severity::Warning,
        confidence: match gone {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active: all.are_recent(evidence, PAUSE),
        explanation: format!(
            "From {} to {} the kubelet asked for {what} ({}), and the runtime said each time that there is no such thing.{} A removal that it raced with ends in a moment; it asks forever where its own notes, or the runtime's, still name what is gone. The answer comes at once, so no relist waits for it.",
            clock(evidence, all.first()),
            clock(evidence, all.last()),
            all.counted(),
            if gone {
                " Docker does not list it either."
            } else {
                ""
            }
        ),
        subjects: asked
            .iter()
            .take(super::EACH)
            .map(|one| subject(one))
            .collect(),
        citations: all.cite(4),
        remedies: restart_kubelet(evidence, &first.id),
        spans: Vec::new(),
    })
}

fn subject(asked: &Asked) -> Subject {
    let event = asked.lines.0.first().map(|group| &group.first);
    Subject {
        kind: match event.is_some_and(|event| event.sandbox.is_some()) {
            true => SubjectKind::Sandbox,
            false => SubjectKind::Container,
        },
        id: Some(asked.id.clone()),
        name: None,
        pod: event.and_then(|event| event.pod.clone()),
        uid: event.and_then(|event| event.uid.clone()),
        pid: None,
    }
}

/// Returns the id that a call was about, by the message or by the runtime's answer.
fn id_of(event: &Event) -> Option<ContainerId> {
    let whole = |word: &&str| word.len() == 64;
    let answered = || {
        let text = &event.error.as_ref()?.text;
        let word = text.split(|c: char| !c.is_ascii_hexdigit()).find(whole)?;
        ContainerId::parse(word)
    };
    event.subject().cloned().or_else(answered)
}

fn restart_kubelet(evidence: &Evidence, id: &ContainerId) -> Vec<Remedy> {
    let id = id.as_str();
    let see = match runtime_kind(evidence) {
        Some(RuntimeKind::Docker) => {
            format!("{} ps -a --no-trunc | grep {id}", docker_command(evidence))
        }
        _ => {
            let crictl = RuntimeStack::new(evidence).crictl();
            format!("{crictl} pods --no-trunc | grep {id}; {crictl} ps -a --no-trunc | grep {id}")
        }
    };
    vec![
        remedy(
            "See what the runtime knows of it",
            Risk::Safe,
            see,
            "nothing",
        ),
        remedy(
            "Let the kubelet begin with a fresh list",
            Risk::Node,
            format!(
                "systemctl restart {}",
                RuntimeStack::new(evidence).own_units().first()
            ),
            "containers keep running",
        ),
    ]
}

/// Tells that such lines are not the cause of an unhealthy PLEG beside them.
fn beside(evidence: &Evidence, lines: &Lines) -> Option<Finding> {
    let log = evidence.log.as_ref()?;
    let near = |time: Time| {
        let within = |from: Time, to: Time| time >= from - PAUSE && time <= to + PAUSE;
        let mut incidents = log.incidents.iter();
        incidents.any(|it| within(it.start, it.end.unwrap_or(it.last_line)))
    };
    let bad =
        lines.0.iter().copied().filter(|group| {
            LOOK_BAD.contains(&group.first.kind) && group.last.at.is_some_and(near)
        });
    let lines = Lines(bad.collect());
    if lines.is_empty() {
        return None;
    }
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: "What the PLEG did not find was removed in the same moment; that is harmless"
            .to_owned(),
        severity: Severity::Info,
        confidence: Confidence::Suspected,
        active: lines.are_recent(evidence, PAUSE) && lines.go_on(evidence),
        explanation: format!(
            "The relist lists all containers, then asks for those of each changed pod; what was removed in between is not found ({}). The next relist knows. These lines name the PLEG, but it does not wait for anything here: the cause of its trouble is another.",
            lines.counted()
        ),
        subjects: vec![node(evidence)],
        citations: lines.cite(2),
        remedies: Vec::new(),
        spans: Vec::new(),
    })
}
