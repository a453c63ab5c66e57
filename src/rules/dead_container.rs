//! `dead-container`: a container whose removal failed half-way.
//!
//! In public incidents a dead container alone was never shown to block a relist: it is never presented as the
//! cause of a lag. Whether removal failed is told by inspect; the list lies both ways (moby up to 28.1).

mod ids;
mod remedies;
mod stored;
mod tries;

use super::lines::Lines;
use super::remedies::clean_dead;
use super::support::calls::{REMOVAL_RETRIES as RETRIES, REMOVALS as CALLS};
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{
    EACH, busy_mount, called, clock, count, holders, inspect_call, room, subject_from, subject_of,
};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Severity, Subject, Variant};
use crate::node::LeftoverLayer;
use crate::runtime::{Container, Runtime, State};
use crate::syntax::citation::Citation;
use crate::syntax::duration;
use crate::syntax::id::ContainerId;
use ids::Ids;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    id: "dead-container",
    title: "A container could not be removed",
    explains: false,
    bearing: Bearing {
        behind: &[],
        feeds: &["container-pileup", "list-too-large"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/dead-container.md"),
    check,
};

fn judge(scene: &Scene) -> Judged {
    match scene.all_answer() {
        Some(_) => Judged::out("no container is dead", "docker inspect"),
        None => Judged::Unasked,
    }
}

fn check(evidence: &Evidence, before: &[Finding]) -> Vec<Finding> {
    let containers = evidence
        .runtime
        .iter()
        .flat_map(|runtime| &runtime.containers);
    let (dead, rest): (Vec<&Container>, Vec<&Container>) =
        containers.partition(|container| container.is_dead());
    let stored = stored::dead(evidence, rest);
    let logged = tries::in_vain(evidence);
    let (ids, of_stored) = (Ids::of(&dead), Ids::of(&stored));
    let (about, others): (Vec<_>, Vec<_>) = logged
        .0
        .into_iter()
        .partition(|group| !ids.named(group).is_empty());
    let (about_stored, elsewhere) = others
        .into_iter()
        .partition(|group| !of_stored.named(group).is_empty());
    // `busy-mount` tells better who holds a mount; of several the others may have another reason.
    let held = before.iter().find(|it| it.id == busy_mount::RULE.id);
    let looks = |dead: &[&Container]| {
        let told = held.is_some_and(|held| dead.iter().all(|one| names(held, Some(&one.id))));
        remedies::looks(evidence, dead).filter(|_| !told)
    };
    let mut findings = Vec::new();
    if !dead.is_empty() {
        findings.push(from_docker(evidence, &dead, &Lines(about), looks(&dead)));
    }
    if !stored.is_empty() {
        let looks = looks(&stored);
        findings.push(stored::tell(evidence, &stored, &Lines(about_stored), looks));
    }
    let elsewhere = Lines(elsewhere);
    if !elsewhere.is_empty() {
        findings.push(from_log(evidence, &elsewhere));
    }
    if let Some(held) = held {
        findings.iter_mut().for_each(|finding| refer(finding, held));
    }
    findings
}

/// Points to `busy-mount`, where it names one of the same containers.
fn refer(finding: &mut Finding, held: &Finding) {
    if finding
        .subjects
        .iter()
        .any(|it| names(held, it.id.as_ref()))
    {
        finding
            .explanation
            .push_str(" busy-mount names what holds its mount; fix that first.");
    }
}

fn names(finding: &Finding, id: Option<&ContainerId>) -> bool {
    id.is_some() && finding.subjects.iter().any(|it| it.id.as_ref() == id)
}

fn from_docker(
    evidence: &Evidence,
    dead: &[&Container],
    about: &Lines,
    looks: Option<[Remedy; 2]>,
) -> Finding {
    let mut citations = about.cite(4);
    if let Some(runtime) = &evidence.runtime {
        let states = dead
            .iter()
            .take(EACH)
            .map(|c| cite_states(runtime, c, dead.len()));
        citations.extend(states);
    }
    let remains = dead.iter().filter_map(|one| half_removed(evidence, one));
    citations.extend(remains.take(EACH).map(|it| cite_remains(evidence, it)));
    // Docker's list, inspect and log are one witness; the kubelet's log and the file system are others.
    let ids = Ids::of(dead);
    let logged: BTreeSet<&str> = about.0.iter().flat_map(|group| ids.named(group)).collect();
    let all_shown = dead
        .iter()
        .all(|one| half_removed(evidence, one).is_some() || logged.contains(one.id.as_str()));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match dead {
            [one] => format!(
                "{} is dead: its removal failed half-way",
                called(&subject_of(one))
            ),
            many => format!(
                "{} are dead: their removal failed half-way",
                count(many.len(), "container")
            ),
        },
        severity: Severity::Warning,
        confidence: match all_shown {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active: true,
        explanation: explain(evidence, dead, about),
        subjects: dead.iter().map(|container| subject_of(container)).collect(),
        citations,
        remedies: looks
            .into_iter()
            .flatten()
            .chain(clean_dead(evidence).into_iter().flatten())
            .collect(),
        spans: about.spans(),
    }
}

/// Returns what is left of its layer, if the file system shows that its removal began and did not end.
fn half_removed<'a>(evidence: &'a Evidence, container: &Container) -> Option<&'a LeftoverLayer> {
    let folder = container.inspected.as_ref()?.folder.as_ref()?;
    let mut remains = evidence.host.as_ref()?.remains.iter();
    remains.find(|it| it.folder == *folder && it.is_half_removed())
}

fn cite_remains(evidence: &Evidence, remains: &LeftoverLayer) -> Citation {
    let left = match remains.names.as_slice() {
        [] => "nothing is left in it".to_owned(),
        names => format!("only {} left in it", names.join(", ")),
    };
    holders::cite(evidence, remains.folder.as_str(), left)
}

fn cite_states(runtime: &Runtime, container: &Container, of: usize) -> Citation {
    let inspected = container.inspected.as_ref();
    let state = inspected.map_or("?", |inspected| inspected.state.as_str());
    let error = inspected.map(|inspected| inspected.error.as_str());
    let error = error
        .filter(|error| !error.is_empty())
        .map(|error| format!("; {error}"));
    let (status, listed) = (&container.listed_status, container.listed_state.as_str());
    let listed = if status.is_empty() {
        listed
    } else {
        status.as_str()
    };
    Citation {
        source: inspect_call(container, of).into(),
        is_call: true,
        line: None,
        time: Some(runtime.asked_at),
        text: format!(
            "state {state}, {}{}",
            match container.listed_state.as_str() == state {
                true => "as in the list".to_owned(),
                false => format!("while the list says \"{listed}\""),
            },
            error.unwrap_or_default()
        )
        .into(),
    }
}

fn explain(evidence: &Evidence, dead: &[&Container], about: &Lines) -> String {
    let what = match dead {
        [one] => {
            let one = called(&subject_of(one));
            format!("{one} ended and Docker could not remove what belongs to it")
        }
        many => format!(
            "Docker could not remove what belongs to {}",
            count(many.len(), "container")
        ),
    };
    let errors = dead
        .iter()
        .filter_map(|c| c.inspected.as_ref())
        .map(|i| i.error.as_str());
    let reason = errors
        .filter(|error| !error.is_empty())
        .map(plain_reason)
        .next();
    let reason = reason
        .map(|error| format!(" (\"{error}\")"))
        .unwrap_or_default();
    let misled = match (
        dead,
        dead.iter()
            .filter(|c| c.listed_state != State::Dead)
            .count(),
    ) {
        (_, 0) => String::new(),
        ([_], _) => {
            " Docker's list does not call it dead, so docker ps --filter status=dead misses it."
                .to_owned()
        }
        (all, missed) => {
            let which = match missed {
                _ if missed == all.len() => "them".to_owned(),
                _ => format!("{missed} of them"),
            };
            format!(
                " Docker's list does not call {which} dead, so docker ps --filter status=dead misses {which}."
            )
        }
    };
    let never = match dead {
        [_] => "It can never start again.",
        _ => "They can never start again.",
    };
    let them = if dead.len() == 1 { "it" } else { "them" };
    let tried = match about.number() {
        0 | 1 => String::new(),
        tries => {
            let span = span(evidence, about);
            let room = evidence.listed().and_then(room::told);
            let room = room.map_or_else(String::new, |room| format!(" {room}"));
            format!(" The kubelet tried {tries} times to remove {them}{span}.{room}")
        }
    };
    let half = |one: &&&Container| half_removed(evidence, one).is_some();
    let half = match (dead, dead.iter().filter(half).count()) {
        (_, 0) => String::new(),
        ([_], _) => " Its layer is still on the disk, half removed.".to_owned(),
        (_, 1) => " The layer of one is still on the disk, half removed.".to_owned(),
        (_, number) => format!(" The layers of {number} are still on the disk, half removed."),
    };
    format!(
        "{what}{reason}.{half} {never}{misled}{tried} A dead container alone was never shown to block the kubelet's relist; many of them slow it down, and each may point to a leaked mount."
    )
}

/// Returns the daemon's reason, shortened to what counts.
fn plain_reason(error: &str) -> &str {
    let at = error.find(": ").filter(|_| error.starts_with("container "));
    at.map_or(error, |at| &error[at + 2..])
}

fn from_log(evidence: &Evidence, logged: &Lines) -> Finding {
    let named = logged
        .0
        .iter()
        .filter(|group| group.first.subject().is_some());
    let subjects: Vec<Subject> = named.map(|group| subject_from(&group.first)).collect();
    let listed = evidence.listed();
    let gone = |id: &ContainerId| listed.is_some_and(|runtime| runtime.find(id).is_none());
    let all_gone = !subjects.is_empty() && subjects.iter().filter_map(|s| s.id.as_ref()).all(gone);
    let active = !all_gone && logged.are_recent(evidence, RETRIES);
    let last = logged.0.iter().max_by_key(|group| group.last.at);
    let reason = last
        .and_then(|group| group.last.error.as_ref())
        .map_or("", |error| &error.text);
    let tries = match logged.number() {
        1 => "once".to_owned(),
        tries => format!("{tries} times{}", span(evidence, logged)),
    };
    // Where nothing is removed any more, it matters how long the list is.
    let room = listed.filter(|_| active).and_then(room::told);
    let room = room.map_or_else(String::new, |room| format!(" {room}"));
    let over = match (all_gone, active) {
        (true, _) => " It is not in Docker any more.",
        (false, false) => " It did not try again.",
        (false, true) => "",
    };
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match subjects.as_slice() {
            [one] => format!("{} could not be removed", called(one)),
            many => format!(
                "{} could not be removed",
                count(many.len().max(1), "container")
            ),
        },
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "The kubelet tried {tries} to remove what is left of it and the runtime refused: \"{reason}\".{over} A container that cannot be removed alone was never shown to block the relist; many of them slow it down.{room}"
        ),
        citations: logged.cite(6),
        remedies: if active {
            let ids: Vec<_> = subjects.iter().filter_map(|it| it.id.as_ref()).collect();
            let look = remedies::look_by(evidence, reason, &ids);
            let clean = clean_dead(evidence).unwrap_or_default();
            look.into_iter().chain(clean).collect()
        } else {
            Vec::new()
        },
        subjects,
        spans: logged.spans(),
    }
}

/// Returns from when to when it was tried, and for how long, if not at one moment.
fn span(evidence: &Evidence, logged: &Lines) -> String {
    let Some((first, last)) = logged.first().zip(logged.last()) else {
        return String::new();
    };
    if last == first {
        return String::new();
    }
    let lasted = duration::human(last - first);
    let (first, last) = (clock(evidence, Some(first)), clock(evidence, Some(last)));
    format!(" ({first} to {last}, for {lasted})")
}
