//! The host's edge: a file that hangs its reader hides no other, costs little time, and keeps no process of ours.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use crate::support::{
    fuse::Fuse,
    process::{self, own_folder, wait_until},
    program,
};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The whole program's time: the host's, and a busy machine's.
const IN_TIME: Duration = Duration::from_secs(8);

/// A machine's root folder with three daemons, one file of which hangs whoever reads it: it is on a FUSE file system
/// whose server is stopped.
struct Machine {
    // Goes before what it lies in.
    _disk: Fuse,
    root: TempDir,
}

impl Machine {
    fn with_hanging(file: &str) -> Self {
        let root = own_folder();
        let at = |path: &str| root.path().join(path);
        for folder in [
            "served", "mounted", "proc/1", "proc/2", "proc/7", "proc/8", "proc/9",
        ] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let put = |path: &str, text: &str| fs::write(at(path), text).unwrap();
        put("proc/uptime", "500.00 900.00\n");
        put("proc/1/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
        // As in the kernel's own folder: what is below may hang.
        std::os::unix::fs::symlink("1", at("proc/self")).unwrap();
        put("proc/2/stat", &stat(2, "kthreadd", 0x20_0000));
        for (pid, comm) in [(7, "dockerd"), (8, "containerd"), (9, "kubelet")] {
            put(&format!("proc/{pid}/stat"), &stat(pid, comm, 0));
            put(
                &format!("proc/{pid}/cmdline"),
                &format!("/usr/bin/{comm}\0--x\0"),
            );
            put(&format!("proc/{pid}/cgroup"), "0::/\n");
            put(&format!("proc/{pid}/wchan"), "futex_do_wait");
        }
        put("served/file", "");
        fs::remove_file(at(file)).unwrap();
        std::os::unix::fs::symlink(at("mounted/file"), at(file)).unwrap();
        let disk = Fuse::mount(&at("served"), &at("mounted"));
        disk.freeze();
        Self { _disk: disk, root }
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn command(&self) -> Command {
        let root = self.root().display().to_string();
        program::plegdoctor(&[
            "diagnose",
            "--no-log",
            "--no-docker",
            "--format",
            "json",
            "--host-root",
            &root,
        ])
    }
}

/// A process's `stat`.
fn stat(pid: u32, comm: &str, flags: u64) -> String {
    format!("{pid} ({comm}) S 1 1 1 0 -1 {flags} 1 1 0 0 1 1 0 0 20 0 1 0 5 1 1 1\n")
}

/// Returns the children of plegdoctor's that read this machine.
fn readers(root: &Path) -> Vec<u32> {
    let reads = |pid: &u32| {
        let path = PathBuf::from(format!("/proc/{pid}/cmdline"));
        let command = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&command).contains("\0processes\0")
    };
    process::of(root).into_iter().filter(reads).collect()
}

#[test]
fn cgroups_that_hang_their_reader_hide_no_other_fact_and_are_a_gap() {
    let machine = Machine::with_hanging("proc/8/cgroup");
    let started = Instant::now();
    let run = machine.command().output().unwrap();
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());

    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    let facts: Vec<_> = report["host"]["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|process| (process["command"][0].as_str(), process["wchan"].as_str()))
        .collect();
    let known = |comm| (Some(comm), Some("futex_do_wait"));
    assert_eq!(
        facts,
        [
            known("/usr/bin/dockerd"),
            known("/usr/bin/containerd"),
            known("/usr/bin/kubelet"),
        ]
    );
    let gaps = report["gaps"].to_string();
    assert!(gaps.contains("the cgroups of 2 processes"), "{gaps}");
    assert!(
        gaps.contains("blocks every reader of cgroups): 8, 9"),
        "{gaps}"
    );
    assert!(wait_until(IN_TIME, || readers(machine.root()).is_empty()));
}

#[test]
fn a_reader_that_hangs_ends_with_a_plegdoctor_that_is_killed() {
    let machine = Machine::with_hanging("proc/8/cmdline");
    let mut child = machine.command().spawn().unwrap();
    let hangs = || !readers(machine.root()).is_empty();
    assert!(wait_until(IN_TIME, hangs));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        wait_until(IN_TIME, || readers(machine.root()).is_empty()),
        "{:?}",
        readers(machine.root())
    );
}
