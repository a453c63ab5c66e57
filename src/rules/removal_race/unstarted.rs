//! A container without its sandbox: the kubelet ends over it each time that it starts.

use super::RULE;
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::kubelet::event::{Event, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::rules::lines::Lines;
use crate::rules::remedies::{RuntimeKind, RuntimeStack, docker_command, remedy, runtime_kind};
use crate::rules::{called, clock, lower, node, subject_of};
use crate::runtime::Container;
use crate::syntax::id::ContainerId;

/// What the kubelet says before it ends: `no PodsandBox found with Id '…'` (pkg/kubelet/cm, as it is spelt there).
const ORPHAN: &str = "no PodsandBox found with Id '";

/// Returns the sandbox that the kubelet missed when it ended over it.
pub(in crate::rules) fn missed(event: &Event) -> Option<&str> {
    if !matches!(
        event.kind,
        Kind::KubeletFatal | Kind::ContainerManagerFailed
    ) {
        return None;
    }
    let (_, rest) = event.error.as_ref()?.text.split_once(ORPHAN)?;
    rest.split('\'').next().filter(|id| !id.is_empty())
}

/// A container whose sandbox is gone: the kubelet does not start.
pub(super) fn tell(evidence: &Evidence) -> Option<Finding> {
    let log = evidence.log.as_ref()?;
    let all = Lines::of(
        evidence,
        &[Kind::KubeletFatal, Kind::ContainerManagerFailed],
    );
    let missing = |group: &&Group| missed(&group.last).is_some();
    let lines = Lines(all.0.into_iter().filter(missing).collect());
    let last = lines.0.iter().max_by_key(|group| group.last.at)?;
    let id = missed(&last.last)?;
    let started = log.starts.iter().any(|start| start.at > last.last.at);
    let active = !started && lines.are_recent(evidence, PAUSE) && lines.go_on(evidence);
    let sandbox = ContainerId::parse(id);
    let of_sandbox = |container: &&Container| {
        let own = container.sandbox.as_ref().zip(sandbox.as_ref());
        own.is_some_and(|(own, id)| own.matches(id))
    };
    let listed = evidence.listed();
    let orphans: Vec<_> = listed
        .iter()
        .flat_map(|runtime| runtime.told())
        .filter(of_sandbox)
        .collect();
    let named = match orphans.as_slice() {
        [] => String::new(),
        [one] => format!(" Docker still has it: {}.", called(&subject_of(one))),
        [one, ..] => format!(
            " Docker still has {} such, one of them {}.",
            orphans.len(),
            lower(&called(&subject_of(one)))
        ),
    };
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!(
            "The kubelet cannot start: the sandbox {} of some container is gone",
            short(id)
        ),
        severity: Severity::Critical,
        confidence: match orphans.is_empty() {
            true => Confidence::Suspected,
            false => Confidence::Confirmed,
        },
        active,
        explanation: format!(
            "When it starts, the kubelet lists all containers and looks for the sandbox of each; that of one, {}, is not there any more, so it ends and is started again ({}, the last at {}).{named} Once the containers that were left of that sandbox are removed it starts. This is not the PLEG.",
            short(id),
            lines.counted(),
            clock(evidence, lines.last())
        ),
        subjects: match orphans.is_empty() {
            true => vec![Subject {
                kind: SubjectKind::Sandbox,
                id: sandbox,
                ..node(evidence)
            }],
            false => orphans
                .iter()
                .map(|container| subject_of(container))
                .collect(),
        },
        citations: lines.cite(3),
        remedies: match active {
            true => remove_orphans(evidence, id),
            false => Vec::new(),
        },
        spans: Vec::new(),
    })
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

fn remove_orphans(evidence: &Evidence, id: &str) -> Vec<Remedy> {
    // It goes into a command: nothing but an id may.
    let Some(id) = ContainerId::parse(id) else {
        return Vec::new();
    };
    let id = id.as_str();
    let (see, remove) = match runtime_kind(evidence) {
        Some(RuntimeKind::Docker) => {
            let docker = docker_command(evidence);
            let filter = format!("--filter label=io.kubernetes.sandbox.id={id}");
            (
                format!("{docker} ps -a --no-trunc {filter}"),
                format!("{docker} rm $({docker} ps -aq {filter})"),
            )
        }
        _ => {
            let crictl = RuntimeStack::new(evidence).crictl();
            (
                format!("{crictl} ps -a --pod {id}"),
                format!("{crictl} rm $({crictl} ps -aq --pod {id})"),
            )
        }
    };
    vec![
        remedy(
            "See which containers were left of that sandbox",
            Risk::Safe,
            see,
            "nothing",
        ),
        remedy(
            "Remove them",
            Risk::Safe,
            remove,
            "one that still runs is not removed: stop it first; its pod's controller makes a new one",
        ),
    ]
}
