//! Who may be ended, and who not: played machines.

use super::*;
use crate::{
    node::{OciCommand, Process, observe::process},
    remedy::apply::tests::{self, either, with_executor},
};
use std::{
    cell::RefCell,
    os::unix::net::UnixListener,
    path::Path,
    process::{Child, Command},
};

const CONTAINER: &str = "b15929dfcea1b15929dfcea1b15929dfcea1b15929dfcea1b15929dfcea1b159";

fn container() -> ContainerId {
    ContainerId::parse(CONTAINER).unwrap()
}

fn process(pid: u32, ppid: u32, role: Role, words: &[&str]) -> Process {
    Process {
        command: Some(words.iter().map(|&word| word.to_owned()).collect()),
        container: Some(container()),
        ..tests::process(pid, ppid, "runc", role)
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
    let why = verify_blame(&machine(processes), &target()).unwrap_err();
    assert!(why.contains(words), "{why}");
}

#[test]
fn the_process_that_was_blamed_may_be_ended() {
    assert_eq!(verify_blame(&machine(vec![start()]), &target()), Ok(()));
}

#[test]
fn another_process_under_its_number_is_spared() {
    spared(vec![], "gone");
    let later = Process {
        start_ticks: 501,
        ..start()
    };
    spared(vec![later], "reused by a newer process");
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
        spared(vec![Process { role, ..start() }], "not an OCI runtime");
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
    let why = verify_blame(&both, &target).unwrap_err();
    assert!(
        why.contains("PID 41 (create) is to blame before it now"),
        "{why}"
    );
    let dead = Process {
        state: State::Dead,
        ..create
    };
    for processes in [vec![init.clone()], vec![dead, init]] {
        assert_eq!(verify_blame(&machine(processes), &target), Ok(()));
    }
}

/// A real process, and the marks by which it is blamed.
fn real() -> (Child, RuntimeProcess) {
    let child = Command::new("sleep").arg("99").spawn().unwrap();
    let target = RuntimeProcess {
        pid: child.id(),
        start_ticks: process::stat(child.id()).unwrap().start_ticks,
        ..target()
    };
    (child, target)
}

/// Holds `target` on a machine that shows `seen`; returns why that was refused.
fn pinned(target: &RuntimeProcess, seen: &Process) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    with_executor(folder.path(), |executor| {
        let look = || machine(vec![seen.clone()]);
        let executor = Executor {
            observe: &look,
            open: RefCell::default(),
            ..*executor
        };
        hold(&executor, target).err()
    })
}

#[test]
fn a_real_process_that_got_the_number_since_is_not_held() {
    let (mut child, now) = real();
    let seen = Process {
        pid: now.pid,
        start_ticks: now.start_ticks,
        ..start()
    };
    assert_eq!(pinned(&now, &seen), None);
    let earlier = RuntimeProcess {
        start_ticks: now.start_ticks - 1,
        ..now.clone()
    };
    let why = pinned(&earlier, &seen).unwrap();
    assert!(why.contains("reused by a newer process"), "{why}");
    // Neither if the machine shows another between the two looks.
    let later = Process {
        start_ticks: now.start_ticks + 1,
        ..seen
    };
    let why = pinned(&now, &later).unwrap();
    assert!(why.contains("reused by a newer process"), "{why}");
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A process that heeds no TERM, on whose TERM `then` is done.
fn deaf(folder: &Path, then: &str) -> (Child, RuntimeProcess) {
    let ready = folder.join("ready");
    let script = format!(
        "trap '{then}' TERM; touch {}; while :; do sleep 0.1; done",
        ready.display()
    );
    let child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    while !ready.exists() {
        std::thread::sleep(POLL);
    }
    let target = RuntimeProcess {
        pid: child.id(),
        start_ticks: process::stat(child.id()).unwrap().start_ticks,
        ..target()
    };
    (child, target)
}

/// Ends `target` while an inspect is open that a Docker which takes connections never answers, or, without one, that has
/// failed.
fn struck(
    folder: &Path,
    target: &RuntimeProcess,
    docker: bool,
) -> Result<(Instant, String), Outcome> {
    let listener = docker.then(|| UnixListener::bind(folder.join("docker.sock")).unwrap());
    let struck = with_executor(folder, |executor| {
        let pinned = ProcessHandle::new(target.pid, target.start_ticks).unwrap();
        let mut inspect = open_inspect(executor, &target.container, 1).unwrap();
        signal(executor, target, &pinned, &mut inspect)
    });
    drop(listener);
    struck
}

#[test]
fn one_that_heeds_no_term_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, target) = deaf(folder.path(), "");
    let began = Instant::now();
    let (at, told) = struck(folder.path(), &target, true).unwrap();
    assert!(
        at - began >= TERM_TIMEOUT,
        "TERM comes first, and has its time"
    );
    assert!(told.ends_with(" exited"), "{told}");
    use std::os::unix::process::ExitStatusExt as _;
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

#[test]
fn one_whose_container_answers_after_term_is_not_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, target) = deaf(folder.path(), "");
    let (_, told) = struck(folder.path(), &target, false).unwrap();
    assert!(told.contains("got SIGTERM"), "{told}");
    assert!(child.try_wait().unwrap().is_none(), "it lives");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_init_that_became_the_workload_meanwhile_is_not_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, target) = deaf(folder.path(), "exec sleep 99");
    let outcome = struck(folder.path(), &target, true).unwrap_err();
    assert_eq!(outcome.status, Status::Unproven);
    let why = outcome.reason.unwrap();
    assert!(why.contains("runs another program now"), "{why}");
    assert!(child.try_wait().unwrap().is_none(), "it lives");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_answer_from_before_the_signal_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = with_executor(folder.path(), |executor| {
        let mut inspect = open_inspect(executor, &container(), 1).unwrap();
        assert!(inspect.wait(Duration::from_secs(20)).is_some());
        let struck = (Instant::now(), "PID 42 exited".to_owned());
        verify(executor, &mut inspect, "b15929dfcea1", struck)
    });
    assert_eq!((outcome.status, outcome.proof), (Status::Unproven, None));
    let why = outcome.reason.unwrap();
    assert!(why.contains("right before the signal"), "{why}");
}

#[test]
fn a_daemon_that_can_not_be_asked_costs_no_process_its_life() {
    let folder = tempfile::tempdir().unwrap();
    let mut intents = 0;
    let outcome = with_executor(folder.path(), |executor| {
        either(kill(executor, &target(), &mut || {
            intents += 1;
            Ok(())
        }))
    });
    assert_eq!(
        (outcome.status, outcome.at, intents),
        (Status::Failed, None, 0)
    );
    let why = outcome.reason.unwrap();
    assert!(why.contains("nothing was killed"), "{why}");
}
