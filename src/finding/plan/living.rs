//! Which pods live, and which sandboxes are stood in: what spares stopped containers and sandboxes.
//!
//! A pod lives while one of its sandboxes does, and a sandbox lives unless its inspect says that it is exited or
//! dead. One that does not answer lives.

use super::Target;
use crate::io::probe::Outcome;
use crate::runtime::{Container, ContainerKind, State};
use crate::syntax::id::{ContainerId, PodName, PodUid};
use std::collections::HashSet;

/// Pods by UID and by name. A UID tells a pod from a later one of the same name; where one side lacks it, the name has
/// to do.
#[derive(Debug, Default)]
struct PodSet<'a> {
    uids: HashSet<&'a PodUid>,
    names: HashSet<&'a PodName>,
    names_without_uid: HashSet<&'a PodName>,
}

impl<'a> PodSet<'a> {
    fn add(&mut self, container: &'a Container) {
        self.uids.extend(&container.uid);
        self.names.extend(&container.pod);
        if container.uid.is_none() {
            self.names_without_uid.extend(&container.pod);
        }
    }

    /// `None` if the pod of `target` is unknown.
    fn contains(&self, target: &Target) -> Option<bool> {
        match (&target.uid, &target.pod) {
            (Some(uid), None) => Some(self.uids.contains(uid)),
            (Some(uid), Some(name)) => {
                Some(self.uids.contains(uid) || self.names_without_uid.contains(name))
            }
            (None, Some(name)) => Some(self.names.contains(name)),
            (None, None) => None,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Pods<'a> {
    sandboxes: HashSet<&'a ContainerId>,
    pods: PodSet<'a>,
}

impl<'a> Pods<'a> {
    pub(super) fn new(containers: &'a [Container]) -> Self {
        let mut living = Self::default();
        for it in containers {
            if it.kind == ContainerKind::Sandbox && lives(it) {
                living.sandboxes.insert(&it.id);
                living.pods.add(it);
            }
        }
        living
    }

    /// Whether the pod of `target` lives. An unknown pod is taken for living.
    pub(super) fn is_living(&self, target: &Target) -> bool {
        let by_sandbox = target
            .sandbox
            .as_ref()
            .map(|id| self.sandboxes.contains(id));
        match (by_sandbox, self.pods.contains(target)) {
            (None, None) => true,
            (by_sandbox, by_pod) => by_sandbox == Some(true) || by_pod == Some(true),
        }
    }
}

/// Sandboxes that containers use: those share its network, its shared memory and its files.
#[derive(Debug, Default)]
pub(super) struct Inhabited<'a> {
    sandboxes: HashSet<&'a ContainerId>,
    /// The pods of containers that name no sandbox.
    pods: PodSet<'a>,
}

impl<'a> Inhabited<'a> {
    pub(super) fn by(containers: impl Iterator<Item = &'a Container>) -> Self {
        let mut inhabited = Self::default();
        for it in containers.filter(|it| it.kind == ContainerKind::Container) {
            match &it.sandbox {
                Some(sandbox) => {
                    inhabited.sandboxes.insert(sandbox);
                }
                None => inhabited.pods.add(it),
            }
        }
        inhabited
    }

    /// Whether `target` is a sandbox that one of them uses, or may use for all that is known.
    pub(super) fn is_by_something(&self, target: &Target) -> bool {
        target.role == ContainerKind::Sandbox
            && (self.sandboxes.contains(&target.id) || self.pods.contains(target) == Some(true))
    }
}

fn lives(sandbox: &Container) -> bool {
    match &sandbox.inspected {
        Some(inspected) => {
            inspected.running || !matches!(inspected.state, State::Exited | State::Dead)
        }
        None => sandbox.probe.outcome != Outcome::Gone,
    }
}
