//! Windows of time on whole logs: what is said of them, and that they change nothing that is found.

use super::{directory_of, gaps, outcome, stale};
use chrono::{DateTime, TimeDelta};
use std::{
    fmt::Write as _,
    fs::{self, File},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns a log of that many lines from the 20th on, 3 s apart; every hundredth says that the PLEG is not healthy.
fn log(count: i64) -> String {
    let first = DateTime::parse_from_rfc3339("2026-11-20T00:00:00Z").unwrap();
    let mut log = String::new();
    for number in 0..count {
        let at = first + TimeDelta::seconds(3 * number);
        let stamp = at.format("%m%d %H:%M:%S");
        let _ = match number % 100 {
            0 => write!(
                log,
                "{}",
                stale(
                    at.format("%d").to_string().parse().unwrap(),
                    &at.format("%T").to_string()
                )
            ),
            _ => writeln!(
                log,
                "I{stamp}.000000    2261 kubelet_pods.go:1246] \"Clean up something that is gone by now, at some length\""
            ),
        };
    }
    log
}

fn one(name: &str, text: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let (dir, path) = directory_of(&[(name, text)]);
    (dir, path.join(name))
}

/// Drops the lines' numbers.
fn unnumbered(lines: Vec<String>) -> Vec<String> {
    let drop = |line: String| {
        let (name, rest) = line.split_once(':').unwrap();
        format!("{name} {}", rest.split_once(' ').unwrap().1)
    };
    lines.into_iter().map(drop).collect()
}

#[test]
fn a_window_of_a_long_log_gives_the_events_that_reading_all_gives() {
    let all = log(100_000);
    let (_dir, path) = one("kubelet.log", &all);
    let window = [
        "--log",
        text(&path),
        "--since",
        "2026-11-22 03:00",
        "--until",
        "2026-11-22 04:00",
    ];
    let (reading, lines) = outcome(&window).unwrap();
    let (_other, packed) = one(
        "kubelet.log",
        super::pack(super::Compression::Gzip, all.as_bytes()),
    );
    let options = [&["--log", text(&packed)], &window[2..]].concat();
    let (whole, expected) = outcome(&options).unwrap();
    assert_eq!(unnumbered(lines), unnumbered(expected.clone()));
    assert_eq!(expected.len(), 13, "{expected:?}");
    assert_eq!(whole.sources[0].bytes, all.len() as u64);
    let [source] = &reading.sources[..] else {
        panic!("{:?}", reading.sources);
    };
    assert!(source.bytes < 500_000 && source.lines < 5000, "{source:?}");
    assert_eq!(
        source.first.unwrap().date_naive(),
        source.last.unwrap().date_naive()
    );
    let note = &reading.notes[0];
    let words = format!(" of {}, which cover the requested time", all.len());
    assert!(
        note.contains("kubelet.log: read bytes ") && note.ends_with(&words),
        "{note}"
    );
    assert_eq!(
        reading.notes[1],
        "limited to 2026-11-22 03:00:00 +00:00..2026-11-22 04:00:00 +00:00 (--since/--until)"
    );
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[test]
fn where_only_the_end_is_left_out_lines_keep_their_numbers() {
    let (_dir, path) = one("kubelet.log", log(60_000));
    let options = ["--log", text(&path), "--until", "2026-11-20 00:10"];
    let lines = outcome(&options).unwrap().1;
    assert_eq!(
        lines,
        [
            "kubelet.log:1 20 00:00",
            "kubelet.log:101 20 00:05",
            "kubelet.log:201 20 00:10"
        ]
    );
}

#[test]
fn the_last_hour_of_ten_gigabytes_costs_no_more_than_that() {
    let (_dir, path) = one("kubelet.log", "");
    let mut file = File::create(&path).unwrap();
    // What copying and truncating leaves of a log whose writer does not append: a hole as long as the log was.
    file.seek(SeekFrom::Start(10_000_000_000)).unwrap();
    file.write_all(log(100_000).as_bytes()).unwrap();
    let size = file.metadata().unwrap().len();
    let options = [
        "--log",
        text(&path),
        "--since",
        "2026-11-23 10:00",
        "--until",
        "2026-11-23 11:00",
    ];
    let (reading, lines) = outcome(&options).unwrap();
    assert_eq!(lines.len(), 13);
    assert!(reading.sources[0].bytes < 500_000, "{:?}", reading.sources);
    assert!(reading.notes[0].contains(&size.to_string()));
}

#[test]
fn of_a_log_whose_times_do_not_rise_all_is_read_and_that_is_said() {
    let twice = log(30_000) + &log(30_000);
    let (_dir, path) = one("kubelet.log", &twice);
    let options = ["--log", text(&path), "--since", "2026-11-20 20:00"];
    let (reading, _) = outcome(&options).unwrap();
    assert_eq!(reading.sources[0].bytes, twice.len() as u64);
    let note = &reading.notes[0];
    assert!(
        note.contains("read in full despite --since/--until: its times go back at byte "),
        "{note}"
    );
}

#[test]
fn a_window_outside_a_long_log_names_the_nearest_line() {
    let (_dir, path) = one("kubelet.log", log(60_000));
    let judged = |option: &str, moment: &str| {
        gaps(&outcome(&["--log", text(&path), option, moment]).unwrap().0)
    };
    assert_eq!(
        judged("--since", "2026-11-25"),
        [
            "the log: it has no line of the kubelet after 2026-11-25 00:00:00 +00:00: the last one is of 2026-11-22 01:59:57 +00:00"
        ]
    );
    assert_eq!(
        judged("--until", "2026-11-19"),
        [
            "the log: it has no line of the kubelet before 2026-11-19 00:00:00 +00:00: the first one is of 2026-11-20 00:00:00 +00:00"
        ]
    );
}

#[test]
fn a_zone_that_turns_out_to_be_another_is_a_gap_that_names_it() {
    // The kubelet's clock is 5 hours behind UTC, as one line tells.
    let mut all = log(60_000);
    let told = "I1121 20:00:00.000000    2261 setters.go:577] Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2026-11-22 01:00:00.000000 +0000 UTC m=+1.0 LastTransitionTime:2026-11-22 01:00:00.000000 +0000 UTC m=+1.0 Reason:KubeletNotReady Message:PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s}\n";
    let at = all.find("I1121 20:00:03").unwrap();
    all.insert_str(at, told);
    let (_dir, path) = one("kubelet.log", &all);
    let options = ["--log", text(&path), "--since", "2026-11-21 19:00"];
    let found = gaps(&outcome(&options).unwrap().0);
    assert!(
        found.len() == 1 && found[0].ends_with("pass --utc-offset=-05:00"),
        "{found:?}"
    );
    let told = [&options[..], &["--utc-offset=-05:00"]].concat();
    assert_eq!(gaps(&outcome(&told).unwrap().0), [""; 0]);
}

#[test]
fn the_host_that_klogs_header_names_is_known_though_the_header_is_not_read() {
    let header = "Log file created at: 2026/11/20 00:00:00\nRunning on machine: worker-7\n";
    let (_dir, path) = one("kubelet.INFO", header.to_owned() + &log(60_000));
    let options = ["--log", text(&path), "--since", "2026-11-21 20:00"];
    let (reading, _) = outcome(&options).unwrap();
    assert!(reading.hosts.contains("worker-7"), "{:?}", reading.hosts);
    assert!(reading.sources[0].bytes < fs::metadata(&path).unwrap().len() / 4);
}
