//! Shims and containers that do not fit, made so on a real Docker daemon.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use crate::support::{
    daemon::Daemon,
    judge::case,
    process::{self, wait_until},
    program,
};
use serde_json::{Value, json};
use std::{fs, process::Command, thread::sleep, time::Duration};

/// For how long a shim tries to tell containerd how its container ended: 5 times, 1 to 5 s apart (containerd
/// runtime/v2/shim/publisher.go).
const GIVES_UP: Duration = Duration::from_secs(20);
/// What is younger than a minute is left alone.
const SETTLES: Duration = Duration::from_secs(150);

/// Returns the findings of this rule.
#[track_caller]
fn leaked(daemon: &Daemon) -> Vec<Value> {
    let report = program::judged(&daemon.endpoint());
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter(|finding| finding["id"] == "leaked-shim")
        .cloned()
        .collect()
}

fn ids(finding: &Value) -> Vec<&str> {
    let subjects = finding["subjects"].as_array().unwrap().iter();
    subjects
        .filter_map(|subject| subject["id"].as_str())
        .collect()
}

fn commands(finding: &Value) -> Vec<&str> {
    let remedies = finding["remedies"].as_array().unwrap().iter();
    remedies
        .map(|remedy| remedy["command"].as_str().unwrap())
        .collect()
}

#[test]
fn a_container_is_said_to_run_for_ever_where_its_end_or_its_shim_was_lost_and_a_stop_cures_that() {
    let daemon = Daemon::start();
    daemon.running("healthy");
    let (lost, orphan, killed) = (
        daemon.running("lost"),
        daemon.running("orphan"),
        daemon.running("killed"),
    );
    // With containerd there, a shim that is killed leaves nothing behind: the workload is killed, and Docker told.
    process::signal(daemon.shims(&killed)[0], "KILL");
    daemon.wait_for(&killed);
    assert_eq!(daemon.inspect(&killed)["State"]["ExitCode"], 137);

    let (workload, shim) = (daemon.workload(&lost), daemon.shims(&lost));
    daemon.freeze_dockerd();
    daemon.kill_containerd();
    process::signal(workload, "KILL");
    process::signal(daemon.shims(&orphan)[0], "KILL");
    sleep(GIVES_UP);
    daemon.thaw_dockerd();
    daemon.wait_for_containerd();
    for id in [&lost, &orphan] {
        assert_eq!(daemon.inspect(id)["State"]["Status"], "running");
    }

    let settled = || leaked(&daemon).len() == 2;
    assert!(wait_until(SETTLES, settled), "{:#?}", leaked(&daemon));
    let found = leaked(&daemon);
    let (childless, shimless) = (&found[0], &found[1]);
    assert_eq!(ids(childless), [lost.as_str()]);
    assert_eq!(ids(shimless), [orphan.as_str()]);
    for finding in &found {
        assert_eq!(finding["confidence"], "confirmed", "{finding:#}");
    }
    assert_eq!(childless["subjects"][1]["pid"], shim[0]);
    let stop = format!("docker -H {} stop {}", daemon.endpoint(), &lost[..12]);
    assert!(
        commands(childless).contains(&stop.as_str()),
        "{childless:#}"
    );

    for id in [&lost, &orphan] {
        daemon
            .api("POST", &format!("/containers/{id}/stop?t=1"), &json!(null))
            .good();
        assert_eq!(daemon.inspect(id)["State"]["Running"], false);
    }
    assert_eq!(leaked(&daemon), [json!(null); 0]);
    assert!(daemon.shims(&lost).is_empty());
}

#[test]
fn a_shim_whose_container_docker_forgot_is_told_and_the_remedy_ends_it() {
    let daemon = Daemon::start();
    let forgotten = daemon.running("forgotten");
    let (workload, shim) = (daemon.workload(&forgotten), daemon.shims(&forgotten));
    daemon.kill_dockerd();
    fs::remove_dir_all(daemon.root().join("data/containers").join(&forgotten)).unwrap();
    daemon.restart_dockerd();
    assert!(!daemon.exists(&forgotten));
    daemon.running("healthy");
    assert_eq!(
        leaked(&daemon),
        [json!(null); 0],
        "it may have begun just now"
    );

    let settled = || leaked(&daemon).len() == 1;
    assert!(wait_until(SETTLES, settled), "{:#?}", leaked(&daemon));
    let found = &leaked(&daemon)[0];
    assert_eq!(ids(found), [forgotten.as_str()]);
    assert_eq!(found["confidence"], "confirmed");
    assert_eq!(found["subjects"][1]["pid"], shim[0]);

    let commands = commands(found);
    let delete = commands
        .iter()
        .find(|command| command.starts_with("ctr "))
        .unwrap();
    let done = Command::new("sh").args(["-c", delete]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let gone = || leaked(&daemon).is_empty() && daemon.shims(&forgotten).is_empty();
    assert!(wait_until(Duration::from_secs(30), gone));
    assert!(!fs::exists(format!("/proc/{workload}")).unwrap());
}

#[test]
fn a_stopped_shim_is_told_once_its_container_has_ended_and_told_to_go_on() {
    let daemon = Daemon::start();
    let (ended, lives) = (daemon.running("ended"), daemon.running("lives"));
    let (shim, other) = (daemon.shims(&ended)[0], daemon.shims(&lives)[0]);
    process::freeze(shim);
    process::freeze(other);
    process::signal(daemon.workload(&ended), "KILL");

    let settled = || leaked(&daemon).len() == 1;
    assert!(wait_until(SETTLES, settled), "{:#?}", leaked(&daemon));
    let found = &leaked(&daemon)[0];
    assert_eq!(ids(found), [ended.as_str()]);
    let go_on = format!("kill -CONT {shim}");
    assert_eq!(commands(found)[1], go_on);

    process::signal(shim, "CONT");
    daemon.wait_for(&ended);
    assert_eq!(daemon.inspect(&ended)["State"]["ExitCode"], 137);
    assert_eq!(leaked(&daemon), [json!(null); 0]);
    process::signal(other, "CONT");
}

#[test]
fn a_shim_that_is_gone_at_a_second_look_was_only_ending_with_its_container() {
    let case = case("ends-unheard");
    let here = case.folder.as_path();
    // Its container was removed: Docker lists it no more.
    let list = here.join("docker/containers.json");
    let mut all: Vec<Value> = serde_json::from_slice(&fs::read(&list).unwrap()).unwrap();
    let before = all.len();
    all.retain(|it| !it["Id"].as_str().unwrap().starts_with("69535c5b8c0a"));
    assert_eq!(all.len(), before - 1);
    fs::write(&list, serde_json::to_vec(&all).unwrap()).unwrap();
    let titles = || {
        let report = program::run(&[
            "diagnose",
            "--capture",
            here.to_str().unwrap(),
            "--now",
            "2026-11-30T09:39:15Z",
            "--format",
            "json",
        ])
        .report();
        let findings = report["findings"].as_array().unwrap().clone();
        let of_shim = findings
            .iter()
            .filter(|finding| finding.to_string().contains("21877"));
        of_shim.count()
    };
    assert_eq!(titles(), 1);
    let told = here.join("host/told/lives");
    fs::create_dir_all(&told).unwrap();
    fs::write(told.join("21877"), "true").unwrap();
    assert_eq!(titles(), 1);
    fs::write(told.join("21877"), "false").unwrap();
    assert_eq!(titles(), 0);
}
