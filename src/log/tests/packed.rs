//! Logs that are compressed: named, in a directory, and picked.

use super::{
    directory_of,
    discovered::{generous, tail},
    gaps, outcome, outcome_in, pack, stale,
};
use crate::{io::decompress::Compression, log::limits::Limits};
use std::{fs, path::Path, time::Instant};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn error(options: &[&str]) -> String {
    format!("{:#}", outcome(options).unwrap_err())
}

#[test]
fn a_log_is_unpacked_whatever_it_is_called() {
    let log = format!("noise\n{}", stale(30, "11:00:00"));
    for kind in [
        Compression::Gzip,
        Compression::Zstd,
        Compression::Xz,
        Compression::Bzip2,
    ] {
        let (_dir, path) = directory_of(&[("kubelet.log", pack(kind, log.as_bytes()))]);
        let (reading, lines) = outcome(&["--log", text(&path.join("kubelet.log"))]).unwrap();
        assert_eq!(lines, ["kubelet.log:2 30 11:00"], "{kind:?}");
        // What is told of its size is the text's.
        assert_eq!(reading.sources[0].bytes, log.len() as u64);
        assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
    }
    let (_dir, path) = directory_of(&[("kubelet.log.gz", log)]);
    let (_, lines) = outcome(&["--log", text(&path)]).unwrap();
    assert_eq!(lines, ["kubelet.log.gz:2 30 11:00"]);
}

#[test]
fn rotations_plain_and_compressed_go_in_the_order_of_their_times() {
    let gz = |day| pack(Compression::Gzip, stale(day, "11:00:00").as_bytes());
    let (_dir, path) = directory_of(&[
        ("kubelet.log", stale(30, "11:00:00").into_bytes()),
        ("kubelet.log.1", stale(29, "11:00:00").into_bytes()),
        ("kubelet.log.2.gz", gz(28)),
        (
            "kubelet.log.10.gz",
            pack(Compression::Xz, stale(20, "11:00:00").as_bytes()),
        ),
        ("kubelet.log-20261127.gz", gz(26)),
        (
            "kubelet.log-20261126.zst",
            pack(Compression::Zstd, stale(25, "11:00:00").as_bytes()),
        ),
    ]);
    let (reading, lines) = outcome(&["--log", text(&path)]).unwrap();
    assert_eq!(
        lines,
        [
            "kubelet.log.10.gz:1 20 11:00",
            "kubelet.log-20261126.zst:1 25 11:00",
            "kubelet.log-20261127.gz:1 26 11:00",
            "kubelet.log.2.gz:1 28 11:00",
            "kubelet.log.1:1 29 11:00",
            "kubelet.log:1 30 11:00",
        ]
    );
    assert!(reading.gaps.is_empty() && reading.notes.is_empty());
}

#[test]
fn a_compressed_log_that_is_cut_or_damaged_gives_what_came_before_and_one_gap() {
    let log: String = (0..60)
        .map(|minute| stale(30, &format!("11:{minute:02}:00")))
        .collect();
    let packed = pack(Compression::Gzip, log.as_bytes());
    let (_dir, path) = directory_of(&[("cut", &packed[..packed.len() - 8])]);
    let (reading, lines) = outcome(&["--log", text(&path.join("cut"))]).unwrap();
    assert_eq!(lines.len(), 60);
    let told = gaps(&reading);
    assert!(
        told.len() == 1 && told[0].starts_with("cut: it is cut short (gzip): only its first "),
        "{told:?}"
    );
    let mut broken = packed;
    let end = broken.len();
    broken[end - 8] ^= 1;
    fs::write(path.join("broken"), broken).unwrap();
    let (reading, lines) = outcome(&["--log", text(&path.join("broken"))]).unwrap();
    assert_eq!(lines.len(), 60);
    let told = gaps(&reading);
    assert!(
        told.len() == 1 && told[0].starts_with("broken: it is damaged (gzip: "),
        "{told:?}"
    );
}

#[test]
fn what_gives_nothing_or_no_text_is_refused_with_its_cure() {
    let twice = pack(Compression::Gzip, &pack(Compression::Xz, b"line\n"));
    let journal = pack(Compression::Zstd, b"LPKSHHRHrest");
    for (bytes, words) in [
        (b"\x1f\x8b\x08\0".to_vec(), "it is cut short (gzip)"),
        (b"\x28\xb5\x2f\xfd\0\x90hi".to_vec(), "256 MiB of memory"),
        (twice, "it is compressed twice"),
        (journal, "name it with --journal-from"),
    ] {
        let (_dir, path) = directory_of(&[("log", bytes)]);
        let file = path.join("log");
        let told = error(&["--log", text(&file)]);
        assert!(told.contains(words) && !told.contains('\n'), "{told}");
    }
}

#[test]
fn compressed_rotations_are_read_as_far_as_the_last_24_hours_reach() {
    let old = pack(Compression::Gzip, stale(28, "11:00:00").as_bytes());
    let lines = [stale(29, "11:00:00"), stale(29, "13:00:00")].concat();
    let (_dir, root) = directory_of(&[
        ("var/log/kubelet.log", stale(30, "11:00:00").into_bytes()),
        ("var/log/kubelet.log.1", stale(29, "14:00:00").into_bytes()),
        (
            "var/log/kubelet.log.2.gz",
            pack(Compression::Gzip, lines.as_bytes()),
        ),
        ("var/log/kubelet.log.3.gz", old),
    ]);
    let (reading, lines) = outcome_in(&root, &[]).unwrap();
    assert_eq!(
        lines,
        [
            "kubelet.log.2.gz:2 29 13:00",
            "kubelet.log.1:1 29 14:00",
            "kubelet.log:1 30 11:00"
        ]
    );
    assert!(reading.gaps.is_empty(), "{:?}", reading.gaps);
    assert_eq!(reading.notes.len(), 1, "{:?}", reading.notes);
    assert!(reading.notes[0].ends_with("kubelet.log.2.gz: what is older than 24 h was skipped"));
}

/// Reads a directory with a compressed rotation of the last hours. Returns what was read, and the gaps.
fn rotated(limits: &Limits) -> (String, Vec<String>) {
    let older = stale(30, "10:00:00").repeat(10);
    let (_dir, dir) = directory_of(&[
        (
            "kubelet.log.1.gz",
            pack(Compression::Gzip, older.as_bytes()),
        ),
        ("kubelet.log", stale(30, "11:00:00").repeat(10).into_bytes()),
    ]);
    let (read, gaps) = tail(&dir, limits, |_| {});
    (String::from_utf8(read).unwrap(), gaps)
}

#[test]
fn of_a_compressed_rotation_as_many_bytes_are_read_as_are_left() {
    let line = stale(30, "11:00:00").len() as u64;
    let (read, gaps) = rotated(&Limits {
        max_bytes: line * 13 + 5,
        ..generous()
    });
    assert_eq!(read.matches("10:00:00").count(), 3);
    assert_eq!(read.matches("11:00:00").count(), 10);
    assert!(
        gaps.len() == 1 && gaps[0].contains("1 GiB is the limit"),
        "{gaps:?}"
    );
}

#[test]
fn without_time_a_compressed_rotation_is_left_out_and_said() {
    let (read, gaps) = rotated(&Limits {
        search_until: Instant::now(),
        ..generous()
    });
    assert_eq!(
        (
            read.matches("10:00:00").count(),
            read.matches("11:00:00").count()
        ),
        (0, 10)
    );
    assert!(
        gaps.len() == 1
            && gaps[0].starts_with("older logs are compressed, and ")
            && gaps[0].contains("kubelet.log.1.gz were not read, since reading was slow"),
        "{gaps:?}"
    );
    // When time is up while it is read, what is newer comes first.
    let (read, gaps) = rotated(&Limits {
        hurry: Instant::now(),
        ..generous()
    });
    assert_eq!(read.matches("11:00:00").count(), 10);
    assert!(
        gaps.len() == 1 && gaps[0].contains("until time ran out"),
        "{gaps:?}"
    );
}
