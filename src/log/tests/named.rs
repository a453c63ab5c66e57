//! Files, directories, pipes and devices that the command line names.

use super::{cited, directory, gaps, outcome, stale};
use crate::{
    kubelet::event::Event,
    log::{Reading, file_kind},
};
use std::{fs, os::unix::fs::symlink, path::Path, process};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns the error's words.
fn error(options: &[&str]) -> String {
    let error = outcome(options).unwrap_err();
    let words = format!("{error:#}");
    assert!(!words.contains('\n'), "{words}");
    words
}

#[test]
fn a_file_is_read_whole_with_its_line_numbers() {
    let (_dir, path) = directory(&[(
        "any.name",
        format!("noise\n{}{}", stale(30, "11:00:00"), stale(30, "11:01:00")),
    )]);
    let file = path.join("any.name");
    let (reading, lines) = outcome(&["--log", text(&file)]).unwrap();
    assert_eq!(lines, ["any.name:2 30 11:00", "any.name:3 30 11:01"]);
    let [source] = &reading.sources[..] else {
        panic!()
    };
    assert_eq!(
        (
            source.name.as_str(),
            source.lines,
            source.of_kubelet,
            source.picked
        ),
        (text(&file), 3, true, false)
    );
    assert_eq!(source.bytes, fs::metadata(&file).unwrap().len());
    assert_eq!(
        source.first.unwrap().to_rfc3339(),
        "2026-11-30T11:00:00+00:00"
    );
    assert_eq!(
        source.last.unwrap().to_rfc3339(),
        "2026-11-30T11:01:00+00:00"
    );
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[test]
fn lines_of_several_nodes_in_one_log_are_a_gap() {
    let quiet = "I1130 11:00:00.000000    2261 a.go:1] nothing to see";
    let of = |host: &str, tag: &str, message: &str| {
        format!("Nov 30 11:00:00 {host} {tag}[2261]: {}\n", message.trim())
    };
    let stale = stale(30, "11:00:00");
    let a = of("node-a", "kubelet", &stale);
    let judged = |log: String| {
        let (_dir, path) = directory(&[("messages", log)]);
        gaps(&outcome(&["--log", text(&path.join("messages"))]).unwrap().0)
    };
    let mixed = [
        "the log: it mixes lines from several nodes (node-a, node-b); findings may be attributed to the wrong one. Pass one node's log",
    ];
    for message in [stale.as_str(), quiet] {
        assert_eq!(
            judged(format!("{a}{}", of("node-b", "kubelet", message))),
            mixed
        );
    }
    let machine = "Log file created at: 2026/11/30 11:00:00\nRunning on machine: ";
    assert_eq!(
        judged(format!("{machine}node-a\n{stale}{machine}node-b\n{stale}")),
        mixed
    );
    for other in [
        of("NODE-A.example.com", "kubelet", quiet),
        of("node-b", "sshd", "Accepted publickey for root"),
        of("node-b", "kube-proxy", quiet),
        of("localhost", "kubelet", quiet),
        format!("{machine}node-a\n{stale}"),
    ] {
        assert_eq!(judged(format!("{other}{a}{other}")), [""; 0], "{other}");
    }
    let (_dir, path) = directory(&[("a.log", a), ("b.log", of("node-b", "kubelet", quiet))]);
    let both = [path.join("a.log"), path.join("b.log")];
    let options = ["--log", text(&both[0]), "--log", text(&both[1])];
    assert_eq!(gaps(&outcome(&options).unwrap().0), mixed);
}

#[test]
fn a_window_without_a_line_of_the_kubelet_is_a_gap() {
    let log = format!(
        "{}{}Nov 30 11:30:00 worker-3 sshd[7]: Accepted publickey for root\n",
        stale(30, "10:00:00"),
        stale(30, "10:59:59")
    );
    let (_dir, path) = directory(&[("kubelet.log", log), ("empty.log", String::new())]);
    let judged = |name: &str, window: &[&str]| {
        let path = path.join(name);
        let options = [&["--log", text(&path)], window].concat();
        gaps(&outcome(&options).unwrap().0)
    };
    let (since, until) = ("--since", "--until");
    let (last, first) = (
        "the last one is of 2026-11-30 10:59:59 +00:00",
        "the first one is of 2026-11-30 10:00:00 +00:00",
    );
    for (window, words, nearest) in [
        (
            &[since, "2026-11-30T11:00:00Z", until, "2026-11-30T11:40:00Z"][..],
            "between 2026-11-30 11:00:00 +00:00 and 2026-11-30 11:40:00 +00:00",
            last,
        ),
        (
            &[since, "2026-11-30T11:00:00Z"],
            "after 2026-11-30 11:00:00 +00:00",
            last,
        ),
        (
            &[until, "2026-11-30T09:00:00Z"],
            "before 2026-11-30 09:00:00 +00:00",
            first,
        ),
    ] {
        assert_eq!(
            judged("kubelet.log", window),
            [format!(
                "the log: it has no line of the kubelet {words}: {nearest}"
            )]
        );
    }
    assert_eq!(
        judged("kubelet.log", &[since, "2026-11-30T10:30:00Z"]),
        [""; 0]
    );
    assert_eq!(
        judged("kubelet.log", &[until, "2026-11-30T10:00:00Z"]),
        [""; 0]
    );
    assert_eq!(
        judged("empty.log", &[since, "2026-11-30T11:00:00Z"]),
        ["empty.log: it has no line after 2026-11-30 11:00:00 +00:00"]
    );
}

#[test]
fn a_last_line_without_an_end_counts() {
    let (_dir, path) = directory(&[("log", stale(30, "11:00:00").trim_end().to_owned())]);
    assert_eq!(
        outcome(&["--log", text(&path.join("log"))]).unwrap().1,
        ["log:1 30 11:00"]
    );
}

#[test]
fn rotations_are_read_in_the_order_of_their_times_whatever_their_names() {
    let (_dir, path) = directory(&[
        ("kubelet.log", stale(30, "11:00:00")),
        ("kubelet.log.1", stale(29, "11:00:00")),
        ("kubelet.log-20261128", stale(27, "11:00:00")),
        ("kubelet.log.2", stale(28, "11:00:00")),
        ("kubelet-restored.log", stale(26, "11:00:00")),
        ("kube-proxy.log", stale(25, "11:00:00")),
        ("old/kubelet.log", stale(24, "11:00:00")),
    ]);
    assert_eq!(
        outcome(&["--log", text(&path)]).unwrap().1,
        [
            "kubelet-restored.log:1 26 11:00",
            "kubelet.log-20261128:1 27 11:00",
            "kubelet.log.2:1 28 11:00",
            "kubelet.log.1:1 29 11:00",
            "kubelet.log:1 30 11:00",
        ]
    );
}

#[test]
fn a_rotation_without_times_keeps_its_place() {
    let (_dir, path) = directory(&[
        ("kubelet.log", stale(30, "11:00:00")),
        ("kubelet.log.1", "a goroutine's stack\n".to_owned()),
        ("kubelet.log.2", stale(28, "11:00:00")),
    ]);
    let (reading, _) = outcome(&["--log", text(&path)]).unwrap();
    let names: Vec<&str> = reading
        .sources
        .iter()
        .map(|s| s.name.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(names, ["kubelet.log.2", "kubelet.log.1", "kubelet.log"]);
}

#[test]
fn logs_named_one_by_one_are_read_in_the_order_of_their_times_and_each_once() {
    let (_dir, path) = directory(&[
        ("new", stale(30, "11:00:00")),
        ("old", stale(29, "11:00:00")),
    ]);
    let (new, old, again) = (path.join("new"), path.join("old"), path.join("again"));
    symlink(&new, &again).unwrap();
    let (_, lines) = outcome(&[
        "--log",
        text(&new),
        "--log",
        text(&old),
        "--log",
        text(&again),
    ])
    .unwrap();
    assert_eq!(lines, ["old:1 29 11:00", "new:1 30 11:00"]);
}

#[test]
fn what_a_copy_of_a_log_holds_too_counts_once_and_that_is_said() {
    let log = [stale(30, "11:00:00"), stale(30, "11:05:00")].concat();
    let (_dir, path) = directory(&[("kubelet.log", log.clone()), ("kubelet-copy.log", log)]);
    let (reading, lines) = outcome(&["--log", text(&path)]).unwrap();
    assert_eq!(
        lines,
        ["kubelet-copy.log:1 30 11:00", "kubelet-copy.log:2 30 11:05"]
    );
    assert!(
        reading.notes.len() == 1
            && reading.notes[0]
                .ends_with("kubelet.log: 2 lines repeat an earlier log and count once"),
        "{:?}",
        reading.notes
    );
}

#[test]
fn a_rotation_that_overlaps_the_next_counts_once_where_it_does_and_repeats_as_often_as_they_are() {
    let (twice, end) = (stale(30, "11:05:00").repeat(2), stale(30, "11:06:00"));
    let (_dir, path) = directory(&[
        ("kubelet.log.1", stale(30, "11:00:00") + &twice + &end),
        (
            "kubelet.log",
            twice + &stale(30, "11:05:00") + &end + &stale(30, "11:10:00"),
        ),
    ]);
    let mut lines = Vec::new();
    let mut sink = |event: Event| lines.push(cited(&event));
    let options = ["--log", text(&path)];
    let reading = super::read_on(Path::new("/nowhere"), &options, &mut sink).unwrap();
    // Each line tells that the PLEG is not healthy, and that the sync is skipped.
    lines.dedup();
    assert_eq!(
        lines,
        [
            "kubelet.log.1:1 30 11:00",
            "kubelet.log.1:2 30 11:05",
            "kubelet.log.1:3 30 11:05",
            "kubelet.log.1:4 30 11:06",
            "kubelet.log:3 30 11:05",
            "kubelet.log:5 30 11:10",
        ]
    );
    assert!(
        reading.notes.len() == 1
            && reading.notes[0].contains("kubelet.log: 3 lines repeat an earlier log"),
        "{:?}",
        reading.notes
    );
}

#[test]
fn logs_of_one_time_that_share_no_line_are_noted() {
    let (_dir, path) = directory(&[
        ("one", stale(30, "11:00:00") + &stale(30, "11:30:00")),
        ("two", stale(30, "11:10:00") + &stale(30, "11:40:00")),
    ]);
    let (one, two) = (path.join("one"), path.join("two"));
    let (reading, lines) = outcome(&["--log", text(&one), "--log", text(&two)]).unwrap();
    assert_eq!(lines.len(), 4);
    assert!(
        reading.notes.len() == 1
            && reading.notes[0].ends_with("ends: they are read one after the other"),
        "{:?}",
        reading.notes
    );
}

#[test]
fn klogs_link_and_its_target_are_one_log_and_its_higher_levels_none() {
    let info = "kubelet.worker-3.root.log.INFO.20261130-110000.2261";
    let (_dir, path) = directory(&[
        (info, stale(30, "11:00:00")),
        (
            "kubelet.worker-3.root.log.ERROR.20261130-110000.2261",
            stale(30, "11:00:00"),
        ),
    ]);
    symlink(info, path.join("kubelet.INFO")).unwrap();
    assert_eq!(
        outcome(&["--log", text(&path)]).unwrap().1,
        [format!("{info}:1 30 11:00")]
    );
}

#[test]
fn the_window_leaves_out_events_and_not_lines() {
    let log = [
        stale(30, "10:59:59"),
        stale(30, "11:00:00"),
        stale(30, "11:01:00"),
        stale(30, "11:01:01"),
    ]
    .concat();
    let (_dir, path) = directory(&[("log", log)]);
    let (reading, lines) = outcome(&[
        "--log",
        text(&path.join("log")),
        "--since",
        "2026-11-30 11:00",
        "--until",
        "2026-11-30T11:01:00Z",
    ])
    .unwrap();
    assert_eq!(lines, ["log:2 30 11:00", "log:3 30 11:01"]);
    assert_eq!(reading.sources[0].lines, 4);
    assert_eq!(
        reading.sources[0].first.unwrap().to_rfc3339(),
        "2026-11-30T10:59:59+00:00"
    );
}

#[test]
fn a_log_that_is_not_there_is_an_error_that_names_it_and_the_cure() {
    let (_dir, path) = directory(&[]);
    let missing = path.join("gone.log");
    let words = error(&["--log", text(&missing)]);
    assert!(
        words.starts_with(&format!("can't read {}: No such file", missing.display())),
        "{words}"
    );
    assert!(words.contains("let plegdoctor look"), "{words}");
    symlink("nowhere", path.join("dangling")).unwrap();
    assert!(error(&["--log", text(&path.join("dangling"))]).contains("dangling: No such file"));
    assert!(error(&["--log", text(&path)]).contains("no log of the kubelet is there"));
}

#[test]
fn of_several_logs_the_readable_ones_are_read_and_the_others_are_gaps() {
    let (_dir, path) = directory(&[("log", stale(30, "11:00:00"))]);
    let (reading, lines) = outcome(&[
        "--log",
        text(&path.join("gone")),
        "--log",
        text(&path.join("log")),
    ])
    .unwrap();
    assert_eq!(lines, ["log:1 30 11:00"]);
    let gaps = gaps(&reading);
    assert!(
        gaps.len() == 1 && gaps[0].starts_with("gone: No such file"),
        "{gaps:?}"
    );
    let none = error(&[
        "--log",
        text(&path.join("gone")),
        "--log",
        text(&path.join("lost")),
    ]);
    assert!(
        none.contains("/gone: ") && none.contains("/lost: "),
        "{none}"
    );
}

#[test]
fn no_permission_is_an_error_that_names_the_cure() {
    let kind = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    assert!(
        file_kind::explain_open(&kind)
            .to_string()
            .contains("run plegdoctor as root")
    );
}

#[test]
fn what_is_no_text_is_refused_with_the_command_that_makes_it_one() {
    for (magic, cure) in [
        (&b"\x04\x22\x4d\x18rest"[..], "lz4 -dc"),
        (b"\x1f\x9drest", "gzip -dc"),
        (b"PK\x03\x04rest", "unzip -p"),
        (b"7z\xbc\xaf\x27\x1crest", "7z x -so"),
        (b"\xff\xfeE\0", "iconv -f UTF-16"),
    ] {
        let (_dir, path) = directory(&[]);
        let file = path.join("kubelet.log");
        fs::write(&file, magic).unwrap();
        let words = error(&["--log", text(&file)]);
        assert!(
            words.contains(cure) && words.ends_with("| plegdoctor diagnose --log -"),
            "{words}"
        );
    }
    let (_dir, dir) = directory(&[("system.journal", "LPKSHHRHrest".to_owned())]);
    let file = dir.join("system.journal");
    let words = error(&["--log", text(&file)]);
    let cure = format!("name it with --journal-from={}", text(&file));
    assert!(words.ends_with(&cure), "{words}");
}

#[test]
fn an_empty_log_and_one_without_a_line_of_the_kubelet_are_gaps() {
    let (_dir, path) = directory(&[
        ("empty", String::new()),
        ("other", "\0\u{1}junk\n\n".to_owned()),
        ("log", stale(30, "11:00:00")),
    ]);
    let (reading, _) = outcome(&["--log", text(&path.join("empty"))]).unwrap();
    assert_eq!(
        (reading.sources[0].lines, gaps(&reading)),
        (0, vec!["empty: it is empty".to_owned()])
    );
    let (reading, _) = outcome(&[
        "--log",
        text(&path.join("other")),
        "--log",
        text(&path.join("log")),
    ])
    .unwrap();
    assert_eq!(gaps(&reading), ["other: it has no line of the kubelet"]);
    // Right after a rotation the new file is empty.
    let (reading, _) = outcome(&[
        "--log",
        text(&path.join("empty")),
        "--log",
        text(&path.join("log")),
    ])
    .unwrap();
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let (_dir, path) = directory(&[("new", stale(30, "11:30:00"))]);
    let fifo = path.join("pipe");
    assert!(
        process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let to = fifo.clone();
    // More than a pipe and the first look hold.
    let log = stale(30, "11:00:00").repeat(2000);
    let expected = log.len() as u64;
    let writer = std::thread::spawn(move || fs::write(to, log).unwrap());
    let (reading, lines) =
        outcome(&["--log", text(&path.join("new")), "--log", text(&fifo)]).unwrap();
    writer.join().unwrap();
    assert_eq!(lines.len(), 2001);
    assert_eq!(
        (
            lines[0].as_str(),
            lines[1999].as_str(),
            lines[2000].as_str()
        ),
        ("pipe:1 30 11:00", "pipe:2000 30 11:00", "new:1 30 11:30")
    );
    assert_eq!(reading.sources[0].bytes, expected);
}

#[test]
fn a_directorys_pipes_and_devices_are_left_alone() {
    let (_dir, path) = directory(&[("kubelet.log.1", stale(30, "11:00:00"))]);
    let fifo = path.join("kubelet.log");
    assert!(
        process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        outcome(&["--log", text(&path)]).unwrap().1,
        ["kubelet.log.1:1 30 11:00"]
    );
}

#[test]
fn of_a_giant_line_the_beginning_is_read_and_the_next_line_too() {
    let giant = stale(30, "11:00:00").trim_end().to_owned() + &"x".repeat(3 << 20);
    let (_dir, path) = directory(&[("log", format!("{giant}\n{}", stale(30, "11:01:00")))]);
    let (reading, lines) = outcome(&["--log", text(&path.join("log"))]).unwrap();
    assert_eq!(lines, ["log:1 30 11:00", "log:2 30 11:01"]);
    assert_eq!(reading.notes.len(), 1, "{:?}", reading.notes);
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
}

#[test]
fn nothing_is_read_where_no_log_is_wanted() {
    assert_eq!(outcome(&["--no-log"]).unwrap().0, Reading::default());
}
