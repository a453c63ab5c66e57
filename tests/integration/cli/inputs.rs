//! What is read, and what is said of what can't be.

use super::{files, noon, ready, stale, text};
use crate::support::program::{Told, fed, fed_to, findings, plegdoctor, run};
use serde_json::Value;
use std::fmt::Write as _;

/// Diagnoses what is on standard input, as JSON.
fn piped(input: &[u8]) -> Told {
    fed(&noon(&["--log", "-", "--format", "json"]), input)
}

#[test]
fn line_ends_do_not_matter() {
    let lines = [stale("11:54:50"), stale("11:59:50")].concat();
    let unix = piped(lines.as_bytes()).report();
    let unfinished = piped(lines.trim_end().as_bytes()).report();
    let dos = piped(lines.replace('\n', "\r\n").as_bytes()).report();
    assert_eq!(unix["log"]["events"]["pleg-stale"], 2);
    for other in [unfinished, dos] {
        assert_eq!(other["findings"], unix["findings"]);
        assert_eq!(other["incidents"], unix["incidents"]);
        assert_eq!(other["log"]["events"], unix["log"]["events"]);
    }
}

#[test]
fn what_holds_no_line_of_the_kubelet_answers_no_question() {
    // Every byte there is, thrice, in lines that begin like klog's levels.
    let mut junk: Vec<u8> = Vec::new();
    for start in [&b"E1"[..], b"I9\xff", b"\0"] {
        for byte in 0..=u8::MAX {
            junk.extend_from_slice(start);
            junk.extend_from_slice(&[byte; 40]);
            junk.push(b'\n');
        }
    }
    let docker =
        br#"{"log":"10.0.0.9 - - GET / 200\n","stream":"stdout","time":"2026-11-30T11:59:50.1Z"}"#;
    for (input, why) in [
        (&b""[..], "it is empty"),
        (&junk, "it has no line of the kubelet"),
        (b"hello\nworld\n", "it has no line of the kubelet"),
        (
            b"I1130 was a good year\nX1130 11:59:50.000000    1 x.go:1] no level\n",
            "it has no line of the kubelet",
        ),
        (
            b"Nov 30 11:59:50 worker-3 sshd[1]: I am no kubelet\n",
            "it has no line of the kubelet",
        ),
        (
            b"2026-11-30T11:59:50.1Z stdout F GET / 200 1ms\n",
            "it has no line of the kubelet",
        ),
        (docker, "it has no line of the kubelet"),
    ] {
        let told = piped(input);
        let report = told.report();
        assert_eq!(
            (told.code, &report["verdict"]),
            (2, &"unknown".into()),
            "{told:?}"
        );
        assert_eq!(report["gaps"][0]["what"], "standard input");
        assert_eq!(report["gaps"][0]["why"], why, "{told:?}");
        let told = fed(&noon(&["--log", "-"]), input);
        assert_eq!(told.code, 2);
        assert!(
            told.out.contains(&format!("standard input: {why}")),
            "{told:?}"
        );
    }
}

#[test]
fn a_healthy_line_is_enough_in_every_wrapping_of_a_container_runtime() {
    let line = ready("11:59:50");
    let line = line.trim_end();
    for wrapped in [
        line.to_owned(),
        format!("2026-11-30T11:59:50.1Z stderr F {line}"),
        format!(r#"{{"log":"{line}\n","stream":"stderr","time":"2026-11-30T11:59:50.1Z"}}"#),
        format!("Nov 30 11:59:50 worker-3 kubelet[2261]: {line}"),
    ] {
        let told = piped(wrapped.as_bytes());
        let report = told.report();
        assert_eq!(
            (told.code, &report["verdict"]),
            (0, &"healthy".into()),
            "{wrapped}: {told:?}"
        );
    }
}

#[test]
fn junk_around_the_kubelets_lines_hides_none_of_them() {
    let mut log = b"\x80\xfe\0\x1b[2J\n\n\xc3(\n".to_vec();
    log.extend_from_slice(stale("11:54:50").as_bytes());
    log.extend_from_slice(&[b'x'; 3 << 20]);
    log.push(b'\n');
    log.extend_from_slice(stale("11:59:50").as_bytes());
    log.extend_from_slice(b"E1130 11:59:51.000000    2261 kubelet.go:1846] skipping pod synch");
    let told = piped(&log);
    let report = told.report();
    assert_eq!(told.code, 1);
    assert_eq!(report["log"]["events"]["pleg-stale"], 2);
    let notes = report["notes"].to_string();
    assert!(notes.contains("longer than 1 MiB"), "{notes}");
}

#[test]
fn what_of_a_log_finds_no_room_is_told() {
    let pods = vec!["web_default"; 600].join(", ");
    let removed =
        format!("I1130 11:00:00.000000    2261 a.go:1] SyncLoop (DELETE, \"api\"): \"{pods}\"\n");
    let timed_out = |number: u64| {
        format!(
            "E1130 11:30:00.000000    2261 a.go:1] StopPodSandbox \"{number:064x}\" from runtime service failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded\n"
        )
    };
    let log = removed + &(0..6000).map(timed_out).collect::<String>();
    let gaps = piped(log.as_bytes()).report()["gaps"].to_string();
    for words in [
        "messages dropped",
        "88 of the pods and reasons that its lines list were left out",
    ] {
        assert!(gaps.contains(words), "{words}: {gaps}");
    }
}

#[test]
fn logs_that_cannot_be_read_are_one_line_that_names_each() {
    let dir = files(&[("kube-proxy.log", b"no kubelet's\n")]);
    let empty = text(dir.path());
    run(&noon(&["--log", empty])).refused(&[empty, "no log of the kubelet is there"]);
    let missing = format!("{empty}/nope.log");
    run(&noon(&["--log", &missing])).refused(&[&missing, "No such file or directory"]);
    run(&noon(&["--log", &missing, "--log", empty])).refused(&[&missing, empty]);
    // No permission of any user helps to read a process's memory from its start.
    run(&noon(&["--log", "/proc/self/mem"])).refused(&["/proc/self/mem"]);
    let packed = files(&[
        ("kubelet.log.gz", b"\x1f\x8b\x08\0"),
        ("kubelet.log.lz4", b"\x04\x22\x4d\x18"),
    ]);
    let (gzip, lz4) = (
        packed.path().join("kubelet.log.gz"),
        packed.path().join("kubelet.log.lz4"),
    );
    run(&noon(&["--log", text(&gzip)])).refused(&[text(&gzip), "it is cut short (gzip)"]);
    run(&noon(&["--log", text(&lz4)])).refused(&[
        "compressed",
        &format!("lz4 -dc {} | plegdoctor", lz4.display()),
    ]);
}

#[test]
fn one_log_that_cannot_be_read_beside_another_is_a_gap() {
    let dir = files(&[("kubelet.log", ready("11:59:50").as_bytes())]);
    let (log, missing) = (dir.path().join("kubelet.log"), dir.path().join("nope.log"));
    let told = run(&noon(&[
        "--log",
        text(&log),
        "--log",
        text(&missing),
        "--format",
        "json",
    ]));
    let report = told.report();
    assert_eq!((told.code, &report["verdict"]), (2, &"unknown".into()));
    assert_eq!(report["gaps"][0]["what"], text(&missing));
}

#[test]
fn several_logs_are_read_in_the_order_of_their_times() {
    let dir = files(&[
        ("new", stale("11:59:50").as_bytes()),
        ("old", stale("11:49:50").as_bytes()),
        ("middle", stale("11:54:50").as_bytes()),
    ]);
    let path = |name| dir.path().join(name);
    let (new, old, middle) = (path("new"), path("old"), path("middle"));
    let args = [
        "--log",
        text(&new),
        "--log",
        text(&old),
        "--log",
        text(&middle),
        "--log",
        text(&new),
    ];
    let report = run(&noon(&[&args[..], &["--format", "json"]].concat())).report();
    let sources = report["log"]["sources"].as_array().unwrap();
    let names: Vec<_> = sources.iter().map(|source| &source["name"]).collect();
    assert_eq!(names, [text(&old), text(&middle), text(&new)], "each once");
    assert_eq!(report["log"]["events"]["pleg-stale"], 3);
}

#[test]
fn a_directory_is_read_with_its_rotations_and_nothing_else() {
    let dir = files(&[
        ("kubelet.log", stale("11:59:50").as_bytes()),
        ("kubelet.log.1", stale("11:54:50").as_bytes()),
        ("kubelet.log.2", stale("11:49:50").as_bytes()),
        ("kube-proxy.log", stale("11:59:51").as_bytes()),
        ("messages", stale("11:59:52").as_bytes()),
        ("kubelet.conf", stale("11:59:53").as_bytes()),
    ]);
    let report = run(&noon(&["--log", text(dir.path()), "--format", "json"])).report();
    let sources = report["log"]["sources"].as_array().unwrap();
    let names: Vec<_> = sources
        .iter()
        .map(|source| source["name"].as_str().unwrap())
        .collect();
    let expected = ["kubelet.log.2", "kubelet.log.1", "kubelet.log"];
    assert_eq!(
        names,
        expected.map(|name| format!("{}/{name}", text(dir.path())))
    );
    assert_eq!(report["log"]["events"]["pleg-stale"], 3);
}

#[test]
fn a_window_leaves_out_what_is_before_and_after() {
    let mut log = String::new();
    for minute in 0..60 {
        let _ = write!(log, "{}", stale(&format!("11:{minute:02}:30")));
    }
    let count = |window: &[&str]| {
        let args = noon(&[&["--log", "-", "--format", "json"], window].concat());
        let report = fed(&args, log.as_bytes()).report();
        report["log"]["events"]["pleg-stale"].as_u64()
    };
    assert_eq!(count(&[]), Some(60));
    assert_eq!(count(&["--since", "11:50"]), Some(10));
    assert_eq!(count(&["--since", "10m"]), Some(10), "before --now");
    assert_eq!(count(&["--since", "2026-11-30T12:50:00+01:00"]), Some(10));
    assert_eq!(count(&["--until", "11:10"]), Some(10));
    assert_eq!(
        count(&["--since", "11:10:30", "--until", "11:11:30"]),
        Some(2),
        "both ends in"
    );
    assert_eq!(count(&["--since", "11:59:31"]), None);
}

#[test]
fn the_present_and_the_zone_are_those_given() {
    let told = fed(
        &["diagnose", "--no-docker", "--log", "-", "--format", "json", "--now", "2027-01-01T00:05:00+08:00"],
        b"E1231 23:59:50.000000    2261 kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4s ago; threshold is 3m0s\n",
    );
    let report = told.report();
    assert_eq!(report["generated_at"], "2027-01-01T00:05:00+08:00");
    assert_eq!(report["incidents"][0]["start"], "2026-12-31T23:56:46+08:00");
    assert_eq!(findings(&report), ["pleg-unexplained"]);
}

#[test]
fn times_of_the_machines_zone_go_by_its_rules_for_the_day_that_is_meant() {
    let stamp = |time: &str| format!("{time} n kubelet[1]: I1130 11:00:00.000000 1 a.go:1] x\n");
    let log = stamp("2026-03-29T00:00:00Z") + &stamp("2026-11-30T00:00:00Z");
    let asked = |window: &[&str]| {
        let report = in_berlin(window, &log);
        let notes = report["notes"].as_array().unwrap().clone();
        let note = notes.iter().find_map(|note| {
            let words = note.as_str()?.strip_prefix("limited to ")?;
            Some(words.split_once(" (--")?.0.to_owned())
        });
        note.unwrap()
    };
    for (window, words) in [
        (
            &["--since", "2026-07-01 12:00"][..],
            "2026-07-01 12:00:00 +02:00..",
        ),
        (&["--since", "2026-01-10"], "2026-01-10 00:00:00 +01:00.."),
        // Clocks went from 02:00 to 03:00.
        (
            &["--since", "2026-03-29 02:30"],
            "2026-03-29 03:00:00 +02:00..",
        ),
        (
            &["--until", "2026-03-29 02:00"],
            "..2026-03-29 03:00:00 +02:00",
        ),
        (
            &["--since", "2026-03-29 01:59:59"],
            "2026-03-29 01:59:59 +01:00..",
        ),
        // Clocks went from 03:00 back to 02:00: as much as both may mean.
        (
            &["--since", "2026-10-25 02:30", "--until", "2026-10-25 02:30"],
            "2026-10-25 02:30:00 +02:00..2026-10-25 02:30:00 +01:00",
        ),
        // Seen from the day after, and from the day itself.
        (
            &[
                "--now",
                "2026-10-26 00:10",
                "--since",
                "yesterday",
                "--until",
                "today",
            ],
            "2026-10-25 00:00:00 +02:00..2026-10-26 00:00:00 +01:00",
        ),
        (
            &[
                "--now",
                "2026-03-29 12:00",
                "--since",
                "01:30",
                "--until",
                "03:30",
            ],
            "2026-03-29 01:30:00 +01:00..2026-03-29 03:30:00 +02:00",
        ),
        // Another machine's present has its own zone.
        (
            &["--now", "2026-07-01T12:00:00+05:30", "--since", "11:00"],
            "2026-07-01 11:00:00 +05:30..",
        ),
    ] {
        assert_eq!(asked(window), words, "{window:?}");
    }
}

#[test]
fn lines_without_a_zone_are_of_the_one_that_clocks_had_in_the_time_asked_for() {
    let log = stale("11:54:50").replace("E1130", "E0701");
    let start = |window: &[&str]| {
        let window = [&["--now", "2026-11-30 12:00"], window].concat();
        let report = in_berlin(&window, &log);
        report["incidents"][0]["start"].as_str().map(str::to_owned)
    };
    let of = |zone: &str| Some(format!("2026-07-01T11:51:45.800+{zone}"));
    assert_eq!(
        start(&["--since", "2026-07-01", "--until", "2026-07-02"]),
        of("02:00")
    );
    // Both are in the window: nothing tells which.
    assert_eq!(start(&["--since", "2026-07-01"]), of("01:00"));
}

/// Diagnoses that log on a machine whose clocks show Berlin's time.
fn in_berlin(window: &[&str], log: &str) -> Value {
    let args = [
        "diagnose",
        "--no-docker",
        "--no-host",
        "--log",
        "-",
        "--format",
        "json",
    ];
    let mut command = plegdoctor(&[&args[..], window].concat());
    fed_to(command.env("TZ", "Europe/Berlin"), log.as_bytes()).report()
}
