//! A container's log, read through a real Docker daemon.

use crate::support::daemon::{Daemon, TRUE};
use plegdoctor::{
    io::probe::Outcome,
    runtime::docker::{ContainerLog, Docker, LogRequest},
};
use serde_json::json;
use std::time::Duration;

#[test]
fn a_containers_log_is_read_with_and_without_a_terminal() {
    let daemon = Daemon::start();
    let script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done";
    for (name, terminal) in [("kubelet", false), ("kubelet.tty", true)] {
        daemon.exited_with(name, &["/busybox", "sh", "-c", script], terminal);
        let docker = open(&daemon);
        let (_, found) = docker.find(name);
        assert_eq!(found.map(|container| container.name).as_deref(), Some(name));

        let (log, text) = read(&docker, &all(name));
        assert_eq!(
            (log.probe.outcome, log.ended, log.lines, log.older_left),
            (Outcome::Answered, true, 6, false)
        );
        assert_eq!(log.bytes, text.len() as u64);
        let said: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(_, said)| said)
            .collect();
        for word in ["out 1", "err 1", "out 3", "err 3"] {
            assert!(said.contains(&word), "{name}: {text}");
        }
        let stamps = text.lines().all(|line| {
            chrono::DateTime::parse_from_rfc3339(line.split(' ').next().unwrap_or("")).is_ok()
        });
        assert!(stamps, "{text}");

        let (log, text) = read(
            &docker,
            &LogRequest {
                max_bytes: Some(1024),
                ..all(name)
            },
        );
        assert_eq!(
            (log.lines, log.ended, log.older_left),
            (2, true, true),
            "the newest lines are kept: {text}"
        );
        let future = daemon_time(&daemon) + chrono::TimeDelta::hours(1);
        let (log, _) = read(
            &docker,
            &LogRequest {
                since: Some(future),
                ..all(name)
            },
        );
        assert_eq!((log.lines, log.ended), (0, true));
    }
}

#[test]
fn only_the_container_of_exactly_that_name_is_found() {
    let daemon = Daemon::start();
    daemon.create("kubelet-proxy", &json!({}), TRUE);
    daemon.create("my-kubelet", &json!({}), TRUE);
    let docker = open(&daemon);
    let (probe, found) = docker.find("kubelet");
    assert_eq!((probe.outcome, found), (Outcome::Answered, None));
    let (log, _) = read(&docker, &all("kubelet"));
    assert_eq!((log.probe.outcome, log.bytes), (Outcome::Gone, 0));
}

fn open(daemon: &Daemon) -> Docker {
    Docker::open(&daemon.endpoint(), Duration::from_secs(3))
        .unwrap_or_else(|error| panic!("{error:#}"))
}

fn all(name: &str) -> LogRequest<'_> {
    LogRequest {
        name,
        since: None,
        max_bytes: None,
        timeout: Duration::from_secs(10),
    }
}

fn read(docker: &Docker, request: &LogRequest<'_>) -> (ContainerLog, String) {
    let mut bytes = Vec::new();
    let log = docker.log(request, &mut |piece| {
        bytes.extend_from_slice(piece);
        true
    });
    (log, String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the daemon's clock.
fn daemon_time(daemon: &Daemon) -> plegdoctor::syntax::time::Time {
    let told = daemon.api("GET", "/info", &json!(null)).good();
    let time = told["SystemTime"]
        .as_str()
        .map(chrono::DateTime::parse_from_rfc3339);
    time.and_then(Result::ok)
        .unwrap_or_else(|| panic!("{told}"))
}
