//! How many containers are inspected, in which order, for how long; and what goes over the wire.

use super::{SLACK, TIMEOUT, ask, asked, id, open};
use crate::support::replay::{Play, Played};
use plegdoctor::{
    io::probe::Outcome,
    runtime::{
        Call, Container,
        docker::{Ask, LogRequest},
    },
    syntax::id::ContainerId,
};
use std::time::{Duration, Instant};

fn list(count: usize) -> Play {
    let entry = |n| {
        format!(
            r#"{{"Id":"{}","Names":["/c{n}"],"State":"running","Status":"Up"}}"#,
            id(n)
        )
    };
    Play::ok(format!(
        "[{}]",
        (0..count).map(entry).collect::<Vec<_>>().join(",")
    ))
}

/// Returns the answer to an inspect of the container that `path` names.
fn inspection(path: &str) -> Play {
    let id = path.split('/').nth(2).unwrap_or_default();
    let whole = format!("{id:0<64}");
    Play::ok(format!(
        r#"{{"Id":"{whole}","Name":"/x","State":{{"Status":"exited"}}}}"#
    ))
}

fn outcomes(containers: &[Container], outcome: Outcome) -> usize {
    containers
        .iter()
        .filter(|container| container.probe.outcome == outcome)
        .count()
}

#[test]
fn no_more_inspects_are_left_unanswered_than_allowed() {
    let played = Played::start(|request| match request {
        "GET /containers/json?all=1" => list(40),
        path if path.ends_with("/json") => Play::Never,
        _ => Play::ok("{}"),
    });
    let endpoint = played.endpoint();
    let started = Instant::now();
    let runtime = asked(&Ask {
        max_unanswered: 5,
        ..ask(&endpoint, &[id(39)])
    });
    assert!(
        started.elapsed() < TIMEOUT + SLACK,
        "{:?}",
        started.elapsed()
    );
    let inspects = played
        .requests()
        .iter()
        .filter(|request| request.contains("/containers/0"))
        .count();
    assert_eq!(
        (inspects, outcomes(&runtime.containers, Outcome::TimedOut)),
        (5, 5)
    );
    assert_eq!(outcomes(&runtime.containers, Outcome::NotProbed), 35);
    assert_eq!(
        runtime.containers[39].probe.outcome,
        Outcome::TimedOut,
        "the log's id comes first"
    );
    let words = runtime.containers[38].probe.error.as_deref();
    assert_eq!(words, Some("not asked: 5 inspects were left unanswered"));
}

#[test]
fn inspecting_stops_when_its_time_is_up() {
    let played = Played::start(|request| match request {
        "GET /containers/json?all=1" => list(100),
        path if path.ends_with("/json") => {
            Play::After(Duration::from_millis(600), Box::new(inspection(path)))
        }
        _ => Play::ok("{}"),
    });
    let endpoint = played.endpoint();
    let budget = Duration::from_secs(1);
    let started = Instant::now();
    let runtime = asked(&Ask {
        inspect_budget: budget,
        again: &[],
        stacks_anyway: false,
        transcript: None,
        probe_timeout: Duration::from_secs(5),
        ..ask(&endpoint, &[])
    });
    assert!(
        started.elapsed() < budget * 2 + SLACK,
        "{:?}",
        started.elapsed()
    );
    let answered = outcomes(&runtime.containers, Outcome::Answered);
    assert_eq!(answered, 32, "two rounds of sixteen begin within the time");
    assert_eq!(outcomes(&runtime.containers, Outcome::NotProbed), 68);
    let words = runtime.containers[99].probe.error.as_deref();
    assert_eq!(words, Some("not asked: inspecting took longer than 1 s"));
}

#[test]
fn without_a_list_the_logs_ids_are_inspected_all_the_same() {
    let hung = format!("GET /containers/{}/json", id(7));
    let played = Played::start(move |request| match request {
        "GET /_ping" => Play::ok("OK"),
        path if path == hung => Play::Never,
        "GET /containers/b15929dfcea1/json" => inspection(request),
        path if path.starts_with("GET /containers/") && path.ends_with("/json") => {
            Play::Http(404, r#"{"message":"No such container"}"#.to_owned())
        }
        _ => Play::Never,
    });
    let endpoint = played.endpoint();
    let short = |text| ContainerId::parse(text).unwrap();
    let first = [id(7), short("000000000000"), short("b15929dfcea1"), id(8)];
    let started = Instant::now();
    let runtime = asked(&ask(&endpoint, &first[..3]));
    assert!(
        started.elapsed() < TIMEOUT * 2 + SLACK,
        "{:?}",
        started.elapsed()
    );
    assert_eq!(runtime.probe(Call::List).outcome, Outcome::TimedOut);
    let ends: Vec<(&str, Outcome)> = runtime
        .containers
        .iter()
        .map(|container| (container.id.short(), container.probe.outcome))
        .collect();
    // The second is the first, cut short.
    assert_eq!(
        ends,
        [
            ("000000000000", Outcome::TimedOut),
            ("b15929dfcea1", Outcome::Answered)
        ]
    );
    assert_eq!(
        runtime.containers[1]
            .inspected
            .as_ref()
            .map(|inspected| inspected.state.as_str()),
        Some("exited")
    );
    assert!(runtime.containers[1].id.is_whole());

    let runtime = asked(&ask(&endpoint, &first[3..]));
    assert_eq!(runtime.containers[0].probe.outcome, Outcome::Gone);
}

#[test]
fn requests_carry_no_version_and_each_has_its_own_connection() {
    let played = Played::start(|request| match request {
        "GET /containers/json?all=1" => list(3),
        path if path.ends_with("/json") => inspection(path),
        _ => Play::ok("{}"),
    });
    let endpoint = played.endpoint();
    let runtime = asked(&ask(&endpoint, &[]));
    assert_eq!(
        runtime.versions.api.as_deref(),
        Some("1.41"),
        "from the ping's head"
    );
    assert_eq!(
        runtime.versions.daemon.as_deref(),
        Some("20.10.24"),
        "from the ping's head"
    );
    let docker = open(&endpoint);
    assert_eq!(
        docker.remove(&id(1), TIMEOUT).probe.outcome,
        Outcome::Answered
    );
    docker.log(
        &LogRequest {
            name: "kubelet",
            since: None,
            max_bytes: None,
            timeout: TIMEOUT,
        },
        &mut |_| true,
    );

    let mut requests = played.requests();
    requests.sort();
    let inspect = |n| format!("GET /containers/{}/json", id(n));
    let mut expected = vec![
        format!("DELETE /containers/{}?v=false&force=false&link=false", id(1)),
        "GET /_ping".to_owned(),
        "GET /containers/json?all=1".to_owned(),
        "GET /containers/kubelet/logs?follow=false&stdout=true&stderr=true&since=0&until=0&timestamps=true&tail=all".to_owned(),
        "GET /info".to_owned(),
        "GET /version".to_owned(),
        inspect(0),
        inspect(1),
        inspect(2),
    ];
    expected.sort();
    assert_eq!(requests, expected);
    for head in played.heads() {
        assert!(
            head.to_ascii_lowercase().contains("\r\nhost: docker\r\n"),
            "{head}"
        );
    }
}

#[test]
fn an_inspect_that_tells_of_another_container_is_an_error() {
    let played = Played::start(|_| inspection("/containers/b15929dfcea1/json"));
    let container = open(&played.endpoint()).inspect(&id(1));
    assert_eq!(
        (container.probe.outcome, container.inspected),
        (Outcome::Error, None)
    );
}
