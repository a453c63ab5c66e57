//! Which Docker is asked, and whether it is about the same node as the log.

use super::{files, ready, text};
use crate::support::{
    program::{Told, fed, plegdoctor, run, told},
    replay::{Play, Played},
};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use std::fs;

/// A daemon that is well and has no container.
fn well() -> Played {
    Played::start(|asked| match asked {
        "GET /_ping" => Play::ok("OK"),
        "GET /containers/json?all=1" => Play::ok("[]"),
        _ => Play::ok(r#"{"Version":"20.10.24","ApiVersion":"1.41"}"#),
    })
}

/// Returns the present, as a file just written has it.
fn present() -> DateTime<Utc> {
    let file = tempfile::tempfile().unwrap();
    file.metadata().unwrap().modified().unwrap().into()
}

/// Looks at a log with nothing that tells which Docker to ask.
fn seen(log: &str, more: &[&str]) -> (Told, Value) {
    let args = [
        "diagnose",
        "--log",
        "-",
        "--format",
        "json",
        "--utc-offset",
        "+00:00",
    ];
    let told = fed(&[&args, more].concat(), log.as_bytes());
    let report = told.report();
    (told, report)
}

/// Returns the line of a kubelet that was well at that time.
fn ready_at(time: DateTime<Utc>) -> String {
    let line = ready("11:59:50");
    let (_, message) = line.split_once(".000000").unwrap();
    format!("I{}.000000{message}", time.format("%m%d %H:%M:%S"))
}

/// Fails unless Docker was not asked, for that reason.
#[track_caller]
fn not_asked(told: &Told, report: &Value, why: &str) {
    assert_eq!((told.code, &report["runtime"]), (0, &Value::Null));
    let note = report["notes"][0].as_str().unwrap();
    assert!(
        note.starts_with(&format!("Docker was not asked: {why}")),
        "{note}"
    );
    assert!(note.contains("--docker-host"), "{note}");
    assert_eq!(report["host"], Value::Null);
    let note = report["notes"][1].as_str().unwrap();
    assert!(
        note.starts_with(&format!("This host was not examined: {why}")),
        "{note}"
    );
}

#[test]
fn a_log_of_here_and_now_is_joined_with_this_host_unless_that_is_left_out() {
    let line = ready_at(present());
    let (_, report) = seen(&line, &["--no-docker"]);
    assert_eq!(report["host"]["root"], "/", "{report:#}");
    let (_, report) = seen(&line, &["--no-docker", "--no-host"]);
    assert_eq!(report["host"], Value::Null);
    assert_eq!(report["notes"], Value::Array(Vec::new()));
}

#[test]
fn a_host_that_is_named_is_looked_at_whatever_the_log_is() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("proc/1")).unwrap();
    fs::write(root.path().join("proc/1/mountinfo"), "").unwrap();
    let now = ["--no-docker", "--now", "2021-11-30T12:00:00Z"];
    let named = ["--host-root", text(root.path())];
    let (told, report) = seen(&ready("11:59:50"), &[now.as_slice(), &named].concat());
    assert_eq!(report["host"]["root"], named[1], "{told:?}");
    assert_eq!(told.code, 0, "{told:?}");
}

#[test]
fn an_old_log_is_not_joined_with_this_machines_docker() {
    let end = present() - TimeDelta::minutes(11);
    let (told, report) = seen(&ready_at(end), &[]);
    let why = format!(
        "the log ends at {}, more than 10 minutes from now",
        end.format("%Y-%m-%d %H:%M:%S")
    );
    not_asked(&told, &report, &why);
}

#[test]
fn what_is_looked_at_as_of_another_time_is_not_joined_with_the_present() {
    let (told, report) = seen(&ready("11:59:50"), &["--now", "2021-11-30T12:00:00Z"]);
    not_asked(&told, &report, "--now is not the current time");
}

#[test]
fn another_hosts_log_is_not_joined_with_this_machines_docker() {
    let now = present();
    let line = format!(
        "{} some-other-node-7 kubelet[2261]: {}",
        now.format("%b %e %H:%M:%S"),
        ready_at(now)
    );
    let (told, report) = seen(&line, &[]);
    not_asked(
        &told,
        &report,
        "the log is of another host, some-other-node-7",
    );
}

#[test]
fn a_named_docker_is_asked_whatever_the_log_is() {
    let line = format!(
        "Nov 30 11:59:50 some-other-node-7 kubelet[2261]: {}",
        ready("11:59:50")
    );
    let played = well();
    let endpoint = played.endpoint();
    let args = [
        "diagnose",
        "--log",
        "-",
        "--format",
        "json",
        "--now",
        "2026-12-30T12:00:00Z",
        "--docker-host",
        &endpoint,
    ];
    let told = fed(&args, line.as_bytes());
    let report = told.report();
    assert_eq!(
        (told.code, &report["notes"]),
        (0, &Value::Array(Vec::new())),
        "{report}"
    );
    assert_eq!(report["runtime"]["endpoint"], endpoint.as_str());
    assert!(
        played
            .requests()
            .contains(&"GET /containers/json?all=1".to_owned())
    );
}

#[test]
fn docker_host_is_honoured_and_an_option_wins_over_it() {
    let (env, option) = (well(), well());
    let told_env =
        told(plegdoctor(&["diagnose", "--no-log", "--no-host"]).env("DOCKER_HOST", env.endpoint()));
    assert_eq!(
        (told_env.code, told_env.err.as_str()),
        (0, ""),
        "{told_env:?}"
    );
    let asked = env.requests().len();
    assert!(asked >= 4, "{asked}");
    assert_eq!(option.requests(), [""; 0]);

    let endpoint = option.endpoint();
    let args = [
        "diagnose",
        "--no-log",
        "--no-host",
        "--docker-host",
        &endpoint,
    ];
    let told = told(plegdoctor(&args).env("DOCKER_HOST", env.endpoint()));
    assert_eq!(told.code, 0, "{told:?}");
    assert!(option.requests().len() >= 4);
    assert_eq!(env.requests().len(), asked, "not asked again");
}

#[test]
fn an_empty_docker_host_names_none() {
    let dir = files(&[("kubelet.log", ready("11:59:50").as_bytes())]);
    let log = dir.path().join("kubelet.log");
    let args = [
        "diagnose",
        "--log",
        text(&log),
        "--now",
        "2026-12-30T12:00:00Z",
    ];
    let told = told(plegdoctor(&args).env("DOCKER_HOST", ""));
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert!(told.out.contains("Docker was not asked"), "{told:?}");
}

#[test]
fn without_docker_nobody_is_asked() {
    let played = well();
    let dir = files(&[("kubelet.log", ready("11:59:50").as_bytes())]);
    let log = dir.path().join("kubelet.log");
    let endpoint = played.endpoint();
    let args = [
        "diagnose",
        "--no-docker",
        "--log",
        text(&log),
        "--docker-host",
        &endpoint,
    ];
    let told = run(&args);
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(played.requests(), [""; 0]);
}

#[test]
fn a_containers_log_is_not_read_where_docker_may_not_be_asked() {
    let played = well();
    let endpoint = played.endpoint();
    let args = [
        "diagnose",
        "--no-docker",
        "--log-container",
        "kubelet",
        "--docker-host",
        &endpoint,
    ];
    run(&args).refused(&["container kubelet", "--no-docker"]);
    assert_eq!(played.requests(), [""; 0]);
}
