//! `dead-container`: a container whose removal failed half-way.
//!
//! In public incidents a dead container alone was never shown to block a relist: it is never presented as the
//! cause of a lag. Whether removal is stuck is told by inspect; the list lies both ways (moby up to 28.1).

use super::{
    EACH, Rule, called, cite_groups, count, inspect_call,
    remedies::{clean, docker_option},
    subject_from, subject_of,
};
use crate::{
    digest::Group,
    event::{ErrorClass, Kind},
    evidence::Evidence,
    finding::{Citation, Confidence, Finding, Remedy, Risk, Severity, Subject},
    id::ContainerId,
    runtime::{Container, Outcome, Runtime},
};

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

fn check(evidence: &Evidence) -> Vec<Finding> {
    let runtime = evidence.runtime.as_ref();
    let dead: Vec<&Container> = runtime
        .into_iter()
        .flat_map(|r| &r.containers)
        .filter(|c| c.is_dead())
        .collect();
    let logged: Vec<&Group> = evidence
        .log
        .iter()
        .flat_map(|log| log.failed(CALLS, ErrorClass::Busy))
        .collect();
    let mut findings = Vec::new();
    if !dead.is_empty() {
        findings.push(from_docker(evidence, &dead, &logged));
    }
    let elsewhere: Vec<_> = logged
        .iter()
        .copied()
        .filter(|g| !dead.iter().any(|c| is_about(g, &c.id)))
        .collect();
    if !elsewhere.is_empty() {
        findings.push(from_log(evidence, &elsewhere));
    }
    findings
}

fn is_about(group: &Group, id: &ContainerId) -> bool {
    let text = group.first.error.as_ref().map_or("", |error| &error.text);
    group
        .first
        .subject()
        .is_some_and(|subject| subject.matches(id))
        || text.contains(id.as_str())
}

fn from_docker(evidence: &Evidence, dead: &[&Container], logged: &[&Group]) -> Finding {
    let about: Vec<_> = logged
        .iter()
        .copied()
        .filter(|g| dead.iter().any(|c| is_about(g, &c.id)))
        .collect();
    let mut citations = cite_groups(&about, 4);
    if let Some(runtime) = &evidence.runtime {
        citations.extend(
            dead.iter()
                .take(EACH)
                .map(|container| cite_states(runtime, container, dead.len())),
        );
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
    }
}

fn cite_states(runtime: &Runtime, container: &Container, of: usize) -> Citation {
    let inspected = container.inspected.as_ref();
    let state = inspected.map_or("?", |inspected| &inspected.state);
    let error = inspected
        .map(|inspected| inspected.error.as_str())
        .filter(|error| !error.is_empty());
    Citation {
        is_call: true,
        source: inspect_call(container, of),
        line: None,
        time: Some(runtime.asked_at),
        text: format!(
            "state {state}, while the list says \"{}\"{}",
            if container.listed_status.is_empty() {
                &container.listed_state
            } else {
                &container.listed_status
            },
            error.map(|error| format!("; {error}")).unwrap_or_default()
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
    let reason = dead
        .iter()
        .filter_map(|c| c.inspected.as_ref())
        .map(|i| i.error.as_str())
        .find(|e| !e.is_empty());
    let reason = reason.map_or_else(String::new, |error| {
        format!(" (\"{}\")", plain_reason(error))
    });
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
    error
        .find(": ")
        .filter(|_| error.starts_with("container "))
        .map_or(error, |at| &error[at + 2..])
}

fn from_log(evidence: &Evidence, groups: &[&Group]) -> Finding {
    let subjects: Vec<Subject> = groups
        .iter()
        .filter(|g| g.first.subject().is_some())
        .map(|g| subject_from(&g.first))
        .collect();
    let listed = evidence
        .runtime
        .as_ref()
        .filter(|runtime| runtime.list.outcome == Outcome::Answered);
    let gone = |id: &ContainerId| listed.is_some_and(|runtime| runtime.find(id).is_none());
    let all_gone = !subjects.is_empty() && subjects.iter().filter_map(|s| s.id.as_ref()).all(gone);
    let reason = groups
        .last()
        .and_then(|group| group.last.error.as_ref())
        .map_or("", |error| &error.text);
    let tries: u64 = groups.iter().map(|group| group.count).sum();
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
        active: !all_gone,
        explanation: format!(
            "The kubelet tried {} to remove what is left of it and the runtime refused: \"{reason}\".{} A container that cannot be removed was never shown to hold up the relist by itself; many of them slow it down.",
            if tries == 1 {
                "once".to_owned()
            } else {
                format!("{tries} times")
            },
            if all_gone {
                " It is not in Docker any more."
            } else {
                ""
            },
        ),
        subjects,
        citations: cite_groups(groups, 6),
        remedies: if all_gone {
            Vec::new()
        } else {
            clean(evidence, "dead", "the logs of the removed containers")
        },
    }
}

fn remedies(evidence: &Evidence, dead: &[&Container]) -> Vec<Remedy> {
    let mut remedies = clean(
        evidence,
        "dead",
        "the logs of the removed containers; nothing that runs",
    );
    if let [one, ..] = dead {
        remedies.push(Remedy {
            title: "If it says that something is still mounted: see which process holds the mount"
                .to_owned(),
            risk: Risk::Safe,
            command: format!("grep -l {} /proc/[0-9]*/mountinfo", one.id.short()),
            cost: "nothing; restart what holds it, then remove the container again".to_owned(),
        });
        remedies.push(Remedy {
            title: "If it says that an operation is not permitted: look for an immutable file in its layer".to_owned(),
            risk: Risk::Safe,
            command: format!("lsattr -R $(docker{} inspect -f '{{{{.GraphDriver.Data.UpperDir}}}}' {}) | grep -e '-i-'", docker_option(evidence).replace("--docker-host", "-H"), one.id.short()),
            cost: "nothing; chattr -i takes the mark away".to_owned(),
        });
    }
    remedies
}

impl Container {
    /// Returns whether it is dead or its removal is stuck, by what inspect says.
    pub fn is_dead(&self) -> bool {
        self.inspected
            .as_ref()
            .is_some_and(|inspected| matches!(inspected.state.as_str(), "dead" | "removing"))
    }
}
