//! Mount namespaces that hold mounts of layers or containers, for scripts.

use crate::{
    node::{
        Host, Namespace,
        mount_holder::{HeldMount, MountHolder, Place},
    },
    syntax::id::{ContainerId, PodUid},
};
use serde::Serialize;

/// Most mounts that are printed of a namespace; their number is told anyway.
const MOST: usize = 100;

#[derive(Serialize)]
pub(super) struct NamespaceV1<'a> {
    id: &'a str,
    own: bool,
    processes: usize,
    keepers: Vec<KeeperV1<'a>>,
    held: usize,
    left: usize,
    mounts_left: Vec<HeldV1<'a>>,
}

#[derive(Serialize)]
struct KeeperV1<'a> {
    pid: u32,
    name: &'a str,
    start_ticks: u64,
    unit: Option<&'a str>,
    container: Option<&'a str>,
    uid: Option<&'a str>,
}

#[derive(Serialize)]
struct HeldV1<'a> {
    point: &'a str,
    layer: Option<&'a str>,
    container: Option<&'a str>,
}

pub(super) fn of<'a>(host: &'a Host, namespace: &'a Namespace) -> NamespaceV1<'a> {
    NamespaceV1 {
        id: &namespace.id,
        own: namespace.own,
        processes: namespace.processes,
        keepers: namespace.keepers.iter().map(KeeperV1::from).collect(),
        held: namespace.held.len(),
        left: host.left(namespace).count(),
        mounts_left: host.left(namespace).take(MOST).map(HeldV1::from).collect(),
    }
}

impl<'a> From<&'a MountHolder> for KeeperV1<'a> {
    fn from(keeper: &'a MountHolder) -> Self {
        Self {
            pid: keeper.pid,
            name: &keeper.comm,
            start_ticks: keeper.start_ticks,
            unit: keeper.unit.as_deref(),
            container: keeper.container.as_ref().map(ContainerId::as_str),
            uid: keeper.uid.as_ref().map(PodUid::as_str),
        }
    }
}

impl<'a> From<&'a HeldMount> for HeldV1<'a> {
    fn from(held: &'a HeldMount) -> Self {
        let (layer, container) = match &held.place {
            Place::Layer(name) => (Some(name.as_str()), None),
            Place::Container(id) => (None, Some(id.as_str())),
        };
        Self {
            point: &held.point,
            layer,
            container,
        }
    }
}
