//! A played `systemctl`, and whose unit is restarted.

use super::*;
use crate::apply::tests::{process, with_hands};
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

#[test]
fn systemd_starts_itself_again_and_is_asked_whether_it_answers() {
    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(folder.path(), "echo Version=252");
    let ending = with_hands(folder.path(), |hands| {
        reexec(hands, &program, &mut || Ok(()))
    });
    assert_eq!(ending.fate, Fate::Done, "{ending:?}");
    assert!(ending.proof.is_some() && ending.at.is_some());
    assert_eq!(
        called(folder.path()),
        "daemon-reexec\nshow --property=Version\n"
    );
}

#[test]
fn nothing_is_called_where_the_intent_can_not_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(folder.path(), "echo Version=252");
    let full = || Err("no space".to_owned());
    let ending = with_hands(folder.path(), |hands| {
        reexec(hands, &program, &mut || full())
    });
    assert_eq!((ending.fate, ending.at), (Fate::Failed, None));
    assert_eq!(called(folder.path()), "");
}

#[test]
fn a_refusal_is_told_in_systemds_words() {
    let folder = tempfile::tempdir().unwrap();
    let program = systemctl(folder.path(), "echo 'Failed to reexecute: no' >&2; exit 1");
    let ending = with_hands(folder.path(), |hands| {
        reexec(hands, &program, &mut || Ok(()))
    });
    assert_eq!(ending.fate, Fate::Failed);
    let why = ending.reason.unwrap();
    assert_eq!(why, "systemd refused: Failed to reexecute: no");
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
