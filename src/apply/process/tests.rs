//! Who may be ended, and who not: played machines.

use super::*;
use crate::{
    id::ContainerId,
    node::{Threads, parse},
};

const CONTAINER: &str = "b15929dfcea1b15929dfcea1b15929dfcea1b15929dfcea1b15929dfcea1b159";

fn container() -> ContainerId {
    ContainerId::parse(CONTAINER).unwrap()
}

fn process(pid: u32, ppid: u32, role: Role, words: &[&str]) -> Process {
    Process {
        pid,
        ppid,
        comm: "runc".to_owned(),
        role,
        state: State::Sleeping,
        start_ticks: 500,
        age: None,
        wchan: None,
        stack: Vec::new(),
        still: None,
        command: Some(words.iter().map(|&word| word.to_owned()).collect()),
        container: Some(container()),
        uid: None,
        tracer: None,
        threads: Threads::default(),
    }
}

fn start() -> Process {
    let role = Role::OciRuntime(OciCommand::Start);
    process(42, 7, role, &["runc", "start", CONTAINER])
}

fn target() -> RuntimeProcess {
    RuntimeProcess {
        pid: 42,
        start_ticks: 500,
        command: vec!["runc".to_owned(), "start".to_owned(), CONTAINER.to_owned()],
        container: container(),
    }
}

fn machine(processes: Vec<Process>) -> Host {
    Host {
        processes,
        ..Host::default()
    }
}

#[track_caller]
fn spared(processes: Vec<Process>, words: &str) {
    let why = still_to_blame(&machine(processes), &target()).unwrap_err();
    assert!(why.contains(words), "{why}");
}

#[test]
fn the_process_that_was_blamed_may_be_ended() {
    assert_eq!(still_to_blame(&machine(vec![start()]), &target()), Ok(()));
}

#[test]
fn another_process_under_its_number_is_spared() {
    spared(vec![], "gone");
    let later = Process {
        start_ticks: 501,
        ..start()
    };
    spared(vec![later], "another one now");
    let other = Process {
        command: Some(vec!["runc".to_owned(), "kill".to_owned()]),
        ..start()
    };
    spared(vec![other], "another command");
    let unread = Process {
        command: None,
        ..start()
    };
    spared(vec![unread], "another command");
}

#[test]
fn shims_daemons_and_workloads_are_spared_whatever_their_number_and_words() {
    for role in [
        Role::Shim,
        Role::Dockerd,
        Role::Containerd,
        Role::Kubelet,
        Role::CniPlugin,
        Role::Other,
    ] {
        spared(vec![Process { role, ..start() }], "no OCI runtime's");
    }
}

#[test]
fn one_that_works_on_another_container_is_spared() {
    for container in [None, ContainerId::parse(&"c".repeat(64))] {
        let other = Process {
            container,
            ..start()
        };
        spared(vec![other], "another container");
    }
}

#[test]
fn init_is_spared_while_the_command_above_it_is_there() {
    let words = ["runc", "init"];
    let init = process(42, 41, Role::OciRuntime(OciCommand::Init), &words);
    let target = RuntimeProcess {
        command: words.map(str::to_owned).to_vec(),
        ..target()
    };
    let create = process(
        41,
        7,
        Role::OciRuntime(OciCommand::Create),
        &["runc", "create", CONTAINER],
    );
    let both = machine(vec![create.clone(), init.clone()]);
    let why = still_to_blame(&both, &target).unwrap_err();
    assert!(
        why.contains("process 41 comes before it now (create)"),
        "{why}"
    );
    let dead = Process {
        state: State::Dead,
        ..create
    };
    for processes in [vec![init.clone()], vec![dead, init]] {
        assert_eq!(still_to_blame(&machine(processes), &target), Ok(()));
    }
}

#[test]
fn a_real_process_that_is_no_runtime_is_not_pinned_even_with_all_marks_right() {
    let mut child = std::process::Command::new("sleep")
        .arg("99")
        .spawn()
        .unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let target = RuntimeProcess {
        pid: child.id(),
        start_ticks: parse::stat(&stat).unwrap().start_ticks,
        command: vec!["sleep".to_owned(), "99".to_owned()],
        container: container(),
    };
    let why = pin(&target).err().unwrap();
    assert!(why.contains("no OCI runtime's"), "{why}");
    let replaced = RuntimeProcess {
        start_ticks: target.start_ticks + 1,
        ..target
    };
    let why = pin(&replaced).err().unwrap();
    assert!(why.contains("another one now"), "{why}");
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}
