//! `list-too-large`: the answer that lists all containers is larger than gRPC lets through.

use super::{
    Bearing, Judged, Rule, Scene, clock, count,
    lines::Lines,
    node,
    remedies::{bound_dead_containers, clean_exited, count_containers},
    room, stored,
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Severity, Variant},
    kubelet::event::{ErrorClass, Kind},
    runtime::{Runtime, room::LIMIT},
    syntax::citation::Citation,
};

pub(super) const RULE: Rule = Rule {
    id: "list-too-large",
    title: "The list of containers exceeds the gRPC limit, so the kubelet can neither relist nor clean up",
    explains: true,
    bearing: Bearing {
        behind: &[],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/list-too-large.md"),
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

fn judge(scene: &Scene) -> Judged {
    if let Some(runtime) = scene.listed().filter(|runtime| runtime.list_bytes < LIMIT) {
        let bytes = runtime.list_bytes;
        let because = format!("Docker's list has {bytes} bytes, and the limit is {LIMIT}");
        return Judged::out(because, "docker list");
    }
    match scene.without(CALLS, ErrorClass::TooLarge) {
        Some((log, _)) => Judged::silent(
            log,
            "no call said that a message is too large, and such calls fail at once",
        ),
        None => {
            scene.needs_runtime("docker ps -aq | wc -l # some 20,000 bring a list to its limit")
        }
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let all = Lines::failed(evidence, CALLS, ErrorClass::TooLarge);
    let logged = all.latest();
    let sizes = logged
        .0
        .iter()
        .filter_map(|g| Some((g.last.at, g.last.error.as_ref()?.sizes?)));
    let Some((_, (got, limit))) = sizes.max() else {
        return Vec::new();
    };
    let listed = evidence.listed();
    // Docker's own answer is JSON and somewhat larger than the kubelet's message about the same containers.
    let still = listed.map(|runtime| runtime.list_bytes >= limit);
    let active = still != Some(false) && logged.go_on(evidence);
    let title = if active {
        "is too large"
    } else {
        "was too large"
    };
    let mut citations = logged.cite(5);
    citations.extend(listed.map(cite_list));
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!("The list of containers {title} for the kubelet"),
        severity: Severity::Critical,
        confidence: if active && still == Some(true) {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation: explain(evidence, &logged, (got, limit), listed, active),
        subjects: vec![node(evidence)],
        citations,
        remedies: if active {
            remedies(evidence)
        } else {
            Vec::new()
        },
        spans: all.spans(),
    }]
}

pub(super) fn cite_list(runtime: &Runtime) -> Citation {
    let containers = count(runtime.containers.len(), "container");
    let (stopped, bytes) = (stopped(runtime), runtime.list_bytes);
    Citation {
        source: "docker list".to_owned().into(),
        is_call: true,
        line: None,
        time: Some(runtime.asked_at),
        text: format!("{containers}, {stopped} of them stopped, {bytes} bytes as JSON").into(),
    }
}

/// Returns how many listed containers do not run.
pub(super) fn stopped(runtime: &Runtime) -> usize {
    let containers = runtime.containers.iter();
    containers.filter(|it| !it.is_listed_running()).count()
}

fn explain(
    evidence: &Evidence,
    logged: &Lines,
    (got, limit): (u64, u64),
    listed: Option<&Runtime>,
    active: bool,
) -> String {
    let first = clock(evidence, logged.first());
    let now = listed.map_or_else(String::new, |runtime| {
        let all = count(runtime.containers.len(), "container");
        let stopped = stopped(runtime);
        let room = room::told(runtime).map_or_else(String::new, |room| format!(" {room}"));
        format!(" Docker has {all} now, {stopped} of them stopped.{room}")
    });
    let written = stored::listed(evidence).map(|(_, stored)| {
        let (all, stopped) = (count(stored.len(), "container"), stored::stopped(&stored));
        format!(" Docker does not answer; it last wrote down {all}, {stopped} of them stopped.")
    });
    let now = written.unwrap_or(now);
    if !active {
        let last = clock(evidence, logged.last());
        return format!(
            "From {first} to {last} the answer that lists the node's containers had up to {got} bytes, and the limit is {limit}: the kubelet could not list them, and its relist failed. It is over.{now}"
        );
    }
    format!(
        "Since {first} the answer that lists the node's containers is too large: {got} bytes, and the limit is {limit}. The kubelet cannot list them, so its relist fails; nor can it remove the old ones that make the list so long, so this does not heal by itself.{now}"
    )
}

fn remedies(evidence: &Evidence) -> Vec<Remedy> {
    let mut remedies = clean_exited(evidence).unwrap_or_else(|| vec![count_containers(evidence)]);
    remedies.push(bound_dead_containers(evidence));
    remedies
}
