//! Meets each id and pod of the findings and of the log's errors with its container: which containers a reader
//! should see, of perhaps thousands.

use crate::evidence::Evidence;
use crate::finding::Finding;
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::kubelet::summary::{Group, Log};
use crate::runtime::{Call, Container, ContainerKind, Runtime};
use crate::syntax::id::ContainerIds;
use crate::syntax::time::Time;
use std::collections::BTreeSet;

/// Why a container is worth a look; the first in this order comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    Accused,
    Unwell,
    InTheLogsErrors,
    OfAnAccusedPod,
    /// Docker does not list what runs: its files do.
    SaidToRun,
}

pub(super) fn that_matter(evidence: &Evidence, findings: &[Finding]) -> Vec<Container> {
    let Some(runtime) = &evidence.runtime else {
        return Vec::new();
    };
    let subjects = || findings.iter().flat_map(|finding| &finding.subjects);
    let accused: ContainerIds = subjects().filter_map(|s| s.id.as_ref()).collect();
    let pods: BTreeSet<_> = subjects()
        .filter_map(|subject| subject.uid.as_ref())
        .collect();
    let suspects = evidence.log.as_ref().map(Log::suspects).unwrap_or_default();
    let in_errors: ContainerIds = suspects.iter().collect();
    let now = runtime.asked_at;
    let reason = |container: &Container| {
        if accused.contains(&container.id) {
            Some(Reason::Accused)
        } else if is_unwell(container, now) {
            Some(Reason::Unwell)
        } else if in_errors.contains(&container.id) {
            Some(Reason::InTheLogsErrors)
        } else if container.uid.as_ref().is_some_and(|uid| pods.contains(uid)) {
            Some(Reason::OfAnAccusedPod)
        } else if is_said_to_run(container) {
            Some(Reason::SaidToRun)
        } else {
            None
        }
    };
    let gone = evidence.log.iter().flat_map(|log| gone(log, runtime));
    let all = runtime.containers.iter().cloned().chain(gone);
    let mut matter: Vec<_> = all.filter_map(|c| Some((reason(&c)?, c))).collect();
    matter.sort_by(|(a, left), (b, right)| {
        (a, &left.name, &left.id).cmp(&(b, &right.name, &right.id))
    });
    matter.into_iter().map(|(_, container)| container).collect()
}

fn is_unwell(container: &Container, now: Time) -> bool {
    let fine = [Outcome::Answered, Outcome::Gone, Outcome::NotProbed];
    let stored = container.disk.as_ref();
    let stored = stored.is_some_and(|stored| stored.is_stale() || stored.is_dead(now));
    !fine.contains(&container.probe.outcome) || container.is_dead() || stored
}

fn is_said_to_run(container: &Container) -> bool {
    let stored = container.disk.as_ref();
    container.is_only_stored() && stored.is_some_and(|stored| stored.state.running)
}

/// The containers that the log's errors name and that Docker does not have any more.
fn gone(log: &Log, runtime: &Runtime) -> Vec<Container> {
    if runtime.probe(Call::List).outcome != Outcome::Answered {
        return Vec::new();
    }
    let mut known: ContainerIds = runtime
        .containers
        .iter()
        .map(|container| &container.id)
        .collect();
    let mut found = Vec::new();
    for group in log.groups.iter().filter(|group| is_worth_a_look(group)) {
        let event = &group.first;
        let Some(id) = event.subject().filter(|id| !known.contains(id)) else {
            continue;
        };
        known.insert(id);
        let mut container = Container::unlisted(id.clone());
        container.kind = match event.container {
            Some(_) => ContainerKind::Container,
            None => ContainerKind::Sandbox,
        };
        container.pod.clone_from(&event.pod);
        container.uid.clone_from(&event.uid);
        container.probe.outcome = Outcome::Gone;
        found.push(container);
    }
    found
}

/// A call about something that is not there is an everyday race with its removal.
fn is_worth_a_look(group: &Group) -> bool {
    !matches!(group.first.error_class(), None | Some(ErrorClass::NotFound))
}
