//! A mount that another mount namespace keeps is detached there, and there alone.

use super::{Place, has, outcomes};
use crate::{
    broken::line,
    support::{
        daemon::Daemon,
        process::{mounts_below, wait_until},
        program::{plegdoctor, run},
    },
};
use plegdoctor::node::mount::{self, MountPoint};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Returns the mounts that process `pid` sees at `path`, the upper ones last.
fn seen(pid: u32, path: &Path) -> Vec<MountPoint> {
    let text = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
    let point = path.to_str().unwrap();
    let mut spots = mount::mount_points(&text);
    spots.retain(|spot| spot.point == point);
    spots.sort_by_key(|spot| spot.id);
    spots
}

/// Whether it sees one.
fn sees(pid: u32, path: &Path) -> bool {
    !seen(pid, path).is_empty()
}

/// Starts a process in a mount namespace of its own, once `before` is done there.
fn apart(before: &str) -> Child {
    let script = format!("{before} exec sleep 99");
    let holder = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let sleeps = || {
        let comm = fs::read_to_string(format!("/proc/{}/comm", holder.id()));
        comm.is_ok_and(|comm| comm == "sleep\n")
    };
    assert!(wait_until(Duration::from_secs(10), sleeps));
    holder
}

/// Returns the number of its mount namespace.
fn namespace(pid: u32) -> u64 {
    let link = fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap();
    let number = &link.to_str().unwrap()["mnt:[".len()..];
    number.trim_end_matches(']').parse().unwrap()
}

fn end(mut holder: Child) {
    holder.kill().unwrap();
    holder.wait().unwrap();
}

#[test]
fn a_mount_is_detached_in_the_namespace_that_was_named_and_no_other() {
    let here = tempfile::tempdir().unwrap();
    // mountinfo(5) writes the blank as \040.
    let path = here.path().join("merged dir");
    fs::create_dir(&path).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(&path)
        .status();
    assert!(mounted.unwrap().success());
    let holder = apart("");
    let (pid, own) = (holder.id(), std::process::id());
    let number = namespace(pid);
    let (theirs, ours) = (seen(pid, &path), seen(own, &path));
    let detach = |namespace: u64, mount: u64| {
        let numbers = [pid.into(), namespace, mount].map(|number: u64| number.to_string());
        let [pid, namespace, mount] = &numbers;
        run(&[
            "detach-mount",
            pid,
            namespace,
            mount,
            path.to_str().unwrap(),
        ])
    };

    let elsewhere = detach(number + 1, theirs[0].id);
    let of_ours = detach(number, ours[0].id);
    let both = (sees(pid, &path), sees(own, &path));
    let told = detach(number, theirs[0].id);
    let left = (sees(pid, &path), sees(own, &path));
    let again = detach(number, theirs[0].id);
    end(holder);
    let unmounted = Command::new("umount").arg(&path).status().unwrap();
    assert!(unmounted.success());
    assert!(mounts_below(here.path()).is_empty());
    assert_eq!((theirs.len(), ours.len()), (1, 1));
    elsewhere.refused(&["another mount namespace"]);
    of_ours.refused(&["nothing was detached", "not mounted there"]);
    assert_eq!(both, (true, true));
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(left, (false, true));
    again.refused(&["nothing was detached", "not mounted there"]);
}

#[test]
fn of_two_mounts_at_one_place_the_lower_one_is_not_mistaken_for_the_upper() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("merged");
    fs::create_dir(&path).unwrap();
    let mount = format!("mount -t tmpfs none {};", path.display());
    let holder = apart(&mount.repeat(2));
    let pid = holder.id();
    let number = namespace(pid).to_string();
    let detach = |mount: u64| {
        let (pid, mount) = (pid.to_string(), mount.to_string());
        run(&[
            "detach-mount",
            &pid,
            &number,
            &mount,
            path.to_str().unwrap(),
        ])
    };
    let stacked = seen(pid, &path);
    let lower = detach(stacked[0].id);
    let unchanged = seen(pid, &path);
    let upper = detach(stacked[1].id);
    let left = seen(pid, &path);
    end(holder);
    assert_eq!(stacked.len(), 2);
    lower.refused(&["nothing was detached", "another mount ("]);
    assert_eq!(unchanged, stacked);
    assert_eq!(upper.code, 0, "{upper:?}");
    assert_eq!(left, stacked[..1]);
}

#[test]
fn a_path_that_leads_elsewhere_from_the_namespaces_own_root_is_left_alone() {
    let here = tempfile::tempdir().unwrap();
    let (jail, path) = (here.path().join("jail"), here.path().join("merged"));
    for folder in [&path, &jail.join(path.strip_prefix("/").unwrap())] {
        fs::create_dir_all(folder).unwrap();
    }
    // One at the path itself, and one that a process below the jail's root sees at the same path.
    let holder = apart(&format!(
        "mount -t tmpfs none {0}; mount -t tmpfs none {1}{0};",
        path.display(),
        jail.display()
    ));
    let pid = holder.id();
    let inner = jail.join(path.strip_prefix("/").unwrap());
    let (outer, jailed) = (seen(pid, &path), seen(pid, &inner));
    let numbers = [pid.into(), namespace(pid), jailed[0].id].map(|number: u64| number.to_string());
    let [pid_word, number, mount] = &numbers;
    let told = run(&[
        "detach-mount",
        pid_word,
        number,
        mount,
        path.to_str().unwrap(),
    ]);
    let left = (seen(pid, &path), seen(pid, &inner));
    end(holder);
    told.refused(&["nothing was detached"]);
    assert_eq!(left, (outer, jailed));
}

/// The obstacle is played: this kernel lets a removal go on that others refuse. An immutable file stands for it, which
/// goes once the mount is gone, and the kubelet's log says what Docker would.
#[test]
fn a_leaked_mount_is_detached_and_the_removal_that_failed_for_it_is_tried_again() {
    let daemon = Daemon::start();
    let etcd = daemon.running("etcd");
    let dead = daemon.dead("stuck", &json!({}));
    let shm = daemon
        .root()
        .join(format!("data/containers/{dead}/mounts/shm"));
    fs::create_dir_all(&shm).unwrap();
    let holder = apart(&format!("mount -t tmpfs none {};", shm.display()));
    let pid = holder.id();
    assert!(sees(pid, &shm));
    let words = format!(
        "remote_runtime.go:269] RemoveContainer \"{dead}\" from runtime service failed: rpc error: code = Unknown desc = failed to remove container \"{dead}\": Error response from daemon: Unable to remove filesystem for {dead}: remove {}: device or resource busy",
        shm.display()
    );
    let log = daemon.root().join("kubelet.log");
    fs::write(&log, line(&daemon, 2, 'E', &words)).unwrap();

    let place = Place::new();
    let endpoint = daemon.endpoint();
    let mut command = plegdoctor(&[
        "diagnose",
        "--fix",
        "--no-kubelet",
        "--yes",
        "--max-risk",
        "disruptive",
        "--probe-timeout",
        "2s",
        "--settle",
        "2s",
        "--utc-offset",
        "+00:00",
        "--format",
        "json",
        "--docker-host",
        &endpoint,
        "--log",
    ]);
    let child = command
        .arg(&log)
        .current_dir(place.folder.path())
        .spawn()
        .unwrap();
    let gone = wait_until(Duration::from_secs(60), || !sees(pid, &shm));
    daemon.undead();
    let output = child.wait_with_output().unwrap();
    end(holder);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(gone, "{report:#}");
    assert_eq!(
        outcomes(&report),
        [
            ("remove-container", "failed"),
            ("detach-mount", "done"),
            ("remove-container", "done")
        ],
        "{report:#}"
    );
    let detached = &report["actions"][1];
    assert_eq!(
        (
            &detached["finding"],
            &detached["target"]["path"],
            &detached["target"]["pid"]
        ),
        (
            &json!("busy-mount"),
            &json!(shm.to_str().unwrap()),
            &json!(pid)
        )
    );
    let proof = detached["proof"].as_str().unwrap();
    assert!(
        proof.contains(&format!("not among those of PID {pid}")),
        "{proof}"
    );
    assert!(!daemon.exists(&dead) && daemon.exists(&etcd));
    assert!(
        !has(&report, "busy-mount") && !has(&report, "dead-container"),
        "{report:#}"
    );
    let audit = place.audit();
    let told: Vec<_> = audit
        .iter()
        .map(|line| (&line["action"], &line["event"]))
        .collect();
    let (remove, detach) = (&json!("remove-container"), &json!("detach-mount"));
    let (intent, result) = (&json!("intent"), &json!("result"));
    assert_eq!(
        told,
        [
            (remove, intent),
            (remove, result),
            (detach, intent),
            (detach, result),
            (remove, intent),
            (remove, result)
        ]
    );
}
