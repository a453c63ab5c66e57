//! Folders written as the kernel would fill them.

use crate::{
    io::{files::Tree, gap::Gap},
    node::{Host, OciCommand, Role},
};
use std::{fs, path::Path, time::Duration};

const ID: &str = "1fcd1df51209e8abaec1722303603dd7d9ecd65ebd6b77b0b037c0b82f51fecb";
const SHIM: &str = "containerd-shim-runc-v2 -namespace moby -id ID -address /x";

/// Writes a process: its name, its words, with `ID` for the container, and its cgroup.
fn put(root: &Path, (pid, ppid): (u32, u32), comm: &str, words: &str, cgroup: &str) {
    let own = root.join(format!("proc/{pid}"));
    fs::create_dir_all(&own).unwrap();
    let stat =
        format!("{pid} ({comm}) S {ppid} 1 1 0 -1 4194560 1 1 0 0 1 1 0 0 20 0 1 0 5 1 1 1\n");
    fs::write(own.join("stat"), stat).unwrap();
    let words = words.replace("ID", ID).replace(' ', "\0") + "\0";
    fs::write(own.join("cmdline"), words).unwrap();
    fs::write(
        own.join("cgroup"),
        format!("0::{}\n", cgroup.replace("ID", ID)),
    )
    .unwrap();
}

fn look(root: &Path) -> (Host, Vec<Gap>) {
    let (host, gaps, _) = crate::node::observe::scan(&Tree::at(root), Duration::from_secs(3));
    (host, gaps)
}

#[test]
fn a_workload_is_no_runtime_whatever_its_options_are_called_and_its_words_are_not_kept() {
    let workload = format!("/docker/{ID}");
    for (words, cgroup) in [
        (
            "/app/appserver --log=stdout start --password=hunter2",
            workload.as_str(),
        ),
        // Even one that names a container: its own …
        (
            "/app/appserver --log=stdout start ID --password=hunter2",
            workload.as_str(),
        ),
        // … or another one.
        (
            "/app/appserver --log=stdout start a6d4ID --password=hunter2",
            "/",
        ),
        (
            "/app/a --log=x start 00001df51209e8abaec1722303603dd7d9ecd65ebd6b77b0b037c0b82f51fecb hunter2",
            "/",
        ),
    ] {
        let here = tempfile::tempdir().unwrap();
        put(here.path(), (70, 1), "containerd-shim", SHIM, "/");
        put(here.path(), (71, 70), "appserver", words, cgroup);
        // Its child is no wrapper's runtime either.
        put(here.path(), (72, 71), "appserver", words, cgroup);
        let (host, _) = look(here.path());
        assert_eq!(host.processes.len(), 1, "{words}: {host:#?}");
        assert!(!format!("{host:?}").contains("hunter2"), "{words}");
    }
}

#[test]
fn a_runtime_in_its_shims_cgroup_is_kept_and_its_init_in_the_containers() {
    // As in a node that is itself a container: the shim's cgroup names one, too.
    let outer = "/docker/74a457c34b3abc731b76516a1517c0dd255898f8cbfe2dac291cc2352a743ca6";
    for cgroup in ["/system.slice/docker.service", outer] {
        let here = tempfile::tempdir().unwrap();
        let call = "--root /r --log /l start ID";
        put(here.path(), (70, 1), "containerd-shim", SHIM, cgroup);
        put(
            here.path(),
            (71, 70),
            "sh",
            &format!("/bin/sh /opt/wrapper {call}"),
            cgroup,
        );
        put(
            here.path(),
            (72, 71),
            "runc",
            &format!("runc {call}"),
            cgroup,
        );
        put(
            here.path(),
            (73, 72),
            "runc:[2:INIT]",
            "runc init",
            "/docker/ID",
        );
        let (host, _) = look(here.path());
        let roles: Vec<_> = host.processes.iter().map(|process| process.role).collect();
        assert_eq!(
            roles,
            [
                Role::Shim,
                Role::OciRuntime(OciCommand::Start),
                Role::OciRuntime(OciCommand::Start),
                Role::OciRuntime(OciCommand::Init)
            ]
        );
        let of = |pid| {
            host.process(pid)
                .unwrap()
                .container
                .as_ref()
                .unwrap()
                .to_string()
        };
        assert!(
            ID.starts_with(&of(72)) && ID.starts_with(&of(73)),
            "{}",
            of(72)
        );
    }
}

#[test]
fn who_only_calls_itself_init_keeps_its_words_to_itself() {
    let here = tempfile::tempdir().unwrap();
    put(
        here.path(),
        (71, 1),
        "runc:[2:INIT]",
        "x --password hunter2",
        "/",
    );
    assert!(!format!("{:?}", look(here.path())).contains("hunter2"));
}

#[test]
fn of_a_daemon_within_a_container_no_words_are_kept() {
    let here = tempfile::tempdir().unwrap();
    put(
        here.path(),
        (70, 1),
        "dockerd",
        "dockerd -H fd://",
        "/system.slice",
    );
    put(
        here.path(),
        (71, 1),
        "dockerd",
        "dockerd --registry-token=x",
        "/docker/ID",
    );
    let (host, _) = look(here.path());
    let told = |pid| host.process(pid).unwrap().command.is_some();
    assert_eq!((told(70), told(71)), (true, false));
}

#[test]
fn a_place_without_the_machines_processes_says_so() {
    let here = tempfile::tempdir().unwrap();
    put(here.path(), (1, 0), "sh", "sh", "/");
    // A recording has what was recorded.
    assert_eq!(look(here.path()).0.blind, None);
    std::os::unix::fs::symlink("1", here.path().join("proc/self")).unwrap();
    let why = look(here.path()).0.blind.unwrap();
    assert!(
        why.starts_with("only processes of this PID namespace"),
        "{why}"
    );
    // Not a container's own second process, but the kernel's.
    put(here.path(), (2, 0), "kthreadd", "", "/");
    assert!(look(here.path()).0.blind.is_some());
    let kthreadd = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0\n";
    fs::write(here.path().join("proc/2/stat"), kthreadd).unwrap();
    assert_eq!(look(here.path()).0.blind, None);
}

#[test]
fn a_process_that_may_not_be_looked_at_is_hidden_and_one_that_ended_is_none() {
    use crate::node::observe::proc_scan::{Entry, ProcScan, entry_of, hidden_reason};
    let hidden = entry_of(&std::io::Error::from_raw_os_error(1));
    assert!(matches!(hidden, Some(Entry::Hidden)));
    for gone in [2, 3] {
        assert!(entry_of(&std::io::Error::from_raw_os_error(gone)).is_none());
    }
    let scan = ProcScan {
        hidden: 9,
        ..ProcScan::default()
    };
    assert!(
        hidden_reason(&scan)
            .unwrap()
            .starts_with("9 processes of other users")
    );
}

#[test]
fn a_daemon_is_stopped_for_good_only_if_it_still_is_a_second_later() {
    let here = tempfile::tempdir().unwrap();
    put(here.path(), (5, 1), "dockerd", "/usr/bin/dockerd", "/");
    let own = here.path().join("proc/5");
    let stat = fs::read_to_string(own.join("stat")).unwrap();
    fs::write(own.join("stat"), stat.replace(") S ", ") T ")).unwrap();
    fs::create_dir_all(own.join("task/5")).unwrap();
    let moment = |file: &str, state: &str, sleeps: u32| {
        let text = format!("State:\t{state}\nvoluntary_ctxt_switches:\t{sleeps}\n");
        fs::write(own.join("task/5").join(file), text).unwrap();
    };
    let still = || look(here.path()).0.processes[0].still.is_some();
    moment("status", "T (stopped)", 7);
    moment("status.later", "T (stopped)", 7);
    assert!(still());
    // Let go and stopped again.
    moment("status.later", "T (stopped)", 8);
    assert!(!still());
    // It runs, and has not slept since.
    moment("status.later", "R (running)", 7);
    assert!(!still());
}

#[test]
fn a_recording_of_a_walk_that_was_cut_short_is_not_taken_for_all_processes() {
    let here = tempfile::tempdir().unwrap();
    let own = here.path().join("proc/2");
    fs::create_dir_all(&own).unwrap();
    let stat = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 1 1 0 0 20 0 1 0 5 1 1 1\n";
    fs::write(own.join("stat"), stat).unwrap();
    let (host, _) = look(here.path());
    assert!(host.whole);
    fs::create_dir_all(here.path().join("told")).unwrap();
    let told = here.path().join("told/processes-incomplete");
    fs::write(told, "not all could be read in time").unwrap();
    let (host, gaps) = look(here.path());
    assert!(!host.whole && host.blind.is_none());
    assert!(
        gaps.iter().any(|gap| gap.why.contains("not all")),
        "{gaps:?}"
    );
}
