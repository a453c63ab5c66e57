//! What no real daemon does on demand: answers played over a Unix socket.

/// How many containers are inspected, in which order, for how long.
mod inspects;
/// The daemon's own stacks.
mod stacks;

use crate::support::replay::{FullQueue, Play, Played};
use plegdoctor::{
    io::probe::{Outcome, Probe},
    runtime::{
        Call, Runtime,
        docker::{Ask, Docker, LogRequest, probe},
    },
    syntax::id::ContainerId,
};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_millis(400);
/// How much longer than its deadline a call may take on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

fn ask<'a>(endpoint: &'a str, first: &'a [ContainerId]) -> Ask<'a> {
    Ask {
        endpoint,
        probe_timeout: TIMEOUT,
        max_unanswered: 16,
        first,
        now: chrono::DateTime::UNIX_EPOCH.fixed_offset(),
        inspect_budget: Duration::from_secs(10),
        again: &[],
        stacks_anyway: false,
        transcript: None,
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
        runtime.probe(Call::Ping),
        runtime.probe(Call::Version),
        runtime.probe(Call::Info),
        runtime.probe(Call::List),
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
