//! `list-too-large`: the answer that lists all containers is larger than gRPC lets through.

use super::{Rule, cite_groups, clock, count, last_of, lasts, node, remedies::clean};
use crate::{
    digest::Group,
    event::{ErrorClass, Kind},
    evidence::Evidence,
    finding::{Citation, Confidence, Finding, Remedy, Risk, Severity},
    runtime::{Outcome, Runtime},
};

pub(super) const RULE: Rule = Rule {
    id: "list-too-large",
    title: "The list of containers exceeds the gRPC limit, so the kubelet can neither relist nor clean up",
    explains: true,
    check,
};

const CALLS: &[Kind] = &[
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::ListStreamFailed,
    Kind::RelistFailed,
    Kind::ContainerGcFailed,
    Kind::CleanPodsFailed,
];

fn check(evidence: &Evidence) -> Vec<Finding> {
    let groups: Vec<&Group> = evidence
        .log
        .iter()
        .flat_map(|log| log.failed(CALLS, ErrorClass::TooLarge))
        .collect();
    let sizes = groups
        .iter()
        .filter_map(|g| Some((g.last.at, g.last.error.as_ref()?.sizes?)))
        .max();
    let Some((_, (got, limit))) = sizes else {
        return Vec::new();
    };
    let listed = evidence
        .runtime
        .as_ref()
        .filter(|runtime| runtime.list.outcome == Outcome::Answered);
    // Docker's own answer is JSON and somewhat larger than the kubelet's message about the same containers.
    let still = listed.map(|runtime| runtime.list_bytes >= limit);
    let active = still != Some(false) && lasts(evidence, last_of(&groups));
    let mut citations = cite_groups(&groups, 5);
    citations.extend(listed.map(cite_list));
    vec![Finding {
        id: RULE.id,
        title: if active {
            "The list of containers is too large for the kubelet"
        } else {
            "The list of containers was too large for the kubelet"
        }
        .to_owned(),
        severity: Severity::Critical,
        confidence: if still == Some(true) {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation: explain(&groups, got, limit, listed),
        subjects: vec![node(evidence)],
        citations,
        remedies: if active {
            remedies(evidence)
        } else {
            Vec::new()
        },
    }]
}

fn cite_list(runtime: &Runtime) -> Citation {
    Citation {
        is_call: true,
        source: "docker ps -a".to_owned(),
        line: None,
        time: Some(runtime.asked_at),
        text: format!(
            "{}, {} of them stopped, {} bytes as JSON",
            count(runtime.containers.len(), "container"),
            stopped(runtime),
            runtime.list_bytes
        ),
    }
}

/// Returns how many listed containers do not run.
pub(super) fn stopped(runtime: &Runtime) -> usize {
    runtime
        .containers
        .iter()
        .filter(|c| !matches!(c.listed_state.as_str(), "running" | "paused" | "restarting"))
        .count()
}

fn explain(groups: &[&Group], got: u64, limit: u64, listed: Option<&Runtime>) -> String {
    let first = groups.iter().filter_map(|group| group.first.at).min();
    let now = listed.map_or_else(String::new, |runtime| {
        let all = count(runtime.containers.len(), "container");
        format!(
            " Docker has {all} now, {} of them stopped.",
            stopped(runtime)
        )
    });
    format!(
        "Since {} the answer that lists the node's containers has {got} bytes, and the limit is {limit}. The kubelet cannot list them, so its relist fails; nor can it remove the old ones that make the list so long, so this does not heal by itself.{now}",
        clock(first),
    )
}

fn remedies(evidence: &Evidence) -> Vec<Remedy> {
    let mut remedies = clean(
        evidence,
        "exited",
        "the logs of the removed containers; running ones are not touched",
    );
    remedies.push(Remedy {
        title: "Keep it from coming back: find what leaves so many containers, and bound them"
            .to_owned(),
        risk: Risk::Node,
        command:
            "# kubelet: --maximum-dead-containers=200 --maximum-dead-containers-per-container=1"
                .to_owned(),
        cost: "the kubelet restarts with the new flags".to_owned(),
    });
    remedies
}
