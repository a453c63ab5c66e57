//! Which pods live: what spares their stopped containers.
//!
//! A pod lives while one of its sandboxes does, and a sandbox lives unless its inspect says that it is exited or
//! dead. One that does not answer lives.

use super::Target;
use crate::{
    id::{ContainerId, PodName, PodUid},
    runtime::{Container, ContainerKind, Outcome},
};
use std::collections::HashSet;

/// What is known of the node's pods.
#[derive(Debug, Default)]
pub(super) struct Pods<'a> {
    /// The living sandboxes.
    sandboxes: HashSet<&'a ContainerId>,
    /// UIDs of living pods.
    uids: HashSet<&'a PodUid>,
    /// Names of living pods.
    names: HashSet<&'a PodName>,
    /// Names of living pods whose sandbox tells no UID.
    names_without_uid: HashSet<&'a PodName>,
    /// Sandboxes that a running container, or one that can't be seen, stands in.
    in_use: HashSet<&'a ContainerId>,
}

impl<'a> Pods<'a> {
    /// Notes which pods of `containers` live.
    pub(super) fn new(containers: &'a [Container]) -> Self {
        let mut pods = Self::default();
        for container in containers {
            match container.kind {
                ContainerKind::Sandbox if lives(container) => pods.add(container),
                ContainerKind::Container if may_run(container) => {
                    pods.in_use.extend(&container.sandbox);
                }
                _ => {}
            }
        }
        pods
    }

    /// Adds a living sandbox.
    fn add(&mut self, sandbox: &'a Container) {
        self.sandboxes.insert(&sandbox.id);
        self.uids.extend(&sandbox.uid);
        self.names.extend(&sandbox.pod);
        if sandbox.uid.is_none() {
            self.names_without_uid.extend(&sandbox.pod);
        }
    }

    /// Returns whether the pod of `target` lives. A pod that can't be told is taken for living.
    pub(super) fn is_living(&self, target: &Target) -> bool {
        let by_sandbox = target
            .sandbox
            .as_ref()
            .map(|id| self.sandboxes.contains(id));
        // A UID tells a pod from a later one of the same name; where one side lacks it, the name has to do.
        let by_pod = match (&target.uid, &target.pod) {
            (Some(uid), None) => Some(self.uids.contains(uid)),
            (Some(uid), Some(name)) => {
                Some(self.uids.contains(uid) || self.names_without_uid.contains(name))
            }
            (None, Some(name)) => Some(self.names.contains(name)),
            (None, None) => None,
        };
        match (by_sandbox, by_pod) {
            (None, None) => true,
            _ => by_sandbox == Some(true) || by_pod == Some(true),
        }
    }

    /// Returns whether `target` is a sandbox that something still stands in: its containers share its network, its
    /// shared memory and its files.
    pub(super) fn is_in_use(&self, target: &Target) -> bool {
        target.role == ContainerKind::Sandbox && self.in_use.contains(&target.id)
    }
}

/// Returns whether a sandbox lives.
fn lives(sandbox: &Container) -> bool {
    match &sandbox.inspected {
        Some(inspected) => {
            inspected.running || !matches!(inspected.state.as_str(), "exited" | "dead")
        }
        None => sandbox.probe.outcome != Outcome::Gone,
    }
}

/// Returns whether a container runs, or may for all that is known.
fn may_run(container: &Container) -> bool {
    match &container.inspected {
        Some(inspected) => {
            inspected.running
                || !matches!(
                    inspected.state.as_str(),
                    "exited" | "dead" | "created" | "removing"
                )
        }
        None => container.probe.outcome != Outcome::Gone,
    }
}
