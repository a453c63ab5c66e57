//! `removal-race`: the kubelet asks for a container or sandbox that is gone already.
//!
//! Between a list and the calls that follow it something may be removed: such lines are harmless, and mostly not worth
//! a word. They are shown where they stand beside an unhealthy PLEG, since they look like its cause; where the kubelet
//! asks for the same id for hours; and where a container without its sandbox keeps the kubelet from starting.

mod unstarted;

pub(super) use unstarted::missed;

use super::support::answer::{Answer, Draft};
use super::support::case::Case;
use super::support::log_lines::LogMatches;
use super::support::remedies::{RuntimeKind, RuntimeStack, docker_command, runtime_kind};
use super::support::{step, subject};
use super::{Detection, EACH, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::finding::{Remedy, Severity, Subject, SubjectKind};
use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::syntax::duration;
use crate::syntax::id::ContainerId;
use crate::syntax::time::Time;
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "removal-race",
    title: "The kubelet queries containers that were already removed",
    page: include_str!("../../docs/findings/removal-race.md"),
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
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
/// A race ends in a moment; a kubelet that asks for the same id for so long, and so often, will not stop.
const FOREVER: TimeDelta = TimeDelta::hours(1);
const MIN_LINES: u64 = 6;

fn evaluate(case: &Case) -> Answer {
    let lines = case.failed(CALLS, ErrorClass::NotFound);
    let mut drafts: Vec<_> = unstarted::draft(case).into_iter().collect();
    drafts.extend(asked_forever(case, &lines));
    if drafts.is_empty() {
        drafts.extend(beside_an_outage(case, &lines));
    }
    match drafts.is_empty() {
        true => Answer::Silent,
        false => Answer::Found(drafts),
    }
}

/// One id, and the lines that ask for it.
struct Asked<'a> {
    id: ContainerId,
    lines: LogMatches<'a>,
}

impl Asked<'_> {
    fn subject(&self) -> Subject {
        let event = self.lines.0.first().map(|group| &group.first);
        let subject = event.map(subject::of_event);
        let kind = match event.is_some_and(|event| event.sandbox.is_some()) {
            true => SubjectKind::Sandbox,
            false => SubjectKind::Container,
        };
        Subject {
            kind,
            id: Some(self.id.clone()),
            name: None,
            pod: subject.as_ref().and_then(|it| it.pod.clone()),
            uid: subject.and_then(|it| it.uid),
            pid: None,
        }
    }
}

/// Ids for which the kubelet has asked for hours.
fn asked_forever(case: &Case, lines: &LogMatches) -> Option<Draft> {
    let evidence = case.evidence;
    let mut asked: Vec<Asked> = Vec::new();
    for &group in &lines.0 {
        let Some(id) = id_of(&group.first) else {
            continue;
        };
        match asked.iter_mut().find(|one| one.id.matches(&id)) {
            Some(one) => one.lines.0.push(group),
            None => asked.push(Asked {
                id,
                lines: LogMatches(vec![group]),
            }),
        }
    }
    for one in &mut asked {
        // Hours later it is another story.
        one.lines = one.lines.latest();
    }
    asked.retain(|one| {
        let is_long = one.lines.length().is_some_and(|length| length >= FOREVER);
        one.lines.number() >= MIN_LINES && is_long
    });
    let first = asked.first()?;
    let all = asked.iter().flat_map(|one| one.lines.0.iter().copied());
    let all = LogMatches(all.collect());
    let listed = evidence.listed();
    let is_gone = listed.is_some_and(|it| asked.iter().all(|one| it.find(&one.id).is_none()));
    let length = duration::human(all.length().unwrap_or(FOREVER));
    let what = match asked.len() {
        1 => format!("container {}", first.id.short()),
        many => format!("{many} containers"),
    };
    let unlisted = match is_gone {
        true => "Docker does not list it either.",
        false => "",
    };
    let title = format!("For {length} the kubelet has queried what was removed: {what}");
    Some(
        Draft::new(Severity::Warning, title)
            .active(all.are_recent(evidence, PAUSE))
            .say(format!(
                "The kubelet asked for {what} ({}), and the runtime answered each time that it does not exist.",
                all.summary(evidence)
            ))
            .say(unlisted)
            .say("A race with a removal ends in a moment; this continues because the kubelet's records, or the runtime's, still name what was removed. The answer comes at once, so no relist waits for it.")
            .about(asked.iter().take(EACH).map(Asked::subject))
            .cite(all.cite(4))
            .confirmed_if(is_gone)
            .steps(steps(evidence, &first.id))
            .keep_steps(),
    )
}

/// The id that a call was about, by the message or by the runtime's answer.
fn id_of(event: &Event) -> Option<ContainerId> {
    let whole = |word: &&str| word.len() == 64;
    let answered = || {
        let text = &event.error.as_ref()?.text;
        let word = text.split(|c: char| !c.is_ascii_hexdigit()).find(whole)?;
        ContainerId::parse(word)
    };
    event.subject().cloned().or_else(answered)
}

fn steps(evidence: &Evidence, id: &ContainerId) -> [Remedy; 2] {
    let id = id.as_str();
    let stack = RuntimeStack::new(evidence);
    let see = match runtime_kind(evidence) {
        Some(RuntimeKind::Docker) => {
            format!("{} ps -a --no-trunc | grep {id}", docker_command(evidence))
        }
        _ => {
            let crictl = stack.crictl();
            format!("{crictl} pods --no-trunc | grep {id}; {crictl} ps -a --no-trunc | grep {id}")
        }
    };
    [
        step::look("See what the runtime knows of it", see),
        step::node(
            "Restart the kubelet, which then lists afresh",
            format!("systemctl restart {}", stack.own_units().first()),
            "containers keep running",
        ),
    ]
}

/// Such lines beside an unhealthy PLEG, which they do not cause.
fn beside_an_outage(case: &Case, lines: &LogMatches) -> Option<Draft> {
    let log = case.log()?;
    let near = |time: Time| {
        let within = |from: Time, to: Time| time >= from - PAUSE && time <= to + PAUSE;
        let mut incidents = log.incidents.iter();
        incidents.any(|it| within(it.start, it.end.unwrap_or(it.last_line)))
    };
    let looks_bad =
        |group: &Group| LOOK_BAD.contains(&group.first.kind) && group.last.at.is_some_and(near);
    let lines = lines.clone().filter(looks_bad);
    if lines.is_empty() {
        return None;
    }
    let is_active = lines.are_recent(case.evidence, PAUSE) && lines.go_on(case.evidence);
    let title = "What the PLEG did not find was removed in the same moment; that is harmless";
    Some(
        Draft::new(Severity::Info, title)
            .active(is_active)
            .say(format!(
                "The relist lists all containers, then asks for those of each changed pod; what was removed in between is not found ({}), and the next relist no longer asks. These lines name the PLEG, but it waits for nothing here: its trouble has another cause.",
                lines.counted()
            ))
            .cite(lines.cite(2)),
    )
}
