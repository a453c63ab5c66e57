//! What is kept is replayed as it came.

use super::*;
use crate::runtime::docker::recording::Recording;
use hyper::{HeaderMap, header::HeaderValue};

fn answer(outcome: Outcome, micros: u64, error: Option<&str>, body: &[u8]) -> Answer {
    Answer {
        probe: Probe {
            outcome,
            took: Duration::from_nanos(micros * 1000 + 7),
            error: error.map(str::to_owned),
        },
        headers: HeaderMap::new(),
        body: body.to_vec(),
    }
}

#[test]
fn every_end_of_a_call_is_replayed_to_the_nanosecond_and_the_word() {
    let transcript = Transcript::new(|_, body| body);
    let all = [
        ("/_ping", answer(Outcome::Answered, 1_234, None, b"OK")),
        ("/info", answer(Outcome::TimedOut, 3_000_123, None, b"")),
        (
            "/version",
            answer(
                Outcome::TimedOut,
                3_000_001,
                Some("its answer began and did not end"),
                b"",
            ),
        ),
        (
            "/a",
            answer(Outcome::Refused, 9, Some("nothing listens on /x"), b""),
        ),
        (
            "/b",
            answer(Outcome::Denied, 9, Some("no permission for /x"), b""),
        ),
        (
            "/c",
            answer(
                Outcome::Gone,
                9,
                Some("HTTP 404: No such container: x"),
                b"",
            ),
        ),
        ("/d", answer(Outcome::Error, 9, Some("HTTP 500"), b"")),
    ];
    for (path, answer) in &all {
        transcript.answer(path, answer, answer.body.len() as u64, false);
    }
    let (files, left_out) = transcript.files();
    assert_eq!(left_out, 0);
    let recording = Recording::open(&files).unwrap();
    for (path, answer) in &all {
        let replayed = recording.answer(path);
        assert_eq!(replayed.probe, answer.probe, "{path}");
        assert_eq!(replayed.body, answer.body, "{path}");
    }
    assert!(!recording.is_missing());
}

#[test]
fn what_ping_said_of_the_daemon_and_a_missing_socket_are_kept() {
    let transcript = Transcript::new(|_, body| body);
    let mut ping = answer(Outcome::Refused, 1, Some("there is no /x"), b"");
    for (name, value) in [
        ("api-version", "1.41"),
        ("server", "Docker/20.10.24 (linux)"),
    ] {
        ping.headers.insert(name, HeaderValue::from_static(value));
    }
    transcript.answer("/_ping", &ping, ping.body.len() as u64, true);
    let recording = Recording::open(&transcript.files().0).unwrap();
    assert!(recording.is_missing());
    let replayed = recording.answer("/_ping");
    assert_eq!(replayed.headers, ping.headers);
}

#[test]
fn a_stripped_body_keeps_its_length_and_a_dump_that_broke_off_says_so() {
    let transcript = Transcript::new(|_, body| body[..2].to_vec());
    let list = answer(Outcome::Answered, 1, None, b"[1,2]");
    transcript.answer("/x", &list, 5, false);
    let id = ContainerId::parse(&"b1".repeat(32)).unwrap();
    let probe = answer(Outcome::Answered, 1, None, b"").probe;
    transcript.stacks(
        &probe,
        b"goroutine".to_vec(),
        (9, false),
        std::slice::from_ref(&id),
    );
    let recording = Recording::open(&transcript.files().0).unwrap();
    assert_eq!(recording.answer("/x").body, b"[1");
    assert_eq!(recording.length("/x"), Some((5, true)));
    assert_eq!(recording.length(STACKS), Some((9, false)));
    assert_eq!(recording.pending(), [id]);
}

#[test]
fn nothing_asked_is_nothing_kept() {
    assert!(Transcript::new(|_, body| body).files().0.is_empty());
}
