//! Processes and mounts of a private daemon, told apart by the unique path of its directory.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A folder of this test program, told by its name and its file `owner`: so tests/run.sh can take away what one that was
/// killed left.
pub(crate) fn own_folder() -> TempDir {
    let folder = tempfile::Builder::new()
        .prefix("pd.")
        .tempdir_in("/var/tmp");
    let folder = folder.unwrap();
    let owner = std::process::id().to_string();
    fs::write(folder.path().join("owner"), owner).unwrap();
    folder
}

/// Sends a signal to one process.
pub(crate) fn signal(pid: u32, name: &str) {
    // The shell's own `kill`: a minimal system has no other.
    let _ = Command::new("sh")
        .args(["-c", "kill -$0 $1", name, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Stops a process, and waits until it has.
#[track_caller]
pub(crate) fn freeze(pid: u32) {
    signal(pid, "STOP");
    let status = PathBuf::from(format!("/proc/{pid}/status"));
    let stopped = || fs::read_to_string(&status).unwrap().contains("\nState:\tT");
    assert!(
        wait_until(Duration::from_secs(10), stopped),
        "process {pid} must stop"
    );
}

/// Waits until `done`, at most `limit`; returns whether it came to that.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    loop {
        if done() {
            return true;
        }
        if Instant::now() > end {
            return false;
        }
        sleep(Duration::from_millis(20));
    }
}

/// Returns the processes that have `root` in their command line, and all that descend from them.
pub(crate) fn of(root: &Path) -> Vec<u32> {
    let root = root.to_str().unwrap();
    let mut found = Vec::new();
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if pid != std::process::id() && String::from_utf8_lossy(&command).contains(root) {
            found.push(pid);
        }
        // The parent is the second field after the name, which stands in brackets and may hold anything.
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut grown = true;
    while grown {
        let next: Vec<u32> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|&(pid, _)| pid)
            .collect();
        grown = !next.is_empty();
        found.extend(next);
    }
    found
}

/// Returns what is mounted below `root`.
pub(crate) fn mounts_below(root: &Path) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut points: Vec<PathBuf> = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(PathBuf::from)
        .filter(|point| point.starts_with(root))
        .collect();
    points.sort();
    points
}

/// Unmounts all that is mounted below `root`, the innermost first.
pub(crate) fn unmount_below(root: &Path) {
    for point in mounts_below(root).iter().rev() {
        let _ = Command::new("umount")
            .arg("-l")
            .arg(point)
            .stderr(Stdio::null())
            .status();
    }
}

/// Returns the cgroups of that name, one in each hierarchy.
pub(crate) fn cgroups(name: &str) -> Vec<PathBuf> {
    let top = Path::new("/sys/fs/cgroup");
    let hierarchies = fs::read_dir(top).into_iter().flatten().flatten();
    std::iter::once(top.to_owned())
        .chain(hierarchies.map(|entry| entry.path()))
        .map(|hierarchy| hierarchy.join(name))
        .filter(|cgroup| cgroup.is_dir())
        .collect()
}

/// Removes the cgroups of that name and those in them: what runc can't do for a container whose daemon was killed.
pub(crate) fn remove_cgroups(name: &str) {
    for cgroup in cgroups(name) {
        for inner in fs::read_dir(&cgroup).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(inner.path());
        }
        let _ = fs::remove_dir(cgroup);
    }
}
