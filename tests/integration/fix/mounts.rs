//! A mount that another mount namespace keeps is detached there, and there alone.

use crate::support::{
    process::{mounts_below, wait_until},
    program::run,
};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

/// Whether process `pid` sees a mount at `path`.
fn sees(pid: u32, path: &Path) -> bool {
    let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap();
    let point = path.to_str().unwrap();
    mounts
        .lines()
        .any(|line| line.split(' ').nth(4) == Some(point))
}

/// Mounts a file system at `path`, then starts a process in a mount namespace of its own, which gets a copy.
fn holder(path: &Path) -> Child {
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(path)
        .status();
    assert!(mounted.unwrap().success());
    let holder = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sleep", "99"])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let own = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap();
    let apart = || own(holder.id()) != own(std::process::id());
    assert!(wait_until(Duration::from_secs(10), apart));
    holder
}

#[test]
fn a_mount_is_detached_in_the_namespace_that_was_named_and_no_other() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("merged dir");
    fs::create_dir(&path).unwrap();
    // mountinfo(5) writes a blank as \040.
    let written = here.path().join("merged\\040dir");
    let mut holder = holder(&path);
    let pid = holder.id();
    let link = fs::read_link(format!("/proc/{pid}/ns/mnt")).unwrap();
    let number: u64 = link.to_str().unwrap()["mnt:[".len()..]
        .trim_end_matches(']')
        .parse()
        .unwrap();
    let detach = |namespace: u64| {
        let (pid, namespace) = (pid.to_string(), namespace.to_string());
        run(&["detach-mount", &pid, &namespace, path.to_str().unwrap()])
    };

    let refused = detach(number + 1);
    refused.refused(&["another mount namespace"]);
    let both = (sees(pid, &written), sees(std::process::id(), &written));
    let told = detach(number);
    let left = (sees(pid, &written), sees(std::process::id(), &written));
    let again = detach(number);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let unmounted = Command::new("umount").arg(&path).status().unwrap();
    assert!(unmounted.success());
    assert!(mounts_below(here.path()).is_empty());
    assert_eq!(both, (true, true));
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(left, (false, true));
    again.refused(&["can't be detached"]);
}
