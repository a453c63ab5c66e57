//! Namespaces written as the kernel would show them.

use crate::{
    io::{files::Tree, gap::Gap},
    node::{Host, Namespace},
};
use std::{fs, path::Path, time::Duration};

const LAYER: &str = "370f804b80acea072af5c97284b1ca90ad243e80d05a7607b12d5dd1d92f2d34";
const ID: &str = "1fcd1df51209e8abaec1722303603dd7d9ecd65ebd6b77b0b037c0b82f51fecb";

/// Writes a process that lives in a mount namespace, with its name's number, and its cgroup.
fn put(root: &Path, pid: u32, comm: &str, namespace: u32, cgroup: &str) {
    let own = root.join(format!("proc/{pid}"));
    fs::create_dir_all(own.join("ns")).unwrap();
    let write = |name: &str, text: String| fs::write(own.join(name), text).unwrap();
    write(
        "stat",
        format!("{pid} ({comm}) S 1 1 1 0 -1 4194560 1 1 0 0 1 1 0 0 20 0 1 0 {pid}00 1 1 1\n"),
    );
    write("cmdline", format!("/usr/bin/{comm}\0--x\0"));
    write("cgroup", format!("0::{cgroup}\n"));
    write("ns/mnt", format!("mnt:[{namespace}]\n"));
}

/// Writes the mounts that a process sees.
fn mounts(root: &Path, pid: u32, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(root.join(format!("proc/{pid}/mountinfo")), text).unwrap();
}

fn root_mount(number: u32) -> String {
    format!("{number} 1 254:0 / / rw - ext4 /dev/vda rw")
}

fn layer(number: u32, below: &str) -> String {
    format!(
        "{number} 1 0:39 / {below}/var/lib/docker/overlay2/{LAYER}/merged rw - overlay overlay rw"
    )
}

fn nfs(number: u32, point: &str) -> String {
    format!("{number} 1 0:52 / {point} rw - nfs4 10.0.0.5:/x rw")
}

fn look(root: &Path) -> (Host, Vec<Gap>) {
    let (host, gaps, _) = crate::node::observe::scan(&Tree::at(root), Duration::from_secs(9));
    (host, gaps)
}

fn named<'a>(host: &'a Host, id: &str) -> &'a Namespace {
    let mut all = host.namespaces.iter();
    let found = all.find(|namespace| namespace.id == id);
    found.unwrap_or_else(|| panic!("no {id} in {:#?}", host.namespaces))
}

#[test]
fn each_namespace_that_holds_a_layer_is_told_with_those_who_live_in_it() {
    let here = tempfile::tempdir().unwrap();
    let at = here.path();
    put(at, 1, "systemd", 1000, "/init.scope");
    put(at, 5, "dockerd", 1000, "/system.slice/docker.service");
    put(
        at,
        7,
        "node_exporter",
        2000,
        "/system.slice/node_exporter.service",
    );
    put(
        at,
        8,
        "node_exporter",
        2000,
        "/system.slice/node_exporter.service",
    );
    put(
        at,
        9,
        "cadvisor",
        3000,
        &format!("/kubepods/burstable/pod00000000-0000-4000-8000-000000000007/{ID}"),
    );
    put(at, 10, "chronyd", 4000, "/system.slice/chronyd.service");
    mounts(at, 1, &[root_mount(20), layer(21, "")]);
    mounts(at, 5, &[root_mount(20), layer(21, "")]);
    mounts(at, 7, &[root_mount(30), layer(31, "")]);
    // 8 is not read: its namespace is known by 7.
    mounts(at, 9, &[root_mount(40), layer(41, "/rootfs")]);
    mounts(at, 10, &[root_mount(50)]);

    let (host, gaps) = look(at);
    assert_eq!(gaps, []);
    assert_eq!(host.namespaces.len(), 3, "{:#?}", host.namespaces);
    let own = named(&host, "mnt:[1000]");
    assert!(own.own);
    let exporter = named(&host, "mnt:[2000]");
    assert!(!exporter.own);
    assert_eq!(exporter.processes, 2);
    assert_eq!(
        exporter.held[0].point,
        format!("/var/lib/docker/overlay2/{LAYER}/merged")
    );
    let keeper = &exporter.keepers[0];
    assert_eq!(
        (keeper.pid, keeper.comm.as_str(), keeper.start_ticks),
        (7, "node_exporter", 700)
    );
    assert_eq!(keeper.unit.as_deref(), Some("node_exporter.service"));
    let cadvisor = &named(&host, "mnt:[3000]");
    assert_eq!(cadvisor.keepers[0].container.as_ref().unwrap().as_str(), ID);
    assert!(cadvisor.held[0].point.starts_with("/rootfs/"));
}

#[test]
fn a_namespace_whose_name_may_not_be_read_is_known_by_its_first_mount() {
    let here = tempfile::tempdir().unwrap();
    let at = here.path();
    for (pid, comm) in [(1, "systemd"), (5, "dockerd"), (6, "sh")] {
        put(at, pid, comm, 1000, "/");
        mounts(at, pid, &[root_mount(20), layer(21, "")]);
    }
    fs::remove_file(at.join("proc/5/ns/mnt")).unwrap();
    let (host, _) = look(at);
    assert!(named(&host, "mnt:[1000]").own);

    // Without a daemon in sight, the machine's first process stands for it.
    fs::remove_dir_all(at.join("proc/5")).unwrap();
    let (host, _) = look(at);
    assert!(named(&host, "mnt:[1000]").own);
}

#[test]
fn remote_mounts_that_only_a_daemon_sees_are_told_with_it() {
    let here = tempfile::tempdir().unwrap();
    let at = here.path();
    put(at, 1, "systemd", 1000, "/");
    put(at, 5, "dockerd", 2000, "/");
    put(at, 6, "kubelet", 3000, "/");
    mounts(at, 1, &[root_mount(20), nfs(21, "/home")]);
    mounts(at, 5, &[root_mount(30), nfs(31, "/home"), nfs(32, "/data")]);
    mounts(at, 6, &[root_mount(40), nfs(41, "/kubelet")]);
    let (host, gaps) = look(at);
    assert_eq!(gaps, []);
    let seen: Vec<_> = host
        .remote
        .iter()
        .map(|mount| (mount.point.as_str(), mount.within))
        .collect();
    assert_eq!(
        seen,
        [("/home", None), ("/data", Some(5)), ("/kubelet", Some(6))]
    );
}

#[test]
fn a_large_mountinfo_is_read_whole_and_one_beyond_the_bound_is_a_gap() {
    let here = tempfile::tempdir().unwrap();
    let at = here.path();
    put(at, 1, "systemd", 1000, "/");
    let filler = |bytes: usize| {
        let line = format!("22 1 0:39 / /x rw - tmpfs {} rw", "y".repeat(1000));
        vec![line; bytes / 1000]
    };
    let mut lines = filler(2 << 20);
    lines.push(nfs(99, "/last"));
    mounts(at, 1, &lines);
    let (host, gaps) = look(at);
    assert_eq!((host.remote.len(), gaps), (1, vec![]));

    let mut lines = filler(17 << 20);
    lines.push(nfs(99, "/last"));
    mounts(at, 1, &lines);
    let (host, gaps) = look(at);
    assert_eq!(host.remote.len(), 0);
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert!(gaps[0].why.contains("larger than 16 MiB"), "{gaps:?}");
}
