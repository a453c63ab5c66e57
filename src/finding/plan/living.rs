//! Which pods live, and which sandboxes are stood in: what spares stopped containers and sandboxes.
//!
//! A pod lives while one of its sandboxes does, and a sandbox lives unless its inspect says that it is exited or
//! dead. One that does not answer lives.

use super::Target;
use crate::{
    io::probe::Outcome,
    runtime::{Container, ContainerKind},
    syntax::id::{ContainerId, PodName, PodUid},
};
use std::collections::HashSet;

#[derive(Debug, Default)]
pub(super) struct Pods<'a> {
    sandboxes: HashSet<&'a ContainerId>,
    /// UIDs of living pods.
    uids: HashSet<&'a PodUid>,
    names: HashSet<&'a PodName>,
    /// Names of living pods whose sandbox tells no UID.
    names_without_uid: HashSet<&'a PodName>,
}

impl<'a> Pods<'a> {
    /// Notes which pods of `containers` live.
    pub(super) fn new(containers: &'a [Container]) -> Self {
        let mut pods = Self::default();
        for container in containers {
            if container.kind == ContainerKind::Sandbox && lives(container) {
                pods.add(container);
            }
        }
        pods
    }

    fn add(&mut self, sandbox: &'a Container) {
        self.sandboxes.insert(&sandbox.id);
        self.uids.extend(&sandbox.uid);
        self.names.extend(&sandbox.pod);
        if sandbox.uid.is_none() {
            self.names_without_uid.extend(&sandbox.pod);
        }
    }

    /// Whether the pod of `target` lives. A pod that can't be told is taken for living.
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
}

/// Sandboxes that containers stand in: those share its network, its shared memory and its files.
#[derive(Debug, Default)]
pub(super) struct Inhabited<'a> {
    sandboxes: HashSet<&'a ContainerId>,
    /// UIDs of pods with a container that names no sandbox.
    uids: HashSet<&'a PodUid>,
    /// Names of pods with a container that names no sandbox.
    names: HashSet<&'a PodName>,
    /// Those of them whose container tells no UID.
    names_without_uid: HashSet<&'a PodName>,
}

impl<'a> Inhabited<'a> {
    /// Notes where `containers` stand.
    pub(super) fn by(containers: impl Iterator<Item = &'a Container>) -> Self {
        let mut inhabited = Self::default();
        for it in containers.filter(|it| it.kind == ContainerKind::Container) {
            match (&it.sandbox, &it.uid) {
                (Some(sandbox), _) => {
                    inhabited.sandboxes.insert(sandbox);
                }
                (None, Some(uid)) => {
                    inhabited.uids.insert(uid);
                    inhabited.names.extend(&it.pod);
                }
                (None, None) => inhabited.names_without_uid.extend(&it.pod),
            }
        }
        inhabited
    }

    /// Whether `target` is a sandbox that one of them stands in, or may for all that it tells.
    pub(super) fn is_by_something(&self, target: &Target) -> bool {
        let name =
            |names: &HashSet<&PodName>| target.pod.as_ref().is_some_and(|pod| names.contains(pod));
        target.role == ContainerKind::Sandbox
            && (self.sandboxes.contains(&target.id)
                || name(&self.names_without_uid)
                || match &target.uid {
                    Some(uid) => self.uids.contains(uid),
                    None => name(&self.names),
                })
    }
}

fn lives(sandbox: &Container) -> bool {
    match &sandbox.inspected {
        Some(inspected) => {
            inspected.running || !matches!(inspected.state.as_str(), "exited" | "dead")
        }
        None => sandbox.probe.outcome != Outcome::Gone,
    }
}
