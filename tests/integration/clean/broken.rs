//! Containers that never answer, removals that never end, a daemon that dies, a user who has seen enough.

use super::{clean, command, read, text};
use crate::support::{
    daemon::{Daemon, SLEEP},
    process::{signal, wait_until},
    proxy::{Pass, Proxy},
};
use serde_json::json;
use std::{
    thread::sleep,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_container_whose_inspect_hangs_is_left_alone_and_said_so() {
    let daemon = Daemon::start();
    let hung = daemon.create("slow-start", &json!({}), SLEEP);
    daemon.many_exited(3);
    daemon.hang_start(&hung);
    let proxy = Proxy::start(daemon.socket(), |_| Pass::On);
    let request = [
        "--exited",
        "--created",
        "--include-non-pods",
        "--yes",
        "--probe-timeout=1s",
    ];
    let (code, cleaned) = clean(&proxy.endpoint(), &request);
    assert_eq!((code, cleaned.removed), (1, 3));
    assert_eq!(cleaned.outcome(&hung), None);
    let [left] = &cleaned.left_alone[..] else {
        panic!("{cleaned:?}")
    };
    assert_eq!(
        (left.id.as_str(), left.name.as_str()),
        (hung.as_str(), "slow-start")
    );
    assert_eq!(
        (left.pod.as_deref(), left.namespace.as_deref()),
        (None, None)
    );
    assert_eq!(left.listed_state, "created", "what Docker 20.10 says");
    assert!(
        left.reason.starts_with("timed out after 1."),
        "{}",
        left.reason
    );
    assert!(!proxy.removals().iter().any(|line| line.contains(&hung)));
    let (code, out, _) = text(&daemon.endpoint(), &request);
    assert_eq!(code, 1);
    assert!(
        out.starts_with("Nothing to remove.\nLeft alone: 1 container"),
        "{out}"
    );
    assert!(out.contains("slow-start"), "{out}");
    daemon.unhang();
}

#[test]
fn removals_without_answer_keep_their_slots_and_nothing_more_is_sent() {
    let daemon = Daemon::start();
    daemon.many_exited(6);
    let proxy = Proxy::start(daemon.socket(), |seen| {
        if seen.line.starts_with("DELETE") {
            Pass::Never
        } else {
            Pass::On
        }
    });
    let request = ["--exited", "--yes", "--jobs=2", "--timeout=500ms"];
    let began = Instant::now();
    let (code, cleaned) = clean(&proxy.endpoint(), &request);
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!((code, cleaned.removed, cleaned.failed), (1, 0, 0));
    let outcomes: Vec<_> = cleaned
        .results
        .iter()
        .map(|it| it.outcome.as_str())
        .collect();
    let (unanswered, planned) = (["unanswered"; 2], ["planned"; 4]);
    assert_eq!(outcomes, [&unanswered[..], &planned[..]].concat());
    assert_eq!(proxy.removals().len(), 2);
    assert!(
        cleaned.results[0]
            .reason
            .as_ref()
            .unwrap()
            .ends_with("; it may still happen")
    );
    assert_eq!(cleaned.notes, ["stopped early: 2 calls stay unanswered"]);
}

#[test]
fn one_removal_without_answer_does_not_hold_up_the_others() {
    let daemon = Daemon::start();
    daemon.many_exited(6);
    let stuck = daemon.exited("stuck", &json!({}));
    let path = format!("DELETE /containers/{stuck}");
    let proxy = Proxy::start(daemon.socket(), move |seen| {
        if seen.line.starts_with(&path) {
            Pass::Never
        } else {
            Pass::On
        }
    });
    let request = [
        "--exited",
        "--include-non-pods",
        "--yes",
        "--jobs=2",
        "--timeout=2s",
    ];
    let (code, cleaned) = clean(&proxy.endpoint(), &request);
    assert_eq!((code, cleaned.removed), (1, 6));
    assert_eq!(cleaned.outcome(&stuck), Some("unanswered"));
}

/// Delays each removal, so that there is a middle to do something in.
fn slow(daemon: &Daemon, pause: Duration) -> Proxy {
    Proxy::start(daemon.socket(), move |seen| {
        if seen.line.starts_with("DELETE") {
            sleep(pause);
        }
        Pass::On
    })
}

#[test]
fn ctrl_c_ends_after_those_in_flight_and_tells_what_was_done() {
    let daemon = Daemon::start();
    daemon.many_exited(12);
    let proxy = slow(&daemon, Duration::from_millis(300));
    let request = ["--exited", "--yes", "--jobs=2", "--format=json"];
    let child = command(&proxy.endpoint(), &request).spawn().unwrap();
    assert!(wait_until(PATIENCE, || proxy.removals().len() >= 3));
    signal(child.id(), "INT");
    let (code, cleaned) = read(&child.wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert_eq!(
        cleaned.removed,
        proxy.removals().len(),
        "those in flight have ended"
    );
    assert!((3..12).contains(&cleaned.removed), "{}", cleaned.removed);
    assert_eq!(cleaned.notes, ["stopped early: interrupted"]);
    for it in &cleaned.results {
        let gone = it.outcome == "removed";
        assert_eq!(daemon.exists(&it.id), !gone);
        let reason = (!gone).then_some("not sent: interrupted");
        assert_eq!(it.reason.as_deref(), reason);
    }
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_what_hangs() {
    let daemon = Daemon::start();
    daemon.many_exited(2);
    let proxy = slow(&daemon, Duration::from_secs(20));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    let audit = file.to_str().unwrap();
    let request = [
        "--exited",
        "--yes",
        "--jobs=1",
        "--format=json",
        "--audit",
        audit,
    ];
    let child = command(&proxy.endpoint(), &request).spawn().unwrap();
    assert!(wait_until(PATIENCE, || proxy.removals().len() == 1));
    let began = Instant::now();
    signal(child.id(), "INT");
    sleep(Duration::from_millis(300));
    signal(child.id(), "INT");
    let (code, cleaned) = read(&child.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(10));
    let outcomes: Vec<_> = cleaned
        .results
        .iter()
        .map(|it| it.outcome.as_str())
        .collect();
    assert_eq!((code, outcomes), (1, vec!["unanswered", "planned"]));
    let lines = std::fs::read_to_string(&file).unwrap();
    let ends: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["outcome"].take())
        .collect();
    assert_eq!(ends, [json!(null), json!("unanswered")]);
}

#[test]
fn a_daemon_killed_in_the_middle_leaves_no_lie_behind() {
    let daemon = Daemon::start();
    daemon.many_exited(30);
    let proxy = slow(&daemon, Duration::from_millis(100));
    let request = ["--exited", "--yes", "--jobs=4", "--format=json"];
    let child = command(&proxy.endpoint(), &request).spawn().unwrap();
    assert!(wait_until(PATIENCE, || proxy.removals().len() >= 9));
    daemon.kill_dockerd();
    let (code, cleaned) = read(&child.wait_with_output().unwrap());
    assert_eq!(code, 1);
    assert!((1..30).contains(&cleaned.removed), "{}", cleaned.removed);
    assert!(
        cleaned.notes[0].starts_with("stopped early: Docker is down"),
        "{:?}",
        cleaned.notes
    );
    daemon.restart_dockerd();
    for it in &cleaned.results {
        match it.outcome.as_str() {
            "removed" | "gone" => assert!(!daemon.exists(&it.id)),
            "planned" => assert!(daemon.exists(&it.id)),
            "failed" | "unanswered" => assert!(it.reason.is_some()),
            other => panic!("{other}"),
        }
    }
    let (code, cleaned) = clean(&daemon.endpoint(), &["--exited", "--dead", "--yes"]);
    assert_eq!((code, cleaned.failed), (0, 0));
}

#[test]
fn a_daemon_frozen_in_the_middle_is_sent_no_more_than_there_are_slots() {
    let daemon = Daemon::start();
    daemon.many_exited(30);
    let proxy = slow(&daemon, Duration::from_millis(100));
    let request = [
        "--exited",
        "--yes",
        "--jobs=4",
        "--timeout=1s",
        "--probe-timeout=1s",
        "--format=json",
    ];
    let child = command(&proxy.endpoint(), &request).spawn().unwrap();
    assert!(wait_until(PATIENCE, || proxy.removals().len() >= 9));
    daemon.freeze_dockerd();
    let began = Instant::now();
    let (code, cleaned) = read(&child.wait_with_output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(15));
    assert_eq!(code, 1);
    assert_eq!(cleaned.notes, ["stopped early: 4 calls stay unanswered"]);
    let ended = |outcome: &str| {
        let ended = cleaned.results.iter().filter(|it| it.outcome == outcome);
        ended.count()
    };
    assert!(cleaned.removed >= 1);
    assert_eq!(ended("unanswered") + ended("failed"), 4);
    assert_eq!(ended("planned"), 26 - cleaned.removed);
    daemon.thaw_dockerd();
    for it in &cleaned.results {
        match it.outcome.as_str() {
            "removed" => assert!(!daemon.exists(&it.id)),
            "planned" | "failed" => assert!(daemon.exists(&it.id)),
            other => assert_eq!(other, "unanswered"),
        }
    }
}

#[test]
fn without_a_daemon_or_with_a_frozen_one_it_says_so_and_exits_2() {
    let daemon = Daemon::start();
    let endpoint = daemon.endpoint();
    daemon.freeze_dockerd();
    let began = Instant::now();
    let (code, out, err) = text(
        &endpoint,
        &["--dead", "--yes", "--probe-timeout=1s", "--timeout=1s"],
    );
    assert!(began.elapsed() < Duration::from_secs(8));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.starts_with("plegdoctor: Docker at unix://"), "{err}");
    assert!(
        err.contains("does not answer: listing containers timed out after 1."),
        "{err}"
    );
    daemon.thaw_dockerd();
    daemon.kill_dockerd();
    let (code, out, err) = text(&endpoint, &["--dead", "--yes"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("nothing listens on /var/tmp/pd."), "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    daemon.restart_dockerd();
}
