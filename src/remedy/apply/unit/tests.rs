//! A played `systemctl`, and whose unit is restarted.

use super::*;
use crate::{
    node::Systemd,
    remedy::apply::tests::{either, process, with_executor},
};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

/// Writes a `systemctl` that notes its words in `called` and does what `script` says.
fn systemctl(folder: &Path, script: &str) -> String {
    let path = folder.join("systemctl");
    let text = format!(
        "#!/bin/sh\necho \"$*\" >> {0}/called\n{script}\n",
        folder.display()
    );
    fs::write(&path, text.replace("HERE", folder.to_str().unwrap())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn called(folder: &Path) -> String {
    fs::read_to_string(folder.join("called")).unwrap_or_default()
}

const SILENT: Bus = Bus::Silent(Duration::from_secs(3));

fn answered() -> Bus {
    Bus::Answered(Duration::from_millis(4), None)
}

/// Lets systemd start itself again on a machine where the bus answers like this, look by look; the last goes on.
fn reexecuted(
    folder: &Path,
    script: &str,
    looks: &[Bus],
    recorded: &Result<(), String>,
) -> Outcome {
    let program = systemctl(folder, script);
    let looked = std::cell::Cell::new(0);
    let look = || {
        let bus = looks[looked.get().min(looks.len() - 1)].clone();
        looked.set(looked.get() + 1);
        Host {
            systemd: Some(Systemd {
                bus,
                state: None,
                wchan: None,
                busy: None,
            }),
            ..Host::default()
        }
    };
    with_executor(folder, |executor| {
        let executor = Executor {
            observe: &look,
            open: std::cell::RefCell::default(),
            ..*executor
        };
        either(reexec(&executor, &program, &mut || recorded.clone()))
    })
}

#[test]
fn systemd_starts_itself_again_and_is_asked_over_the_bus_whether_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let looks = [SILENT, SILENT, answered()];
    let outcome = reexecuted(folder.path(), "", &looks, &Ok(()));
    assert_eq!(outcome.status, Status::Done, "{outcome:?}");
    assert!(outcome.proof.unwrap().contains("over D-Bus") && outcome.at.is_some());
    assert!(
        outcome
            .before
            .unwrap()
            .contains("no answer over D-Bus from systemd in 3")
    );
    assert_eq!(called(folder.path()), "daemon-reexec\n");
}

#[test]
fn systemd_is_left_alone_where_it_answers_again_or_can_not_be_asked() {
    let failed = Bus::Failed("no such name".to_owned());
    for (bus, status) in [(answered(), Status::NotNeeded), (failed, Status::Changed)] {
        let folder = tempfile::tempdir().unwrap();
        let outcome = reexecuted(folder.path(), "", &[bus], &Ok(()));
        assert_eq!((outcome.status, outcome.at), (status, None), "{outcome:?}");
        assert_eq!(called(folder.path()), "");
    }
    let why = verify_silence(&Host::default()).unwrap_err();
    assert_eq!(why.status, Status::Failed);
}

#[test]
fn nothing_is_called_where_the_intent_can_not_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let full = Err("no space".to_owned());
    let outcome = reexecuted(folder.path(), "", &[SILENT], &full);
    assert_eq!((outcome.status, outcome.at), (Status::Failed, None));
    assert_eq!(called(folder.path()), "");
}

#[test]
fn a_refusal_is_in_systemds_words() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo 'Failed to reexecute: no' >&2; exit 1";
    let outcome = reexecuted(folder.path(), script, &[SILENT], &Ok(()));
    assert_eq!(outcome.status, Status::Failed);
    let why = outcome.reason.unwrap();
    assert_eq!(why, "systemd refused: Failed to reexecute: no");
}

/// Restarts a unit whose process is `before`, by a systemctl that fails and leaves it as `after`.
fn failed_restart(before: u32, after: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "case $1 in restart) touch HERE/tried; echo 'Job failed.' >&2; exit 1 ;; esac\n\
         [ -e HERE/tried ] && {{ {after}; exit; }}\n\
         echo LoadState=loaded; echo MainPID={before}"
    );
    let program = systemctl(folder.path(), &script);
    with_executor(folder.path(), |executor| {
        let kubelet = process(80, 1, "kubelet", Role::Kubelet);
        let look = || Host {
            processes: vec![kubelet.clone()],
            ..Host::default()
        };
        let executor = Executor {
            observe: &look,
            open: std::cell::RefCell::default(),
            ..*executor
        };
        either(restart(&executor, &program, Unit::Kubelet, &mut || Ok(())))
    })
}

#[test]
fn a_restart_that_fails_tells_what_it_has_done_to_the_daemon() {
    let loaded = |pid: u32| format!("echo LoadState=loaded; echo MainPID={pid}");
    let stopped = failed_restart(80, &loaded(0));
    assert_eq!(stopped.status, Status::Failed);
    assert!(stopped.at.is_some(), "it was changed: {stopped:?}");
    assert_eq!(stopped.after.unwrap(), "kubelet.service not running");
    assert_eq!(stopped.reason.unwrap(), "systemctl failed: Job failed.");

    let as_before = failed_restart(80, &loaded(80));
    assert_eq!((as_before.status, as_before.at), (Status::Failed, None));
    let back = failed_restart(80, &loaded(81));
    assert_eq!(back.status, Status::Unproven);
    assert!(back.at.is_some());
    let unknown = failed_restart(80, "exit 1");
    assert_eq!(unknown.status, Status::Unproven);
    assert!(unknown.at.is_some());
}

#[test]
fn a_unit_is_not_started_beside_a_daemon_that_runs_without_it() {
    for (unit, role, name) in [
        (Unit::Docker, Role::Dockerd, "dockerd"),
        (Unit::Containerd, Role::Containerd, "containerd"),
        (Unit::Kubelet, Role::Kubelet, "kubelet"),
    ] {
        let by_hand = Process {
            command: Some(vec![name.to_owned()]),
            ..process(80, 1, name, role)
        };
        let host = Host {
            processes: vec![by_hand],
            ..Host::default()
        };
        let usual = "unix:///var/run/docker.sock";
        let why = verify_unit(&host, usual, unit, 0).unwrap_err();
        assert!(why.contains("is, as PID 80"), "{why}");
        assert_eq!(verify_unit(&Host::default(), usual, unit, 0), Ok(()));
    }
}

#[test]
fn a_unit_that_does_not_run_is_started_and_one_that_is_not_there_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(
        folder.path(),
        "case $1 in restart) touch HERE/started ;; \
         show) echo LoadState=loaded; [ -e HERE/started ] && echo MainPID=4711 || echo MainPID=0 ;; esac",
    );
    let outcome = with_executor(folder.path(), |executor| {
        either(restart(executor, &program, Unit::Kubelet, &mut || Ok(())))
    });
    assert_eq!(outcome.status, Status::Done, "{outcome:?}");
    assert_eq!(outcome.before.unwrap(), "kubelet.service not running");
    assert_eq!(
        outcome.after.unwrap(),
        "kubelet.service running as PID 4711"
    );
    assert!(called(folder.path()).contains("\nrestart --no-ask-password kubelet.service\n"));

    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(folder.path(), "echo LoadState=not-found; echo MainPID=0");
    let outcome = with_executor(folder.path(), |executor| {
        either(restart(executor, &program, Unit::Docker, &mut || Ok(())))
    });
    assert_eq!(outcome.status, Status::Failed);
    assert!(!called(folder.path()).contains("restart"));
}

#[test]
fn the_unit_of_another_daemon_is_not_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(folder.path(), "echo LoadState=loaded; echo MainPID=1");
    let outcome = with_executor(folder.path(), |executor| {
        either(restart(executor, &program, Unit::Docker, &mut || Ok(())))
    });
    assert_eq!(outcome.status, Status::Changed, "{outcome:?}");
    assert!(!called(folder.path()).contains("restart"));

    let dockerd = process(80, 1, "dockerd", Role::Dockerd);
    let dockerd = Process {
        command: Some(vec!["dockerd".to_owned()]),
        ..dockerd
    };
    let host = Host {
        processes: vec![dockerd],
        ..Host::default()
    };
    let usual = "unix:///var/run/docker.sock";
    assert_eq!(verify_unit(&host, usual, Unit::Docker, 80), Ok(()));
    for (endpoint, unit, main) in [
        (usual, Unit::Docker, 81),
        (usual, Unit::Containerd, 80),
        (usual, Unit::Kubelet, 80),
        ("unix:///private/docker.sock", Unit::Docker, 80),
    ] {
        assert!(
            verify_unit(&host, endpoint, unit, main).is_err(),
            "{endpoint} {unit:?} {main}"
        );
    }
}
