//! What plegdoctor picks by itself, on machines that are directories.

use super::{directory, gaps, outcome_in, script, stale};
use crate::log::{
    ReadFrom, files, ingest,
    limits::{self, Limits},
    open::Found,
    parser_hints,
    rotation::Family,
    stream::Piece,
    workers::{ScanHints, ScanPool},
};
use std::{
    fs,
    io::Write as _,
    num::NonZeroUsize,
    path::Path,
    process,
    time::{Duration, Instant},
};

/// Plays a journal with one line of the kubelet.
const JOURNAL: &str = "#!/bin/sh\necho '2026-11-30T11:00:00+0000 worker-3 kubelet[2261]: E1130 11:00:00.000000    2261 kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s'\n";

fn names(reading: &crate::log::Reading) -> Vec<&str> {
    reading
        .sources
        .iter()
        .map(|s| s.name.rsplit('/').next().unwrap())
        .collect()
}

#[test]
fn the_first_place_that_holds_lines_of_the_kubelet_is_read() {
    let line = || stale(30, "11:00:00");
    let (_dir, root) = directory(&[
        ("var/log/kubelet.log", line()),
        ("var/log/kubelet/kubelet.INFO", line()),
        ("var/log/messages", line()),
        ("var/log/syslog", line()),
    ]);
    script(&root.join("journalctl"), JOURNAL);
    let picked = || {
        let (reading, lines) = outcome_in(&root, &[]).unwrap();
        assert!(reading.sources.iter().all(|source| source.picked));
        assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
        assert_eq!(lines.len(), 1, "{lines:?}");
        reading.sources[0].name.clone()
    };
    assert_eq!(picked(), "journal of kubelet.service");
    for (place, name) in [
        ("journalctl", "var/log/kubelet.log"),
        ("var/log/kubelet.log", "var/log/kubelet/kubelet.INFO"),
        ("var/log/kubelet/kubelet.INFO", "var/log/messages"),
        ("var/log/messages", "var/log/syslog"),
    ] {
        fs::remove_file(root.join(place)).unwrap();
        assert_eq!(picked(), root.join(name).display().to_string());
    }
    fs::remove_file(root.join("var/log/syslog")).unwrap();
    let (reading, _) = outcome_in(&root, &[]).unwrap();
    assert_eq!(
        gaps(&reading),
        [
            "the kubelet's log: none was found: name it with --log, --journal=UNIT or --log-container"
        ]
    );
}

#[test]
fn a_place_without_a_line_of_the_kubelet_is_passed_over() {
    let (_dir, root) = directory(&[
        ("var/log/kubelet.log", String::new()),
        (
            "var/log/messages",
            "Nov 30 11:00:00 worker-3 sshd[1]: hello\n".to_owned(),
        ),
        ("var/log/syslog", stale(30, "11:00:00")),
    ]);
    script(
        &root.join("journalctl"),
        "#!/bin/sh\necho '-- No entries --'\n",
    );
    let (reading, lines) = outcome_in(&root, &[]).unwrap();
    assert_eq!(lines, ["syslog:1 30 11:00"]);
    assert_eq!(names(&reading), ["messages", "syslog"]);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
    fs::remove_file(root.join("var/log/syslog")).unwrap();
    let gaps = gaps(&outcome_in(&root, &[]).unwrap().0);
    assert!(
        gaps.len() == 1 && gaps[0].contains("var/log/messages have no line of the kubelet"),
        "{gaps:?}"
    );
}

#[test]
fn a_journal_that_may_not_be_read_is_a_note_where_another_log_is_found_and_a_gap_where_none_is() {
    let (_dir, root) = directory(&[("var/log/kubelet.log", stale(30, "11:00:00"))]);
    script(
        &root.join("journalctl"),
        "#!/bin/sh\necho 'No journal files were opened due to insufficient permissions.' >&2\nexit 1\n",
    );
    let (reading, lines) = outcome_in(&root, &[]).unwrap();
    assert_eq!(lines, ["kubelet.log:1 30 11:00"]);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
    assert!(
        reading.notes[0].contains("run plegdoctor as root"),
        "{:?}",
        reading.notes
    );
    fs::remove_file(root.join("var/log/kubelet.log")).unwrap();
    let gaps = gaps(&outcome_in(&root, &[]).unwrap().0);
    assert!(
        gaps.len() == 2 && gaps[0].contains("run plegdoctor as root"),
        "{gaps:?}"
    );
}

#[test]
fn a_journalctl_that_never_answers_is_a_gap_within_the_time_given() {
    let (_dir, root) = directory(&[]);
    script(&root.join("journalctl"), "#!/bin/sh\nexec sleep 1000\n");
    let started = Instant::now();
    let gaps = gaps(&outcome_in(&root, &["--log-timeout", "300ms"]).unwrap().0);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(
        gaps[0].contains("journalctl did not answer in time"),
        "{gaps:?}"
    );
}

#[test]
fn a_journalctl_that_never_answers_leaves_time_for_another_log() {
    let (_dir, root) = directory(&[("var/log/messages", stale(30, "11:00:00"))]);
    script(&root.join("journalctl"), "#!/bin/sh\nexec sleep 1000\n");
    let (reading, lines) = outcome_in(&root, &["--log-timeout", "2s"]).unwrap();
    assert_eq!(lines, ["messages:1 30 11:00"]);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
    assert!(reading.notes[0].contains("journalctl did not answer in time"));
}

#[test]
fn only_the_last_24_hours_are_read_across_rotations() {
    let (_dir, root) = directory(&[
        ("var/log/messages-20261128", stale(27, "12:00:00")),
        (
            "var/log/messages.2",
            [stale(29, "11:00:00"), stale(29, "13:00:00")].concat(),
        ),
        ("var/log/messages.1", stale(30, "10:00:00")),
        ("var/log/messages", stale(30, "11:00:00")),
        ("var/log/messages.conf", stale(30, "11:00:00")),
    ]);
    let (reading, lines) = outcome_in(&root, &[]).unwrap();
    assert_eq!(
        lines,
        [
            "messages.2:2 29 13:00",
            "messages.1:1 30 10:00",
            "messages:1 30 11:00"
        ]
    );
    assert!(
        reading
            .notes
            .iter()
            .any(|note| note.contains("older than 24 h")),
        "{:?}",
        reading.notes
    );
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[test]
fn asking_for_more_than_24_hours_is_a_gap() {
    let (_dir, root) = directory(&[("var/log/kubelet.log", stale(30, "11:00:00"))]);
    let gaps = gaps(&outcome_in(&root, &["--since", "2d"]).unwrap().0);
    assert!(
        gaps.len() == 1 && gaps[0].starts_with("what was logged more than 24 h ago"),
        "{gaps:?}"
    );
}

#[test]
fn of_a_long_log_only_the_part_that_matters_is_read() {
    let old = stale(28, "11:00:00").repeat(20_000);
    let new = stale(30, "11:00:00").repeat(20_000);
    let (_dir, root) = directory(&[("var/log/kubelet.log", old + &new)]);
    let (reading, lines) = outcome_in(&root, &[]).unwrap();
    assert_eq!(lines, ["kubelet.log:- 30 11:00"]);
    let read = reading.sources[0].bytes;
    assert!(
        read >= new.len() as u64 && read < new.len() as u64 + (2 << 20),
        "{read}"
    );
}

/// Returns how much of `kubelet.log` is to be read within limits, and what is said of it.
fn to_be_read(log: String, limits: &Limits) -> (u64, String) {
    let hints = parser_hints(&super::moments());
    let (_dir, dir) = directory(&[("kubelet.log", log)]);
    let mut found = Found::default();
    found.open_family(&dir, Family::Any, hints).unwrap();
    limits::shorten(&mut found, hints, limits);
    let failures = found.failures.iter().map(|(_, error)| error.to_string());
    let told = failures.chain(found.notes).last().unwrap_or_default();
    let (start, end) = found.logs[0].span.unwrap();
    (end - start, told)
}

fn mib(line: &str, count: usize) -> String {
    line.repeat((count << 20) / line.len())
}

#[test]
fn of_a_very_long_log_the_part_that_matters_is_found_by_halving() {
    let (old, new) = (stale(28, "11:00:00"), stale(30, "11:00:00"));
    // Block by block it would be half a MiB more.
    let news = mib(&new, 40) + &new.repeat((512 << 10) / new.len());
    let whole = news.len() as u64;
    let (read, told) = to_be_read(mib(&old, 50) + &news, &generous());
    assert!((whole..whole + (128 << 10)).contains(&read), "{read}");
    assert!(
        told.ends_with("what is older than 24 h was skipped"),
        "{told}"
    );
    let (read, told) = to_be_read(mib(&new, 50), &generous());
    assert_eq!((read, &*told), (mib(&new, 50).len() as u64, ""));
    let limits = Limits {
        max_bytes: 45 << 20,
        ..generous()
    };
    let (read, told) = to_be_read(mib(&new, 50), &limits);
    assert!(
        read == 45 << 20 && told.contains("1 GiB is the limit"),
        "{told}"
    );
}

#[test]
fn where_the_times_of_a_very_long_log_do_not_rise_the_way_goes_back_block_by_block() {
    let (old, new) = (stale(28, "11:00:00"), stale(30, "11:00:00"));
    let (olds, news) = (mib(&old, 8), mib(&new, 18));
    let (read, _) = to_be_read([&*olds, &news, &olds, &news, &news].concat(), &generous());
    assert!((36 << 20..38 << 20).contains(&read), "{read}");
}

#[test]
fn a_pipe_is_nobodys_log() {
    let (_dir, root) = directory(&[("var/log/syslog", stale(30, "11:00:00"))]);
    let fifo = root.join("var/log/kubelet.log");
    assert!(
        process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(outcome_in(&root, &[]).unwrap().1, ["syslog:1 30 11:00"]);
}

/// Reads `kubelet.log` in `dir` within limits. Returns what was read, and the gaps.
pub(super) fn tail(
    dir: &Path,
    limits: &Limits,
    mut each: impl FnMut(&[u8]),
) -> (Vec<u8>, Vec<String>) {
    let hints = parser_hints(&super::moments());
    let (mut read, mut gaps) = (Vec::new(), Vec::new());
    let pool = ScanPool {
        threads: NonZeroUsize::MIN,
        hints: ScanHints::default(),
    };
    let failures = files::read_newest(dir, Family::Any, hints, &pool, limits, &mut |piece| {
        match piece {
            Piece::Block(block) | Piece::Scanned(block, _) => {
                read.extend_from_slice(&block);
                each(&block);
            }
            Piece::Gap(_, why) => gaps.push(why),
            _ => {}
        }
        true
    });
    let failures = failures.unwrap().into_iter();
    gaps.extend(failures.map(|(_, error)| error.to_string()));
    (read, gaps)
}

pub(super) fn generous() -> Limits {
    let later = Instant::now() + Duration::from_secs(600);
    Limits {
        oldest: super::moments().now - chrono::TimeDelta::hours(24),
        max_bytes: 1 << 30,
        search_until: later,
        hurry: later,
        deadline: later,
    }
}

#[test]
fn more_than_the_limit_in_bytes_is_a_gap_and_the_end_is_read() {
    let line = stale(30, "11:00:00");
    let (_dir, dir) = directory(&[
        ("kubelet.log.1", line.repeat(10)),
        ("kubelet.log", line.repeat(10)),
    ]);
    let limits = Limits {
        max_bytes: 3 * line.len() as u64,
        ..generous()
    };
    let (read, gaps) = tail(&dir, &limits, |_| {});
    assert_eq!(
        String::from_utf8(read).unwrap(),
        format!("\n{}", line.repeat(3))
    );
    assert!(
        gaps.len() == 1
            && gaps[0].contains("before them and 1 older ones, since 1 GiB is the limit"),
        "{gaps:?}"
    );
}

#[test]
fn where_the_way_back_takes_too_long_the_end_is_read() {
    let line = stale(30, "11:00:00");
    let (_dir, dir) = directory(&[("kubelet.log", line.repeat(30_000))]);
    let limits = Limits {
        search_until: Instant::now(),
        ..generous()
    };
    let (read, gaps) = tail(&dir, &limits, |_| {});
    assert_eq!(read.len(), (1 << 20) + 1);
    assert!(
        gaps.len() == 1 && gaps[0].contains("reading was slow"),
        "{gaps:?}"
    );
}

#[test]
fn where_time_runs_out_the_middle_is_left_out_and_the_end_is_read() {
    let line = stale(30, "11:00:00");
    let (_dir, dir) = directory(&[("kubelet.log", line.repeat(30_000) + "the end\n")]);
    let limits = Limits {
        hurry: Instant::now(),
        ..generous()
    };
    let (read, gaps) = tail(&dir, &limits, |_| {});
    // Nothing tells yet how fast it goes, so it is the least.
    assert!(read.ends_with(b"the end\n"));
    assert_eq!(read.len(), 1 << 20);
    assert!(
        gaps.len() == 1 && gaps[0].contains("before its end were skipped"),
        "{gaps:?}"
    );
}

#[test]
fn a_log_that_is_truncated_and_written_anew_while_it_is_read_is_a_gap() {
    let old = stale(30, "11:00:00").repeat(30_000);
    let (_dir, dir) = directory(&[("kubelet.log", old)]);
    let path = dir.join("kubelet.log");
    // As rotation by copy does: the same file, emptied.
    let new = stale(30, "11:01:00").repeat(40_000);
    let mut anew = Some(new);
    let (_, gaps) = tail(&dir, &generous(), |_| {
        if let Some(new) = anew.take() {
            fs::write(&path, new).unwrap();
        }
    });
    assert!(
        gaps.len() == 1 && gaps[0].starts_with("it was truncated and rewritten"),
        "{gaps:?}"
    );
}

#[test]
fn a_log_that_is_rotated_away_while_it_is_read_is_read_to_its_end_and_what_is_added_is_not() {
    let log = stale(30, "11:00:00").repeat(30_000);
    let (_dir, dir) = directory(&[("kubelet.log", log.clone())]);
    let path = dir.join("kubelet.log");
    let mut away = false;
    let (read, gaps) = tail(&dir, &generous(), |_| {
        if !std::mem::replace(&mut away, true) {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(stale(30, "11:59:00").as_bytes()).unwrap();
            fs::rename(&path, dir.join("kubelet.log.1")).unwrap();
            fs::write(&path, stale(30, "11:59:59")).unwrap();
        }
    });
    assert!(read == log.as_bytes() && gaps.is_empty(), "{gaps:?}");
}

#[test]
fn a_log_that_is_cut_short_while_it_is_read_is_a_gap() {
    let (_dir, dir) = directory(&[("kubelet.log", stale(30, "11:00:00").repeat(30_000))]);
    let path = dir.join("kubelet.log");
    let (_, gaps) = tail(&dir, &generous(), |_| fs::write(&path, "").unwrap());
    assert!(
        gaps.len() == 1 && gaps[0].starts_with("it was truncated to "),
        "{gaps:?}"
    );
}

#[test]
fn what_is_appended_while_a_log_is_read_is_left() {
    let line = stale(30, "11:00:00");
    let (_dir, dir) = directory(&[("kubelet.log", line.clone())]);
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(dir.join("kubelet.log"))
        .unwrap();
    let (read, gaps) = tail(&dir, &generous(), |_| file.write_all(b"more\n").unwrap());
    assert_eq!((read, gaps), (line.into_bytes(), vec![]));
}

#[test]
fn after_a_part_that_was_left_out_the_torn_line_is_dropped_and_lines_have_no_number() {
    let mut cited = Vec::new();
    let moments = super::moments();
    let mut sink = |event| cited.push(super::cited(&event));
    let mut ingest = ingest::Ingest::new(&moments, &mut sink);
    ingest.start("log", true, ReadFrom::Start);
    ingest.block(format!("{}E1130 10:5", stale(30, "10:00:00")).as_bytes());
    ingest.skip();
    ingest.block(b"09:59:00.000000    2261 torn] PLEG is not healthy");
    ingest.block(format!("\n{}", stale(30, "11:00:00")).as_bytes());
    ingest.end();
    cited.dedup();
    // The parser still held the first when the rest was left out.
    assert_eq!(cited, ["log:- 30 10:00", "log:- 30 11:00"]);
}
