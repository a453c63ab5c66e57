//! Containers that cannot be removed, by Docker's word and the kubelet's, and their directories.

use crate::evidence::Evidence;
use crate::finding::Subject;
use crate::kubelet::event::ErrorClass;
use crate::kubelet::summary::Group;
use crate::node::mount_holder::{Place, places};
use crate::rules::lines::Lines;
use crate::rules::support::calls::{REMOVAL_RETRIES as RETRIES, REMOVALS as CALLS};
use crate::rules::{subject_from, subject_of};
use crate::runtime::{Container, Runtime, State};
use crate::syntax::id::ContainerId;
use std::collections::BTreeSet;

/// What the kernel says of a directory in which something is mounted, in whatever namespace.
const BUSY: &str = "device or resource busy";

/// A container that cannot be removed.
pub(super) struct Trouble<'a> {
    pub(super) id: ContainerId,
    /// As Docker tells of it.
    pub(super) container: Option<&'a Container>,
    /// The kubelet's attempts that failed because something is mounted.
    pub(super) lines: Lines<'a>,
    /// Whether somebody says that something is mounted.
    pub(super) says_busy: bool,
    /// Its directories.
    pub(super) places: Vec<Place>,
}

impl Trouble<'_> {
    /// Returns whether Docker's inspect shows that nothing of it runs.
    pub(super) fn has_ended(&self) -> bool {
        let container = self.container;
        let inspected = container.and_then(|container| container.inspected.as_ref());
        inspected.is_some_and(|inspected| {
            !inspected.running
                && matches!(
                    inspected.state,
                    State::Dead | State::Exited | State::Removing
                )
        })
    }

    pub(super) fn subject(&self) -> Subject {
        let first = self.lines.0.first().map(|group| &group.first);
        let logged = first.map(subject_from);
        let known = self.container.map(subject_of).or(logged);
        known.unwrap_or_else(|| subject_of(&Container::unlisted(self.id.clone())))
    }
}

/// Returns all containers that cannot be removed now.
pub(super) fn all(evidence: &Evidence) -> Vec<Trouble<'_>> {
    let busy = busy_lines(evidence);
    let runtime = evidence.runtime.as_ref();
    let dead: Vec<&Container> = runtime
        .iter()
        .flat_map(|runtime| &runtime.containers)
        .filter(|container| is_dead(evidence, container))
        .collect();
    let mut ids: Vec<ContainerId> = dead.iter().map(|container| container.id.clone()).collect();
    for id in busy.iter().flat_map(|group| named(group)) {
        let known = ids.iter().any(|known| known.matches(&id));
        if !known && !is_gone_or_runs(evidence, &id) {
            ids.push(id);
        }
    }
    ids.into_iter()
        .map(|id| trouble(id, runtime, &busy))
        .collect()
}

/// Returns the containers that a line is about: its subject, else those that its error names.
fn named(group: &Group) -> Vec<ContainerId> {
    if let Some(id) = group.first.subject() {
        return vec![id.clone()];
    }
    let text = group.last.error.as_ref().map_or("", |error| &error.text);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let ids = words.filter_map(ContainerId::parse);
    // A layer's name looks like an id.
    let layers = places(text);
    ids.filter(|id| id.is_whole() && !layers.contains(&Place::Layer(id.to_string())))
        .collect()
}

fn is_gone_or_runs(evidence: &Evidence, id: &ContainerId) -> bool {
    let runtime = evidence.runtime.as_ref();
    let known = runtime.and_then(|runtime| runtime.find(id));
    let inspected = known.and_then(|container| container.inspected.as_ref());
    let gone = evidence.listed().is_some() && known.is_none();
    gone || inspected.is_some_and(|inspected| inspected.running)
}

fn trouble<'a>(id: ContainerId, runtime: Option<&'a Runtime>, busy: &[&'a Group]) -> Trouble<'a> {
    let others = of_others(runtime, &id);
    let container = runtime.and_then(|runtime| runtime.find(&id));
    let about = |group: &&&Group| group.first.subject().is_some_and(|own| own.matches(&id));
    let lines = Lines(busy.iter().filter(about).copied().collect());
    let told = lines.0.iter().filter_map(|group| group.last.error.as_ref());
    let mut errors: Vec<&str> = told.map(|error| &*error.text).collect();
    errors.extend(container.into_iter().flat_map(errors_of));
    let inspected = container.and_then(|container| container.inspected.as_ref());
    let mut own: BTreeSet<Place> = inspected
        .into_iter()
        .flat_map(|inspected| inspected.layers.clone())
        .chain(errors.iter().flat_map(|error| places(error)))
        // A text may name another container beside its own.
        .filter(|place| matches!(place, Place::Layer(_)) && !others.contains(place))
        .collect();
    own.insert(Place::Container(
        container.map_or_else(|| id.clone(), |it| it.id.clone()),
    ));
    Trouble {
        says_busy: errors.iter().any(|error| error.contains(BUSY)),
        id,
        container,
        lines,
        places: own.into_iter().collect(),
    }
}

fn is_dead(evidence: &Evidence, container: &Container) -> bool {
    let stored = || {
        let stored = container
            .disk
            .as_ref()
            .filter(|_| container.inspected.is_none());
        stored.is_some_and(|stored| stored.is_dead(evidence.now))
    };
    container.is_dead() || stored()
}

fn errors_of(container: &Container) -> impl Iterator<Item = &str> {
    let inspected = container.inspected.as_ref().map(|it| it.error.as_str());
    let stored = container.disk.as_ref().map(|it| it.state.error.as_str());
    inspected.into_iter().chain(stored)
}

/// Returns the layers of the other containers that are not dead: whoever holds those does what it should.
fn of_others(runtime: Option<&Runtime>, id: &ContainerId) -> BTreeSet<Place> {
    let containers = runtime.iter().flat_map(|runtime| &runtime.containers);
    containers
        .filter(|container| !container.is_dead() && !container.id.matches(id))
        .filter_map(|container| container.inspected.as_ref())
        .flat_map(|inspected| inspected.layers.clone())
        .collect()
}

/// Returns the kubelet's lines of removals that failed because something is mounted, if it still tries.
fn busy_lines(evidence: &Evidence) -> Vec<&Group> {
    let lines = Lines::failed(evidence, CALLS, ErrorClass::Busy);
    let says = |group: &&Group| {
        let error = group.last.error.as_ref();
        error.is_some_and(|error| error.text.contains(BUSY))
            && Lines(vec![*group]).are_recent(evidence, RETRIES)
    };
    lines.0.into_iter().filter(says).collect()
}
