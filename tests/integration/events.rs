//! `events`: the known messages of a log, for scripts.

/// Each field of each kind of message.
mod fields;
/// A log that is written to while it is read.
mod follow;

use crate::{
    cli::{files, log_of, text},
    support::{
        json::{schema, validate},
        judge::unpacked,
        program::{fed, plegdoctor, run, told},
    },
};
use serde_json::Value;
use std::{
    fs::File,
    io::{self, Write as _},
    process::Stdio,
    sync::LazyLock,
    time::Duration,
};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| schema("event"));

/// Reads each line strictly: by the schema, and by what is promised.
#[track_caller]
fn events(out: &str) -> Vec<Value> {
    assert!(out.is_empty() || out.ends_with('\n'), "{out}");
    let validator = jsonschema::validator_for(&SCHEMA).unwrap();
    let mut all = Vec::new();
    for line in out.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        if !validator.is_valid(&value) {
            validate(&SCHEMA, &value, line);
        }
        crate::json::promised("event", &value);
        all.push(value);
    }
    all
}

/// Returns the events' ids, in order.
fn ids(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["id"].as_str().unwrap())
        .collect()
}

/// A line of a kubelet that could not finish its relist, at that minute past eleven.
fn stale(minute: u8) -> String {
    crate::cli::stale(&format!("11:{minute:02}:50"))
}

const NOW: [&str; 4] = ["--now", "2026-11-30T12:00:00Z", "--utc-offset", "+00:00"];

#[test]
fn the_same_events_come_of_a_file_of_a_pipe_and_of_a_capture() {
    let log = log_of("sandbox-flaps");
    let at = ["--now", "2026-11-30T05:48:31Z"];
    let told = run(&[&["events", "--log", text(&log)], &at[..]].concat());
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    let given = events(&told.out);
    let count = |id: &str| ids(&given).iter().filter(|it| **it == id).count();
    assert_eq!(
        (count("pleg-stale"), count("skip-sync"), count("node-ready")),
        (54, 52, 3)
    );
    assert!(
        given
            .windows(2)
            .all(|two| two[0]["line"].as_u64() <= two[1]["line"].as_u64())
    );
    let bare = |out: &str| {
        let mut all = events(out);
        all.iter_mut()
            .for_each(|event| event["source"] = Value::Null);
        all
    };
    let piped = fed(
        &[&["events", "--log", "-"], &at[..]].concat(),
        &std::fs::read(&*log).unwrap(),
    );
    assert!(bare(&piped.out) == bare(&told.out));
    let capture = log.parent().unwrap();
    let captured = run(&[&["events", "--capture", text(capture)], &at[..]].concat());
    assert_eq!((captured.code, captured.err.as_str()), (0, ""));
    assert!(bare(&captured.out) == bare(&told.out));
}

#[test]
fn every_cases_log_gives_events_by_the_schema() {
    let mut given = 0;
    for case in unpacked().filter(|case| case.has("kubelet.log")) {
        let log = case.folder.join("kubelet.log");
        let told = run(&["events", "--all", "--log", text(&log)]);
        given += events(&told.out).len();
    }
    assert!(given > 2000, "{given}");
}

#[test]
fn a_year_or_zone_that_nothing_tells_is_marked_as_a_guess() {
    let guessed = |log: &str, more: &[&str]| {
        let told = fed(&[&["events", "--log", "-"], more].concat(), log.as_bytes());
        let given = events(&told.out);
        (
            given[0]["time"].as_str().unwrap().to_owned(),
            given[0]["time_guessed"].as_bool().unwrap(),
        )
    };
    let line = stale(10);
    assert_eq!(
        guessed(&line, &["--now", "2026-11-30T12:00:00+02:00"]),
        ("2026-11-30T11:10:50+02:00".to_owned(), true)
    );
    let told = format!("2026-11-30T09:10:50Z {line}");
    assert_eq!(
        guessed(&told, &[]),
        ("2026-11-30T11:10:50+02:00".to_owned(), false)
    );
    // A later line of the log tells the year and zone of the earlier one.
    let anchored = format!(
        "{line}I1130 11:20:00.000000    2261 setters.go:577] Node became not ready: {{Type:Ready Status:False LastHeartbeatTime:2026-11-30 11:20:00 +0100 CET m=+1.5 LastTransitionTime:2026-11-30 11:20:00 +0100 CET m=+1.5 Reason:KubeletNotReady Message:container runtime is down}}\n"
    );
    assert_eq!(
        guessed(&anchored, &[]),
        ("2026-11-30T11:10:50+01:00".to_owned(), false)
    );
}

#[test]
fn a_window_holds_what_is_in_it() {
    let log: String = (0..60).map(stale).collect();
    let window = ["--since", "11:10", "--until", "11:12"];
    let told = fed(
        &[&["events", "--log", "-"], &NOW[..], &window[..]].concat(),
        log.as_bytes(),
    );
    let times: Vec<_> = events(&told.out)
        .iter()
        .map(|it| it["time"].clone())
        .collect();
    let [first, second] = ["2026-11-30T11:10:50Z", "2026-11-30T11:11:50Z"];
    assert_eq!(times, [first, first, second, second]);
}

#[test]
fn what_cannot_be_read_is_a_line_and_exit_code_2() {
    run(&["events", "--log", "/nonexistent"]).refused(&["/nonexistent", "No such file"]);
    run(&["events", "--no-log"]).refused(&["--no-log"]);
    run(&["events", "--log", "-", "--since", "soon"]).refused(&["--since soon"]);
    run(&["events", "--capture", "/nonexistent"]).refused(&["/nonexistent"]);
    fed(&["events", "--log", "-"], b"nothing of a kubelet\n")
        .refused(&["standard input: it has no line of the kubelet"]);
    // Beside what can be read it costs no event.
    let dir = files(&[("kubelet.log", stale(10).as_bytes())]);
    let log = dir.path().join("kubelet.log");
    let told = run(&["events", "--log", text(&log), "--log", "/nonexistent"]);
    assert_eq!(
        (told.code, ids(&events(&told.out))),
        (2, vec!["skip-sync", "pleg-stale"])
    );
    assert!(
        told.err
            .starts_with("plegdoctor: /nonexistent: No such file"),
        "{}",
        told.err
    );
}

#[test]
fn events_of_a_pipe_come_out_before_it_ends() {
    let mut child = plegdoctor(&["events", "--log", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let out = follow::lines(child.stdout.take().unwrap());
    // The line itself tells year and zone. What is there at the beginning is looked at first, 64 KiB of it.
    let line = format!("2026-11-30T11:10:51Z {}", stale(10));
    stdin.write_all(line.repeat(1000).as_bytes()).unwrap();
    let first = out.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(events(&format!("{first}\n"))[0]["line"], 1);
    drop(stdin);
    assert_eq!(out.iter().count(), 1999);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_closed_pipe_ends_the_reading_and_a_full_disk_is_one_line() {
    let log = log_of("sandbox-flaps");
    let args = ["events", "--log", text(&log)];
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let closed = told(plegdoctor(&args).stdout(writer));
    assert_eq!((closed.code, closed.err.as_str()), (0, ""));
    let full = File::options().write(true).open("/dev/full").unwrap();
    told(plegdoctor(&args).stdout(full))
        .refused(&["can't write the events", "No space left on device"]);
    // More than could be read within the test, of a file without end.
    let mut endless = plegdoctor(&["events", "--log", "-"]);
    let (input, mut feed) = io::pipe().unwrap();
    let (mut reader, writer) = io::pipe().unwrap();
    let mut child = endless.stdin(input).stdout(writer).spawn().unwrap();
    // `Command` holds our ends of the pipes.
    drop(endless);
    let feeding = std::thread::spawn(move || {
        let line = stale(10);
        while feed.write_all(line.as_bytes()).is_ok() {}
    });
    io::Read::read_exact(&mut reader, &mut [0; 1]).unwrap();
    drop(reader);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    feeding.join().unwrap();
}
