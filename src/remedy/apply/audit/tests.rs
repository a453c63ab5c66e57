//! What is written, and what is not when it can't be.

use super::*;
use crate::{
    finding::{outcome::Status, plan::Kind},
    runtime::ContainerKind,
    syntax::id::{ContainerId, PodName},
};
use chrono::DateTime;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{chown, symlink},
};

fn target() -> Target {
    Target {
        id: ContainerId::parse(&"a".repeat(64)).unwrap(),
        name: "k8s_app\n\u{1b}[2J".to_owned(),
        label: None,
        role: ContainerKind::Container,
        pod: Some(PodName::new("default", "web-2")),
        uid: None,
        sandbox: None,
        kind: Kind::Exited,
        state: "exited".into(),
        created: None,
        started: None,
        finished: None,
    }
}

fn clock() -> Clock {
    Clock::starting(DateTime::parse_from_rfc3339("2026-11-30T12:00:00+08:00").unwrap())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{text:?}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn intent_and_result_are_a_line_each_with_all_keys() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    let audit = Audit::open(&path, clock()).unwrap();
    audit.intent(&target()).unwrap();
    let failed = Outcome::because(Status::Failed, "busy");
    audit.result(&target(), &failed).unwrap();
    let mut lines = lines(&path);
    for line in &mut lines {
        let time = line["time"].take();
        assert!(time.as_str().unwrap().starts_with("2026-11-30T12:00:0"));
    }
    let line = |event: &str, outcome: Value, reason: Value| {
        json!({"schema": "plegdoctor.audit/1", "time": null, "event": event, "id": "a".repeat(64),
            "name": "k8s_app\n\u{1b}[2J", "pod": "web-2", "namespace": "default", "state": "exited",
            "action": "remove-container", "target": "remove container aaaaaaaaaaaa", "pid": null,
            "outcome": outcome, "reason": reason, "before": null, "after": null, "proof": null})
    };
    assert_eq!(
        lines,
        [
            line("intent", Value::Null, Value::Null),
            line("result", json!("failed"), json!("busy"))
        ]
    );
}

#[test]
fn what_stands_there_is_kept_and_a_cut_line_ended() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit");
    fs::write(&path, "{\"whole\":1}\n{\"cut").unwrap();
    let audit = Audit::open(&path, clock()).unwrap();
    audit.intent(&target()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("{\"whole\":1}\n{\"cut\n{\"schema\":"),
        "{text}"
    );
}

#[test]
fn a_full_disk_and_a_file_that_cannot_be_synced_are_errors() {
    let full = Audit::open(Path::new("/dev/full"), clock()).unwrap();
    let error = format!("{:#}", full.intent(&target()).unwrap_err());
    assert!(
        error.starts_with("can't write the audit file /dev/full: No space left"),
        "{error}"
    );
    let null = Audit::open(Path::new("/dev/null"), clock()).unwrap();
    assert!(null.intent(&target()).is_err());
}

#[test]
fn what_is_no_file_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("no/such/folder")] {
        let error = format!("{:#}", Audit::open(&path, clock()).unwrap_err());
        let start = format!("can't open the audit file {}: ", path.display());
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn a_fifo_that_nobody_reads_does_not_hang() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let began = Instant::now();
    let audit = Audit::open(&path, clock()).unwrap();
    assert!(audit.intent(&target()).is_err());
    assert!(began.elapsed() < DEADLINE);
}

#[test]
fn a_write_that_hangs_is_given_up_once_and_not_waited_for_again() {
    // A FIFO takes 64 KiB, then writing waits for a reader.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let audit = Audit::open(&path, clock()).unwrap();
    let giant = Target {
        name: "x".repeat(100_000),
        ..target()
    };
    let began = Instant::now();
    let error = format!("{:#}", audit.intent(&giant).unwrap_err());
    assert!(error.ends_with("timed out after 5 s"), "{error}");
    assert!(audit.intent(&target()).is_err());
    assert!(began.elapsed() < DEADLINE + Duration::from_secs(2));
}

#[test]
fn under_a_name_of_its_own_it_follows_no_link_and_takes_no_file_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    let victim = folder.path().join("victim");
    fs::write(&victim, "theirs\n").unwrap();
    let refused = |what: &str| {
        let error = format!("{:#}", Audit::open_own(&path, clock()).unwrap_err());
        assert!(
            error.contains("can't open the audit file"),
            "{what}: {error}"
        );
        assert_eq!(fs::read_to_string(&victim).unwrap(), "theirs\n", "{what}");
        fs::remove_file(&path).unwrap();
    };
    symlink(&victim, &path).unwrap();
    refused("a link");
    fs::hard_link(&victim, &path).unwrap();
    refused("another name of a file");
    let fifo = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(fifo.unwrap().success());
    refused("a FIFO");
    fs::write(&path, "").unwrap();
    chown(&path, Some(1), None).unwrap();
    refused("another user's");

    let own = Audit::open_own(&path, clock()).unwrap();
    own.intent(&target()).unwrap();
    let again = Audit::open_own(&path, clock()).unwrap();
    again.intent(&target()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}
