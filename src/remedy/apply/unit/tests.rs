//! A played `systemctl`, and whose unit is restarted.

use super::*;
use crate::{
    node::Systemd,
    remedy::apply::tests::{process, with_hands},
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
fn reexecuted(folder: &Path, script: &str, looks: &[Bus], recorded: &Result<(), String>) -> Ending {
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
    with_hands(folder, |hands| {
        let hands = Executor {
            look: &look,
            open: std::cell::RefCell::default(),
            ..*hands
        };
        reexec(&hands, &program, &mut || recorded.clone())
    })
}

#[test]
fn systemd_starts_itself_again_and_is_asked_over_the_bus_whether_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let looks = [SILENT, SILENT, answered()];
    let ending = reexecuted(folder.path(), "", &looks, &Ok(()));
    assert_eq!(ending.fate, Fate::Done, "{ending:?}");
    assert!(ending.proof.unwrap().contains("over D-Bus") && ending.at.is_some());
    assert!(ending.before.unwrap().contains("no answer over D-Bus in 3"));
    assert_eq!(called(folder.path()), "daemon-reexec\n");
}

#[test]
fn systemd_is_left_alone_where_it_answers_again_or_can_not_be_asked() {
    let failed = Bus::Failed("no such name".to_owned());
    for (bus, fate) in [(answered(), Fate::NotNeeded), (failed, Fate::Changed)] {
        let folder = tempfile::tempdir().unwrap();
        let ending = reexecuted(folder.path(), "", &[bus], &Ok(()));
        assert_eq!((ending.fate, ending.at), (fate, None), "{ending:?}");
        assert_eq!(called(folder.path()), "");
    }
    let why = silence(&Host::default()).unwrap_err();
    assert_eq!(why.fate, Fate::Failed);
}

#[test]
fn nothing_is_called_where_the_intent_can_not_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let full = Err("no space".to_owned());
    let ending = reexecuted(folder.path(), "", &[SILENT], &full);
    assert_eq!((ending.fate, ending.at), (Fate::Failed, None));
    assert_eq!(called(folder.path()), "");
}

#[test]
fn a_refusal_is_told_in_systemds_words() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo 'Failed to reexecute: no' >&2; exit 1";
    let ending = reexecuted(folder.path(), script, &[SILENT], &Ok(()));
    assert_eq!(ending.fate, Fate::Failed);
    let why = ending.reason.unwrap();
    assert_eq!(why, "systemd refused: Failed to reexecute: no");
}

/// Restarts a unit whose process is `before`, by a systemctl that fails and leaves it as `after`.
fn failed_restart(before: u32, after: &str) -> Ending {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "case $1 in restart) touch HERE/tried; echo 'Job failed.' >&2; exit 1 ;; esac\n\
         [ -e HERE/tried ] && {{ {after}; exit; }}\n\
         echo LoadState=loaded; echo MainPID={before}"
    );
    let program = systemctl(folder.path(), &script);
    with_hands(folder.path(), |hands| {
        let kubelet = process(80, 1, "kubelet", Role::Kubelet);
        let look = || Host {
            processes: vec![kubelet.clone()],
            ..Host::default()
        };
        let hands = Executor {
            look: &look,
            open: std::cell::RefCell::default(),
            ..*hands
        };
        restart(&hands, &program, Unit::Kubelet, &mut || Ok(()))
    })
}

#[test]
fn a_restart_that_fails_tells_what_it_has_done_to_the_daemon() {
    let loaded = |pid: u32| format!("echo LoadState=loaded; echo MainPID={pid}");
    let stopped = failed_restart(80, &loaded(0));
    assert_eq!(stopped.fate, Fate::Failed);
    assert!(stopped.at.is_some(), "it was changed: {stopped:?}");
    assert_eq!(stopped.after.unwrap(), "kubelet.service not running");
    assert_eq!(stopped.reason.unwrap(), "systemctl failed: Job failed.");

    let as_before = failed_restart(80, &loaded(80));
    assert_eq!((as_before.fate, as_before.at), (Fate::Failed, None));
    let back = failed_restart(80, &loaded(81));
    assert_eq!(back.fate, Fate::Unproven);
    assert!(back.at.is_some());
    let unknown = failed_restart(80, "exit 1");
    assert_eq!(unknown.fate, Fate::Unproven);
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
        let why = is_the_one(&host, usual, unit, 0).unwrap_err();
        assert!(why.contains("does, as process 80"), "{why}");
        assert_eq!(is_the_one(&Host::default(), usual, unit, 0), Ok(()));
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
    let ending = with_hands(folder.path(), |hands| {
        restart(hands, &program, Unit::Kubelet, &mut || Ok(()))
    });
    assert_eq!(ending.fate, Fate::Done, "{ending:?}");
    assert_eq!(ending.before.unwrap(), "kubelet.service not running");
    assert_eq!(
        ending.after.unwrap(),
        "kubelet.service running as process 4711"
    );
    assert!(called(folder.path()).contains("\nrestart --no-ask-password kubelet.service\n"));

    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(folder.path(), "echo LoadState=not-found; echo MainPID=0");
    let ending = with_hands(folder.path(), |hands| {
        restart(hands, &program, Unit::Docker, &mut || Ok(()))
    });
    assert_eq!(ending.fate, Fate::Failed);
    assert!(!called(folder.path()).contains("restart"));
}

#[test]
fn the_unit_of_another_daemon_is_not_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(folder.path(), "echo LoadState=loaded; echo MainPID=1");
    let ending = with_hands(folder.path(), |hands| {
        restart(hands, &program, Unit::Docker, &mut || Ok(()))
    });
    assert_eq!(ending.fate, Fate::Changed, "{ending:?}");
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
    assert_eq!(is_the_one(&host, usual, Unit::Docker, 80), Ok(()));
    for (endpoint, unit, main) in [
        (usual, Unit::Docker, 81),
        (usual, Unit::Containerd, 80),
        (usual, Unit::Kubelet, 80),
        ("unix:///private/docker.sock", Unit::Docker, 80),
    ] {
        assert!(
            is_the_one(&host, endpoint, unit, main).is_err(),
            "{endpoint} {unit:?} {main}"
        );
    }
}
