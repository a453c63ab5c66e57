//! Who holds a container's mounts: the mount namespaces that have mounts below a layer's or a container's directory,
//! and the processes that live in them.
//!
//! Only names are compared, no file system is touched. What keeps a directory busy in another way, an open file or a
//! working directory, is not looked for: the runtime detaches lazily, and those do not hinder it.

use super::{Host, mount};
use crate::syntax::id::{ContainerId, PodUid};
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A layer's, by its name in the storage driver's folder; of containerd's snapshots `snapshots/42`.
    Layer(String),
    Container(ContainerId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldMount {
    pub mount: u64,
    pub point: String,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountHolder {
    pub pid: u32,
    /// Its name, of 15 bytes at most.
    pub comm: String,
    /// When it was started, in the kernel's ticks since boot.
    pub start_ticks: u64,
    pub unit: Option<String>,
    pub container: Option<ContainerId>,
    pub uid: Option<PodUid>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The kernel's name for it: `mnt:[4026532250]`.
    pub id: String,
    /// Whether it is the runtime's own: one of the machine's daemons lives in it.
    pub own: bool,
    pub processes: usize,
    pub keepers: Vec<MountHolder>,
    pub held: Vec<HeldMount>,
}

/// Folders that layers have each a directory in, by storage driver (moby daemon/graphdriver; containers/storage;
/// containerd snapshots/). `*` stands for any name.
const LAYERS: &[&[&str]] = &[
    &["overlay2"],
    &["overlay"],
    &["aufs", "mnt"],
    &["devicemapper", "mnt"],
    &["btrfs", "subvolumes"],
    &["zfs", "graph"],
];
/// containerd's, where a layer has a number (`io.containerd.snapshotter.v1.overlayfs/snapshots/42/fs`).
const SNAPSHOTS: &str = "snapshots";
/// Folders that containers have each a directory in: Docker's, containerd's for tasks and for sandboxes, CRI-O's.
const CONTAINERS: &[&[&str]] = &[
    &["containers"],
    &["io.containerd.runtime.v2.task", "*"],
    &["io.containerd.runtime.v1.linux", "*"],
    &["io.containerd.grpc.v1.cri", "sandboxes"],
    &["overlay-containers"],
];
/// A layer's name has at least so many letters: 64, or 25 of an older Docker's.
const NAME: usize = 25;

/// Whose directory a path is, or lies in; `None` for all others.
pub fn place(path: &str) -> Option<Place> {
    let parts: Vec<&str> = path.split('/').collect();
    (1..parts.len()).find_map(|at| {
        let (before, name) = (&parts[..at], parts[at]);
        let within = |folders: &[&[&str]]| folders.iter().any(|folder| ends(before, folder));
        if within(LAYERS) && is_layer(name) {
            return Some(Place::Layer(name.to_owned()));
        }
        if ends(before, &[SNAPSHOTS]) && before.iter().any(|part| part.contains("snapshotter")) {
            let number = name.parse::<u64>().ok()?;
            return Some(Place::Layer(format!("{SNAPSHOTS}/{number}")));
        }
        let id = ContainerId::parse(name).filter(ContainerId::is_whole)?;
        within(CONTAINERS).then_some(Place::Container(id))
    })
}

fn ends(parts: &[&str], folder: &[&str]) -> bool {
    parts.len() >= folder.len()
        && parts[parts.len() - folder.len()..]
            .iter()
            .zip(folder)
            .all(|(part, wanted)| *wanted == "*" || part == wanted)
}

fn is_layer(name: &str) -> bool {
    let bare = name.strip_suffix("-init").unwrap_or(name);
    bare.len() >= NAME && bare.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

pub fn places(text: &str) -> Vec<Place> {
    let words = text.split(|c: char| c.is_whitespace() || "\"'():,".contains(c));
    let mut found: Vec<_> = words.filter_map(place).collect();
    found.sort();
    found.dedup();
    found
}

pub fn held(mountinfo: &str) -> Vec<HeldMount> {
    let spots = mount::mount_points(mountinfo).into_iter();
    spots
        .filter_map(|mount::MountPoint { id, point, .. }| {
            let place = place(&point)?;
            Some(HeldMount {
                mount: id,
                point,
                place,
            })
        })
        .collect()
}

/// The number of the first mount in a `mountinfo`. No two mounts have one number at a time, whatever namespace they are
/// in, so that it tells namespaces apart where their names may not be read.
pub fn first_mount(mountinfo: &str) -> Option<u64> {
    mountinfo.split(' ').next()?.parse().ok()
}

/// The systemd unit that a `cgroup` names: the innermost service, else the innermost scope.
pub fn unit(cgroup: &str) -> Option<String> {
    let parts = || cgroup.lines().flat_map(|line| line.split('/'));
    let last = |kind: &str| {
        parts()
            .rfind(|part| part.ends_with(kind))
            .map(str::to_owned)
    };
    last(".service").or_else(|| last(".scope"))
}

impl Namespace {
    pub fn number(&self) -> Option<u64> {
        let (_, number) = self.id.split_once('[')?;
        number.strip_suffix(']')?.parse().ok()
    }

    pub fn of<'a>(&'a self, places: &'a [Place]) -> impl Iterator<Item = &'a HeldMount> {
        self.held.iter().filter(|held| places.contains(&held.place))
    }

    pub fn is_of(&self, id: &ContainerId) -> bool {
        let of =
            |keeper: &MountHolder| keeper.container.as_ref().is_some_and(|own| own.matches(id));
        self.keepers.iter().any(of)
    }
}

impl Host {
    /// What a namespace holds and the runtime's own do not: what the runtime has unmounted, and they have not.
    pub fn left<'a>(&'a self, namespace: &'a Namespace) -> impl Iterator<Item = &'a HeldMount> {
        let own = self.namespaces.iter().filter(|namespace| namespace.own);
        let own: BTreeSet<&Place> = own
            .flat_map(|namespace| &namespace.held)
            .map(|held| &held.place)
            .collect();
        namespace
            .held
            .iter()
            .filter(move |held| !namespace.own && !own.contains(&held.place))
    }

    /// The namespaces that hold mounts of these places of a container: neither the runtime's own nor the container's.
    pub fn holders<'a>(
        &'a self,
        id: &'a ContainerId,
        places: &'a [Place],
    ) -> impl Iterator<Item = &'a Namespace> {
        self.namespaces.iter().filter(move |namespace| {
            !namespace.own && !namespace.is_of(id) && namespace.of(places).next().is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";
    const LAYER: &str = "370f804b80acea072af5c97284b1ca90ad243e80d05a7607b12d5dd1d92f2d34";

    fn container() -> Option<Place> {
        Some(Place::Container(ContainerId::parse(ID).unwrap()))
    }

    fn layer(name: &str) -> Option<Place> {
        Some(Place::Layer(name.to_owned()))
    }

    #[test]
    fn paths_of_each_storage_driver_and_runtime_are_told() {
        for (path, expected) in [
            (
                format!("/var/lib/docker/overlay2/{LAYER}/merged"),
                layer(LAYER),
            ),
            (
                format!("/var/lib/docker/overlay/{LAYER}/merged"),
                layer(LAYER),
            ),
            (
                format!("/rootfs/var/lib/docker/overlay2/{LAYER}-init/merged"),
                layer(&format!("{LAYER}-init")),
            ),
            (
                "/data/overlay2/es6zfzamgkntohkqzeb5h7753/merged".to_owned(),
                layer("es6zfzamgkntohkqzeb5h7753"),
            ),
            (format!("/var/lib/docker/aufs/mnt/{LAYER}"), layer(LAYER)),
            (
                format!("/var/lib/docker/devicemapper/mnt/{LAYER}/rootfs"),
                layer(LAYER),
            ),
            (
                format!("/var/lib/docker/btrfs/subvolumes/{LAYER}"),
                layer(LAYER),
            ),
            (format!("/var/lib/docker/zfs/graph/{LAYER}"), layer(LAYER)),
            (
                "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/42/fs"
                    .to_owned(),
                layer("snapshots/42"),
            ),
            (
                format!("/var/lib/docker/containers/{ID}/mounts/shm"),
                container(),
            ),
            (format!("/var/lib/docker/containers/{ID}/shm"), container()),
            (
                format!("/run/containerd/io.containerd.runtime.v2.task/moby/{ID}/rootfs"),
                container(),
            ),
            (
                format!("/run/containerd/io.containerd.grpc.v1.cri/sandboxes/{ID}/shm"),
                container(),
            ),
            (
                format!("/run/containers/storage/overlay-containers/{ID}/userdata/shm"),
                container(),
            ),
        ] {
            assert_eq!(place(&path), expected, "{path}");
        }
    }

    #[test]
    fn paths_that_belong_to_no_layer_or_container_are_none() {
        for path in [
            "",
            "/",
            "/var/lib/docker",
            "/var/lib/docker/overlay2",
            "/var/lib/docker/overlay2/l",
            "/var/lib/docker/containers",
            "/var/lib/docker/containers/short",
            "/var/lib/kubelet/pods/9b0e4a32-7fe5-45b4-b69e-1c76355b4249/containers/app/0a1b",
            "/home/snapshots/42",
            "/srv/mnt/370f804b80acea072af5c97284b1ca90ad243e80d05a7607b12d5dd1d92f2d34",
            "overlay2",
            "/run/docker/netns/028a8483da15",
        ] {
            assert_eq!(place(path), None, "{path}");
        }
    }

    #[test]
    fn a_daemons_error_names_its_layer_and_its_container() {
        let text = format!(
            "container {ID}: driver \"overlay2\" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/{LAYER}/merged: device or resource busy"
        );
        assert_eq!(places(&text), [layer(LAYER).unwrap()]);
        let text = format!(
            "{{\"message\":\"Unable to remove filesystem for {ID}: remove /var/lib/docker/containers/{ID}/shm: device or resource busy\"}}"
        );
        assert_eq!(places(&text), [container().unwrap()]);
        assert_eq!(places("no space left on device"), []);
    }

    #[test]
    fn a_mountinfo_tells_what_its_namespace_holds() {
        let text = format!(
            "58 27 254:0 / / rw - ext4 /dev/vda rw\n\
             100 58 254:0 /d /d\\040a rw - ext4 /dev/vda rw\n\
             101 100 0:39 / /d\\040a/overlay2/{LAYER}/merged rw - overlay overlay rw,lowerdir=/d/overlay2/l/A\n\
             garbage\n"
        );
        let found = held(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].mount, 101);
        assert_eq!(found[0].point, format!("/d a/overlay2/{LAYER}/merged"));
        assert_eq!(first_mount(&text), Some(58));
        assert_eq!(first_mount(""), None);
    }

    #[test]
    fn a_unit_is_the_innermost_service() {
        for (cgroup, expected) in [
            (
                "0::/system.slice/node_exporter.service\n",
                Some("node_exporter.service"),
            ),
            (
                "9:name=systemd:/system.slice/a.service/b.scope\n8:pids:/x\n",
                Some("a.service"),
            ),
            (
                "0::/user.slice/user-0.slice/session-3.scope\n",
                Some("session-3.scope"),
            ),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(unit(cgroup).as_deref(), expected, "{cgroup}");
        }
    }
}
