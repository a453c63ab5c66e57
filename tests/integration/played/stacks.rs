//! When the daemon's own stacks are asked for, and what becomes of answers that are late, cut or none.

use super::{SLACK, TIMEOUT, ask, asked, id};
use crate::support::replay::{Play, Played};
use plegdoctor::{evidence::Evidence, io::probe::Outcome, report, runtime::Runtime};
use std::time::{Duration, Instant};

const PATH: &str = "GET /debug/pprof/goroutine?debug=2";

/// Plays a daemon with one container, and asks it.
fn with(inspect: Play, stacks: Play) -> (Runtime, usize) {
    let played = Played::start(move |request| match request {
        "GET /containers/json?all=1" => Play::ok(format!(
            r#"[{{"Id":"{}","Names":["/c"],"State":"running"}}]"#,
            id(7)
        )),
        PATH => stacks.clone(),
        path if path.ends_with("/json") => inspect.clone(),
        _ => Play::ok("{}"),
    });
    let started = Instant::now();
    let runtime = asked(&ask(&played.endpoint(), &[]));
    assert!(
        started.elapsed() < TIMEOUT + SLACK,
        "{:?}",
        started.elapsed()
    );
    let times = played.requests().iter().filter(|r| *r == PATH).count();
    (runtime, times)
}

fn inspection() -> Play {
    Play::ok(format!(
        r#"{{"Id":"{}","Name":"/c","State":{{"Status":"running"}}}}"#,
        id(7)
    ))
}

fn start() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/stacks/start.txt");
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn gaps(runtime: Runtime) -> Vec<String> {
    let evidence = Evidence {
        now: runtime.asked_at,
        log: None,
        runtime: Some(runtime),
        host: None,
        kubelet: None,
        gaps: Vec::new(),
        notes: Vec::new(),
    };
    let gaps = report::diagnose(&evidence).gaps;
    gaps.into_iter()
        .map(|gap| gap.what + ": " + &gap.why)
        .collect()
}

#[test]
fn a_daemon_that_answers_all_is_not_asked_for_its_stacks() {
    let (runtime, times) = with(inspection(), Play::ok(start()));
    assert_eq!(
        (times, runtime.docker().stacks_probe.outcome),
        (0, Outcome::NotProbed)
    );
    assert_eq!(gaps(runtime), [""; 0]);
}

#[test]
fn stacks_are_taken_once_while_the_inspect_is_pending() {
    let (runtime, times) = with(Play::Never, Play::ok(start()));
    assert_eq!(
        (times, runtime.docker().stacks_probe.outcome),
        (1, Outcome::Answered)
    );
    let taken = runtime
        .docker()
        .stacks
        .clone()
        .unwrap_or_else(|| panic!("{runtime:?}"));
    assert_eq!(taken.pending, [id(7)]);
    assert!(taken.stacks.whole && taken.stacks.our_lock().is_some());
    assert_eq!(gaps(runtime), [""; 0]);
}

#[test]
fn what_answers_late_but_answers_needs_no_stacks() {
    let late = Play::After(Duration::from_millis(300), Box::new(inspection()));
    let (runtime, times) = with(late, Play::ok(start()));
    assert_eq!((times, &runtime.docker().stacks), (1, &None));
    assert_eq!(runtime.docker().stacks_probe.outcome, Outcome::NotProbed);
}

#[test]
fn stacks_that_cannot_be_had_are_a_gap() {
    for (play, outcome, words) in [
        (
            Play::Http(404, "404 page not found".to_owned()),
            Outcome::Gone,
            "dockerd's stacks: not available: not served",
        ),
        (
            Play::Never,
            Outcome::TimedOut,
            "dockerd's stacks: not available: no answer in",
        ),
        (
            Play::ok("<html>"),
            Outcome::Error,
            "dockerd's stacks: not available: its answer has no goroutines",
        ),
    ] {
        let (runtime, _) = with(Play::Never, play);
        assert_eq!(
            (
                &runtime.docker().stacks,
                runtime.docker().stacks_probe.outcome
            ),
            (&None, outcome)
        );
        let gaps = gaps(runtime);
        assert!(gaps.len() == 1 && gaps[0].starts_with(words), "{gaps:?}");
    }
}

#[test]
fn stacks_that_never_end_are_read_as_far_as_they_come_and_name_nobody() {
    let text = start();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n{text}\n");
    let endless = Play::Trickle(head.into_bytes(), b'x', Duration::from_millis(20));
    let (runtime, _) = with(Play::Never, endless);
    let taken = runtime
        .docker()
        .stacks
        .clone()
        .unwrap_or_else(|| panic!("no stacks"));
    assert!(!taken.stacks.whole);
    assert!(!taken.stacks.hanging().is_empty());
    assert_eq!(taken.stacks.our_lock(), None);
}
