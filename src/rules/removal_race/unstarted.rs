//! A container without its sandbox: the kubelet ends over it each time that it starts.

use crate::evidence::Evidence;
use crate::finding::{Remedy, Risk, Severity, Subject, SubjectKind};
use crate::kubelet::event::{Event, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::rules::support::answer::Draft;
use crate::rules::support::case::Case;
use crate::rules::support::remedies::{
    RuntimeKind, RuntimeStack, docker_command, remedy, runtime_kind,
};
use crate::rules::support::wording::{clock, display_name, lower};
use crate::rules::support::{step, subject};
use crate::runtime::{Container, Runtime};
use crate::syntax::id::ContainerId;

/// What the kubelet says before it ends: `no PodsandBox found with Id '…'` (pkg/kubelet/cm, as it is spelt there).
const ORPHAN: &str = "no PodsandBox found with Id '";

/// The sandbox whose absence ended the kubelet.
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
pub(super) fn draft(case: &Case) -> Option<Draft> {
    let evidence = case.evidence;
    let log = case.log()?;
    let is_missing = |group: &Group| missed(&group.last).is_some();
    let lines = case.lines(&[Kind::KubeletFatal, Kind::ContainerManagerFailed]);
    let lines = lines.filter(is_missing);
    let last = lines.0.iter().max_by_key(|group| group.last.at)?;
    let id = missed(&last.last)?;
    let has_started = log.starts.iter().any(|start| start.at > last.last.at);
    let active = !has_started && lines.are_recent(evidence, PAUSE) && lines.go_on(evidence);
    let sandbox = ContainerId::parse(id);
    let is_of_sandbox = |container: &&Container| {
        let own = container.sandbox.as_ref().zip(sandbox.as_ref());
        own.is_some_and(|(own, id)| own.matches(id))
    };
    let listed = evidence.listed().into_iter();
    let orphans = listed.flat_map(Runtime::told).filter(is_of_sandbox);
    let orphans: Vec<_> = orphans.collect();
    let name = |container: &Container| display_name(&subject::container(container));
    let still_there = match orphans.as_slice() {
        [] => String::new(),
        [one] => format!("Docker still has it: {}.", name(one)),
        [one, ..] => format!(
            "Docker still has {} such, one of them {}.",
            orphans.len(),
            lower(&name(one))
        ),
    };
    let gone = Subject {
        kind: SubjectKind::Sandbox,
        id: sandbox,
        ..subject::node(evidence)
    };
    let short = id.get(..12).unwrap_or(id);
    let title = format!("The kubelet cannot start: the sandbox {short} of some container is gone");
    Some(
        Draft::new(Severity::Critical, title)
            .active(active)
            .say(format!(
                "When it starts, the kubelet lists all containers and looks up the sandbox of each; that of one, {short}, no longer exists, so the kubelet ends and is started again ({}, the last at {}).",
                lines.counted(),
                clock(evidence, lines.last())
            ))
            .say(still_there)
            .say("Once the containers left of that sandbox are removed it starts. This is not the PLEG.")
            .about(orphans.iter().map(|it| subject::container(it)))
            .about(orphans.is_empty().then_some(gone))
            .cite(lines.cite(3))
            .confirmed_if(!orphans.is_empty())
            .steps(steps(evidence, id)),
    )
}

fn steps(evidence: &Evidence, id: &str) -> Vec<Remedy> {
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
        step::look("See which containers are left of that sandbox", see),
        remedy(
            "Remove them",
            Risk::Safe,
            remove,
            "one that still runs is not removed: stop it first; its pod's controller makes a new one",
        ),
    ]
}
