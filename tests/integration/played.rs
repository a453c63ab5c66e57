//! What no real daemon does on demand: answers played over a Unix socket.

use crate::support::replay::{FullQueue, Play, Played};
use plegdoctor::{
    id::ContainerId,
    runtime::{
        Container, Outcome, Probe, Runtime,
        docker::{Ask, Docker, LogRequest, probe},
    },
};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_millis(400);
/// How much longer than its deadline a call may take on a busy machine.
const SLACK: Duration = Duration::from_millis(600);

fn ask<'a>(endpoint: &'a str, first: &'a [ContainerId]) -> Ask<'a> {
    Ask {
        endpoint,
        named: true,
        probe_timeout: TIMEOUT,
        max_unanswered: 16,
        first,
        now: chrono::DateTime::UNIX_EPOCH.fixed_offset(),
        inspect_budget: Duration::from_secs(10),
    }
}

fn asked(ask: &Ask<'_>) -> Runtime {
    probe(ask).unwrap_or_else(|error| panic!("{error:#}"))
}

fn open(endpoint: &str) -> Docker {
    Docker::open(endpoint, TIMEOUT).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Returns the id that consists of that number.
fn id(number: usize) -> ContainerId {
    ContainerId::parse(&format!("{number:064x}")).unwrap_or_else(|| panic!("{number}"))
}

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

/// Asks for the list of a daemon that answers everything with `play`.
fn listed(play: Play) -> Probe {
    let played = Played::start(move |_| play.clone());
    let started = Instant::now();
    let list = open(&played.endpoint()).list();
    assert!(
        started.elapsed() < TIMEOUT + SLACK,
        "{:?}",
        started.elapsed()
    );
    assert_eq!(list.containers, []);
    list.probe
}

#[test]
fn bad_answers_are_told_apart() {
    let raw = |text: &str| Play::Raw(text.as_bytes().to_vec());
    let huge = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n[]", "x".repeat(1 << 20));
    for (play, outcome, words) in [
        (
            raw(""),
            Outcome::Refused,
            "it closed the connection without an answer",
        ),
        (
            raw("HTTP/1.1 200 OK\r\nCont"),
            Outcome::Refused,
            "it closed the connection without an answer",
        ),
        (
            raw("SSH-2.0-OpenSSH_8.4\r\n\r\n"),
            Outcome::Error,
            "its answer is not HTTP",
        ),
        (raw(&huge), Outcome::Error, "its answer is not HTTP"),
        (
            raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n[]"),
            Outcome::Error,
            "its answer broke off after 2 bytes",
        ),
        (
            Play::ok("<html>"),
            Outcome::Error,
            "its answer is no list of containers",
        ),
        (
            Play::ok("{}"),
            Outcome::Error,
            "its answer is no list of containers",
        ),
        (
            Play::Http(500, r#"{"message":"out of\nspace"}"#.to_owned()),
            Outcome::Error,
            "HTTP 500: out of\nspace",
        ),
        (
            Play::Http(503, "proxy".to_owned()),
            Outcome::Error,
            "HTTP 503: proxy",
        ),
        (
            Play::Http(404, r#"{"message":"page not found"}"#.to_owned()),
            Outcome::Error,
            "HTTP 404: page not found",
        ),
        (
            Play::Http(204, String::new()),
            Outcome::Error,
            "its answer is no list of containers",
        ),
    ] {
        let probe = listed(play.clone());
        assert_eq!(probe.outcome, outcome, "{play:?}");
        assert!(
            probe
                .error
                .as_deref()
                .is_some_and(|error| error.starts_with(words)),
            "{words}: {probe:?}"
        );
    }
}

#[test]
fn the_daemons_words_are_cut_at_a_limit() {
    let probe = listed(Play::Http(500, "ä".repeat(1 << 20)));
    assert!(
        probe
            .error
            .is_some_and(|error| error.len() < 5000 && error.ends_with('…'))
    );
}

#[test]
fn the_deadline_covers_head_and_body() {
    let pause = Duration::from_millis(10);
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n[".to_vec();
    for (play, words) in [
        (Play::Never, None),
        (
            Play::Trickle(b"HTTP/1.1 200 OK\r\nX: ".to_vec(), b'x', pause),
            None,
        ),
        (
            Play::Trickle(head, b' ', pause),
            Some("its answer began and did not end"),
        ),
    ] {
        let probe = listed(play.clone());
        assert_eq!(
            (probe.outcome, probe.error.as_deref()),
            (Outcome::TimedOut, words),
            "{play:?}"
        );
        assert!(
            probe.took >= TIMEOUT && probe.took < TIMEOUT + SLACK,
            "{probe:?}"
        );
    }
}

#[test]
fn a_chunked_list_with_unknown_states_and_bad_entries_is_not_lost() {
    let body = format!(
        r#"[{{"Id":"{}","State":"stopping","Names":null,"Labels":null}},{{"Names":["/x"]}}]"#,
        id(1)
    );
    let (one, two) = body.split_at(20);
    let (first, second) = (one.len(), two.len());
    let answer = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{first:x}\r\n{one}\r\n{second:x}\r\n{two}\r\n0\r\n\r\n"
    );
    let played = Played::start(move |_| Play::Raw(answer.clone().into_bytes()));
    let list = open(&played.endpoint()).list();
    assert_eq!(list.probe.outcome, Outcome::Answered);
    assert_eq!(
        list.probe.error.as_deref(),
        Some("1 of its entries have no id")
    );
    assert_eq!(list.bytes, body.len() as u64);
    let states: Vec<&str> = list
        .containers
        .iter()
        .map(|container| container.listed_state.as_str())
        .collect();
    assert_eq!(states, ["stopping"]);
}

#[test]
fn a_full_listen_queue_is_no_answer() {
    let full = FullQueue::start();
    let endpoint = full.endpoint();
    let started = Instant::now();
    let runtime = asked(&ask(&endpoint, &[id(1)]));
    assert!(
        started.elapsed() < TIMEOUT + SLACK,
        "{:?}",
        started.elapsed()
    );
    for probe in [
        &runtime.ping,
        &runtime.version_probe,
        &runtime.info,
        &runtime.list,
    ] {
        assert_eq!(
            (probe.outcome, probe.error.as_deref()),
            (Outcome::TimedOut, Some("its listen queue is full"))
        );
    }
    assert_eq!(runtime.containers, []);
    let removal = open(&endpoint).remove(&id(1), TIMEOUT);
    assert_eq!(
        removal.probe.error.as_deref(),
        Some("its listen queue is full")
    );
}

#[test]
fn a_listen_queue_that_empties_in_time_costs_nothing_but_time() {
    let full = FullQueue::start();
    let docker = open(&full.endpoint());
    let probe = std::thread::scope(|scope| {
        let list = scope.spawn(|| docker.list().probe);
        full.accept_one_after(TIMEOUT / 4);
        list.join().unwrap()
    });
    // Queued at last, and never served.
    assert_eq!((probe.outcome, probe.error), (Outcome::TimedOut, None));
}

#[test]
fn what_is_no_socket_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    for (path, words) in [
        (dir.path().to_owned(), "is a directory, not a socket"),
        (file, "is a file, not a socket"),
    ] {
        let probe = open(&format!("unix://{}", path.display())).list().probe;
        assert_eq!(probe.outcome, Outcome::Refused);
        assert!(
            probe.error.is_some_and(|error| error.ends_with(words)),
            "{words}"
        );
    }
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
        runtime.api_version.as_deref(),
        Some("1.41"),
        "from the ping's head"
    );
    assert_eq!(
        runtime.version.as_deref(),
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
    assert_eq!(runtime.list.outcome, Outcome::TimedOut);
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
fn an_inspect_that_tells_of_another_container_is_an_error() {
    let played = Played::start(|_| inspection("/containers/b15929dfcea1/json"));
    let container = open(&played.endpoint()).inspect(&id(1));
    assert_eq!(
        (container.probe.outcome, container.inspected),
        (Outcome::Error, None)
    );
}

#[test]
fn a_removal_tells_what_the_daemon_said_or_that_it_said_nothing() {
    let busy = r#"{"message":"removal of container b1 is already in progress"}"#;
    for (play, outcome, status, words) in [
        (
            Play::Http(204, String::new()),
            Outcome::Answered,
            Some(204),
            None,
        ),
        (
            Play::Http(404, "{}".to_owned()),
            Outcome::Gone,
            Some(404),
            Some("HTTP 404: {}"),
        ),
        (
            Play::Http(409, busy.to_owned()),
            Outcome::Error,
            Some(409),
            Some("HTTP 409: removal of container b1 is already in progress"),
        ),
        (
            Play::Raw(Vec::new()),
            Outcome::Refused,
            None,
            Some("it closed the connection without an answer"),
        ),
        (Play::Never, Outcome::TimedOut, None, None),
    ] {
        let played = Played::start({
            let play = play.clone();
            move |_| play.clone()
        });
        let removal = open(&played.endpoint()).remove(&id(1), TIMEOUT);
        assert_eq!(
            (removal.probe.outcome, removal.status),
            (outcome, status),
            "{play:?}"
        );
        assert_eq!(removal.probe.error.as_deref(), words, "{play:?}");
    }
}

#[test]
fn a_log_that_does_not_end_is_cut_at_the_deadline_and_at_the_limit() {
    let frame = [&[1, 0, 0, 0, 0, 0, 0, 4][..], b"abc\n"].concat();
    let mut head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    head.extend(frame.repeat(3));
    let played = Played::start(move |_| Play::Trickle(head.clone(), 1, Duration::from_millis(10)));
    let docker = open(&played.endpoint());
    let request = LogRequest {
        name: "kubelet",
        since: None,
        max_bytes: None,
        timeout: TIMEOUT,
    };
    let started = Instant::now();
    let log = docker.log(&request, &mut |_| true);
    assert!(
        started.elapsed() < TIMEOUT + SLACK,
        "{:?}",
        started.elapsed()
    );
    assert_eq!(
        (log.probe.outcome, log.bytes, log.lines, log.ended),
        (Outcome::TimedOut, 12, 3, false)
    );

    let log = docker.log(
        &LogRequest {
            max_bytes: Some(9),
            ..request
        },
        &mut |_| true,
    );
    assert_eq!(
        (log.probe.outcome, log.bytes, log.ended),
        (Outcome::Answered, 8, false)
    );
    let log = docker.log(&request, &mut |_| false);
    assert_eq!(
        (log.probe.outcome, log.bytes, log.ended),
        (Outcome::Answered, 4, false)
    );
    let log = docker.log(
        &LogRequest {
            name: "../images",
            ..request
        },
        &mut |_| true,
    );
    assert_eq!((log.probe.outcome, log.bytes), (Outcome::Gone, 0));
}
