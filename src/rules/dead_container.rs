//! `dead-container`: a container whose removal failed half-way.
//!
//! In public incidents a dead container alone was never shown to block a relist: it is never presented as the
//! cause of a lag. Whether removal failed is told by inspect; the list lies both ways (moby up to 28.1).

mod stored;

use super::{
    EACH, Rule, called, count, inspect_call,
    lines::Lines,
    remedies::{clean_dead, docker_command},
    subject_from, subject_of,
};
use crate::{
    digest::Group,
    event::{ErrorClass, Kind},
    evidence::Evidence,
    finding::{Citation, Confidence, Finding, Remedy, Risk, Severity, Subject},
    id::ContainerId,
    runtime::{Container, Runtime},
};
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "dead-container",
    title: "A container could not be removed",
    explains: false,
    check,
};

const CALLS: &[Kind] = &[
    Kind::RemoveContainerFailed,
    Kind::RemoveSandboxFailed,
    Kind::ContainerGcFailed,
];
/// The kubelet's clean-up tries again each minute; silence for longer shows that it got rid of it.
const RETRIES: TimeDelta = TimeDelta::minutes(5);

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let containers = evidence
        .runtime
        .iter()
        .flat_map(|runtime| &runtime.containers);
    let (dead, rest): (Vec<&Container>, Vec<&Container>) =
        containers.partition(|container| container.is_dead());
    let stored = stored::dead(evidence, rest);
    let logged = Lines::failed(evidence, CALLS, ErrorClass::Busy);
    let of = |some: &[&Container], group: &Group| some.iter().any(|one| is_about(group, &one.id));
    let (about, others): (Vec<_>, Vec<_>) =
        logged.0.into_iter().partition(|group| of(&dead, group));
    let (about_stored, elsewhere) = others.into_iter().partition(|group| of(&stored, group));
    let mut findings = Vec::new();
    if !dead.is_empty() {
        findings.push(from_docker(evidence, &dead, &Lines(about)));
    }
    if !stored.is_empty() {
        findings.push(stored::tell(evidence, &stored, &Lines(about_stored)));
    }
    let elsewhere = Lines(elsewhere);
    if !elsewhere.is_empty() {
        findings.push(from_log(evidence, &elsewhere));
    }
    findings
}

fn is_about(group: &Group, id: &ContainerId) -> bool {
    let text = group.first.error.as_ref().map_or("", |error| &error.text);
    let named = group
        .first
        .subject()
        .is_some_and(|subject| subject.matches(id));
    named || text.contains(id.as_str())
}

fn from_docker(evidence: &Evidence, dead: &[&Container], about: &Lines) -> Finding {
    let mut citations = about.cite(4);
    if let Some(runtime) = &evidence.runtime {
        let states = dead
            .iter()
            .take(EACH)
            .map(|c| cite_states(runtime, c, dead.len()));
        citations.extend(states);
    }
    Finding {
        id: RULE.id,
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
        confidence: if about.is_empty() {
            Confidence::Suspected
        } else {
            Confidence::Confirmed
        },
        active: true,
        explanation: explain(dead),
        subjects: dead.iter().map(|container| subject_of(container)).collect(),
        citations,
        remedies: remedies(evidence, dead),
        spans: about.spans(),
    }
}

fn cite_states(runtime: &Runtime, container: &Container, of: usize) -> Citation {
    let inspected = container.inspected.as_ref();
    let state = inspected.map_or("?", |inspected| &inspected.state);
    let error = inspected.map(|inspected| inspected.error.as_str());
    let error = error
        .filter(|error| !error.is_empty())
        .map(|error| format!("; {error}"));
    let (status, listed) = (&container.listed_status, &container.listed_state);
    let listed = if status.is_empty() { listed } else { status };
    Citation {
        source: inspect_call(container, of),
        is_call: true,
        line: None,
        time: Some(runtime.asked_at),
        text: format!(
            "state {state}, while the list says \"{listed}\"{}",
            error.unwrap_or_default()
        ),
    }
}

fn explain(dead: &[&Container]) -> String {
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
    let misled = if dead.iter().any(|c| c.listed_state != "dead") {
        " Docker's list does not call it dead, so docker ps --filter status=dead misses it."
    } else {
        ""
    };
    format!(
        "{what}{reason}. It can never start again.{misled} A dead container by itself was never shown to hold up the kubelet's relist; many of them slow it down, and each may point to a leaked mount."
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
        tries => format!("{tries} times"),
    };
    let over = match (all_gone, active) {
        (true, _) => " It is not in Docker any more.",
        (false, false) => " It did not try again.",
        (false, true) => "",
    };
    Finding {
        id: RULE.id,
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
            "The kubelet tried {tries} to remove what is left of it and the runtime refused: \"{reason}\".{over} A container that cannot be removed was never shown to hold up the relist by itself; many of them slow it down."
        ),
        subjects,
        citations: logged.cite(6),
        remedies: if active {
            clean_dead(evidence).unwrap_or_default()
        } else {
            Vec::new()
        },
        spans: logged.spans(),
    }
}

fn remedies(evidence: &Evidence, dead: &[&Container]) -> Vec<Remedy> {
    let mut remedies = clean_dead(evidence).unwrap_or_default();
    let Some(short) = dead.first().map(|container| container.id.short()) else {
        return remedies;
    };
    let docker = docker_command(evidence);
    remedies.push(Remedy {
        title: "If it says that something is still mounted: see which process holds the mount"
            .to_owned(),
        risk: Risk::Safe,
        command: format!("grep -l {short} /proc/[0-9]*/mountinfo"),
        cost: "nothing; restart what holds it, then remove the container again".to_owned(),
    });
    remedies.push(Remedy {
        title: "If it says that an operation is not permitted: look for an immutable file in its layer".to_owned(),
        risk: Risk::Safe,
        command: format!(
            "lsattr -R $({docker} inspect -f '{{{{.GraphDriver.Data.UpperDir}}}}' {short}) | grep -e '-i-'"
        ),
        cost: "nothing; chattr -i takes the mark away".to_owned(),
    });
    remedies
}
