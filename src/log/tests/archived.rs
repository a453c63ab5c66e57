//! Archives of logs, as collectors save them.

use super::{Entry, directory_of, gaps, outcome, pack, stale, tar_of};
use crate::{io::decompress::Compression, log::Reading};
use std::{fs, os::unix::fs::symlink, path::Path, process, thread};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn file(name: &str, day: u8) -> Entry {
    Entry::file(name, stale(day, "11:00:00").as_bytes())
}

/// Reads an archive, plain and compressed in each way. Returns what is cited, the same for all.
fn cited(tar: &[u8]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let mut told = None;
    let mut kinds = vec![tar.to_owned()];
    for kind in [
        Compression::Gzip,
        Compression::Zstd,
        Compression::Xz,
        Compression::Bzip2,
    ] {
        kinds.push(pack(kind, tar));
    }
    for bytes in kinds {
        let (_dir, path) = directory_of(&[("bundle.tar", bytes)]);
        let (reading, lines) = outcome(&["--log", text(&path.join("bundle.tar"))]).unwrap();
        let prefix = format!("{}/", path.display());
        let names = reading.sources.iter();
        let names = names.map(|it| it.name.strip_prefix(&prefix).unwrap().to_owned());
        let this = (names.collect(), lines, gaps(&reading));
        assert_eq!(*told.get_or_insert_with(|| this.clone()), this);
    }
    told.unwrap()
}

#[test]
fn the_logs_of_an_archive_go_in_the_order_of_their_times_by_the_names_that_they_have_in_it() {
    let tar = tar_of(&[
        Entry::folder("node/"),
        file("node/kubelet.log", 30),
        file("node/kubelet.log.1", 29),
        Entry::file(
            "node/kubelet.log.2.gz",
            &pack(Compression::Gzip, stale(28, "11:00:00").as_bytes()),
        ),
        Entry::file(
            "node/kubelet.log.3.zst",
            &pack(Compression::Zstd, stale(27, "11:00:00").as_bytes()),
        ),
        Entry::file("node/kubelet.conf", b"clusterDomain: cluster.local\n"),
        Entry::file(
            "node/docker.log",
            b"time=\"2026-11-30T11:00:00Z\" level=error msg=\"x\"\n",
        ),
        file("journal of the kubelet.txt", 26),
    ]);
    let (names, lines, gaps) = cited(&tar);
    assert_eq!(
        names,
        [
            "bundle.tar:journal of the kubelet.txt",
            "bundle.tar:node/kubelet.log.3.zst",
            "bundle.tar:node/kubelet.log.2.gz",
            "bundle.tar:node/kubelet.log.1",
            "bundle.tar:node/kubelet.log",
        ]
    );
    assert_eq!(lines[1], "kubelet.log.3.zst:1 27 11:00");
    assert_eq!(lines.len(), 5);
    assert!(gaps.is_empty(), "{gaps:?}");
}

#[test]
fn links_devices_and_names_that_lead_elsewhere_are_never_followed() {
    let (_dir, path) = directory_of(&[("secret", stale(30, "10:00:00"))]);
    let secret = path.join("secret");
    let tar = tar_of(&[
        Entry::link("kubelet.log.1", text(&secret)),
        Entry::hard_link("kubelet.log.2", text(&secret)),
        Entry::of_type("kubelet.log.3", b'4'),
        file("../../../../../../tmp/kubelet.log", 30),
        file("/etc/kubelet.log", 29),
    ]);
    let (names, lines, gaps) = cited(&tar);
    assert_eq!(
        names,
        [
            "bundle.tar:/etc/kubelet.log",
            "bundle.tar:../../../../../../tmp/kubelet.log"
        ]
    );
    assert_eq!(lines, ["kubelet.log:1 29 11:00", "kubelet.log:1 30 11:00"]);
    assert!(gaps.is_empty(), "{gaps:?}");
}

#[test]
fn in_each_folder_klogs_lowest_level_and_the_kubelets_own_log_stand_for_the_others() {
    let info = "a/kubelet.worker-3.root.log.INFO.20261130-110000.2261";
    let tar = tar_of(&[
        file("a/kubelet.worker-3.root.log.ERROR.20261130-110000.2261", 30),
        file(info, 30),
        file("b/messages", 29),
        file("b/kubelet.log", 28),
        file("c/messages-20261127", 27),
    ]);
    let (names, _, _) = cited(&tar);
    assert_eq!(
        names,
        [
            "bundle.tar:c/messages-20261127",
            "bundle.tar:b/kubelet.log",
            &format!("bundle.tar:{info}"),
        ]
    );
}

#[test]
fn archives_inside_an_archive_are_skipped_and_named() {
    let inner = tar_of(&[file("kubelet.log", 28)]);
    let mut entries = vec![
        Entry::file("node.tar", &inner),
        file("kubelet.log", 30),
        Entry::file("a/node.tgz", &pack(Compression::Gzip, &inner)),
    ];
    let skipped =
        "skipped archives inside it (node.tar, a/node.tgz): unpack them and pass them with --log";
    let tar = tar_of(&entries);
    let (names, lines, gaps) = cited(&tar);
    assert_eq!(names, ["bundle.tar:kubelet.log"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(gaps, [format!("bundle.tar: {skipped}")]);
    let (reading, lines) = piped(pack(Compression::Gzip, &tar));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(super::gaps(&reading), [format!("pipe: {skipped}")]);
    // Without any other log nothing can be read.
    entries.remove(1);
    let (_dir, path) = directory_of(&[("bundle", tar_of(&entries))]);
    let error = outcome(&["--log", text(&path.join("bundle"))]).unwrap_err();
    let words = "none of its 2 files is a log of the kubelet; skipped archives inside it";
    assert!(error.to_string().contains(words), "{error}");
    // Of many some are named.
    entries.extend((0..5).map(|number| Entry::file(&format!("{number}.tar"), &inner)));
    entries.push(file("kubelet.log", 30));
    let (_, _, gaps) = cited(&tar_of(&entries));
    assert!(
        gaps[0].contains("(node.tar, a/node.tgz, 0.tar, 1.tar and 3 more)"),
        "{gaps:?}"
    );
}

#[test]
fn ten_thousand_members_are_walked_and_the_logs_among_them_read() {
    let mut entries: Vec<Entry> = (0..10_000)
        .map(|number| Entry::file(&format!("pods/{number}.txt"), b"nothing of interest\n"))
        .collect();
    entries.insert(5000, file("kubelet.log.1", 29));
    entries.push(file("kubelet.log", 30));
    let (_dir, path) = directory_of(&[("bundle.tgz", tar_of(&entries))]);
    let (_, lines) = outcome(&["--log", text(&path.join("bundle.tgz"))]).unwrap();
    assert_eq!(
        lines,
        [
            "bundle.tgz:kubelet.log.1:1 29 11:00",
            "bundle.tgz:kubelet.log:1 30 11:00"
        ]
    );
}

#[test]
fn more_logs_than_are_worth_their_order_stay_in_the_archives() {
    let minute = |number: u64| {
        let minute = 719 - 2 * number;
        stale(30, &format!("{:02}:{:02}:00", minute / 60, minute % 60))
    };
    let entries: Vec<Entry> = (0..40)
        .map(|number| Entry::file(&format!("{number}/kubelet.log"), minute(number).as_bytes()))
        .collect();
    let (_dir, path) = directory_of(&[("bundle", pack(Compression::Gzip, &tar_of(&entries)))]);
    let (reading, lines) = outcome(&["--log", text(&path.join("bundle"))]).unwrap();
    assert_eq!(
        (lines.len(), lines[0].as_str()),
        (40, "kubelet.log:1 30 11:59")
    );
    let note = &reading.notes[0];
    assert!(
        note.contains("bundle: its logs were read in the archive's order"),
        "{note}"
    );
    // Not one note for each of them.
    assert_eq!(reading.notes.len(), 5 + 1, "{:?}", reading.notes);
    assert_eq!(
        reading.notes[5],
        "35 more logs begin before the one before them ends"
    );
    // Not compressed, each can be read from where it is.
    fs::write(path.join("bundle"), tar_of(&entries)).unwrap();
    let (_, lines) = outcome(&["--log", text(&path.join("bundle"))]).unwrap();
    assert_eq!(lines[0], "kubelet.log:1 30 10:41");
}

/// Returns an archive, plain and compressed, that breaks off in the 60 lines of its second log.
fn cut_archives() -> [Vec<u8>; 2] {
    let long: String = (0..60)
        .map(|minute| stale(29, &format!("11:{minute:02}:00")))
        .collect();
    let tar = tar_of(&[
        file("kubelet.log.1", 28),
        Entry::file("kubelet.log", long.as_bytes()),
    ]);
    let gz = pack(Compression::Gzip, &tar);
    [
        tar[..512 * 3 + long.len() / 2].to_owned(),
        gz[..gz.len() * 3 / 4].to_owned(),
    ]
}

#[test]
fn a_cut_archive_gives_what_came_before_and_one_gap() {
    let [tar, gz] = cut_archives();
    for (bytes, words) in [(tar, "cut short after "), (gz, "it is cut short (gzip)")] {
        let (_dir, path) = directory_of(&[("bundle", bytes)]);
        let (reading, lines) = outcome(&["--log", text(&path.join("bundle"))]).unwrap();
        assert!(lines.len() > 25, "{lines:?}");
        let told = gaps(&reading);
        assert!(
            told.len() == 1 && told[0].starts_with("bundle: ") && told[0].contains(words),
            "{told:?}"
        );
    }
}

#[test]
fn an_archive_without_a_log_is_refused_and_one_name_may_stand_for_two() {
    let (_dir, path) = directory_of(&[("bundle", tar_of(&[Entry::file("a", b"b\n")]))]);
    let words = format!(
        "{:#}",
        outcome(&["--log", text(&path.join("bundle"))]).unwrap_err()
    );
    assert!(
        words.contains("it is an archive, and none of its 1 files is a log"),
        "{words}"
    );
    let tar = tar_of(&[file("kubelet.log", 29), file("kubelet.log", 30)]);
    let (names, lines, _) = cited(&tar);
    assert_eq!(
        names,
        ["bundle.tar:kubelet.log", "bundle.tar:kubelet.log#2"]
    );
    assert_eq!(lines.len(), 2);
}

#[test]
fn an_archive_and_its_members_share_the_memory_that_there_is() {
    let xz = pack(Compression::Xz, stale(29, "11:00:00").as_bytes());
    let tar = tar_of(&[
        Entry::file("kubelet.log.1.xz", &xz),
        file("kubelet.log", 30),
    ]);
    // A frame of zstd with one raw block and a window of 128 MiB, as `--long` writes (RFC 8878).
    let block = u32::try_from(tar.len() << 3 | 1).unwrap().to_le_bytes();
    let frame = [b"\x28\xb5\x2f\xfd\x00\x88", &block[..3], &tar].concat();
    let (_dir, path) = directory_of(&[("bundle", frame)]);
    let (reading, lines) = outcome(&["--log", text(&path.join("bundle"))]).unwrap();
    assert_eq!(lines, ["bundle:kubelet.log:1 30 11:00"]);
    let told = gaps(&reading);
    assert!(
        told.len() == 1
            && told[0].starts_with(
                "bundle:kubelet.log.1.xz: decompressing it (xz) takes more than 0 MiB of memory"
            ),
        "{told:?}"
    );
}

#[test]
fn an_archive_given_twice_is_read_once() {
    let (_dir, path) = directory_of(&[("bundle", tar_of(&[file("kubelet.log", 30)]))]);
    symlink(path.join("bundle"), path.join("again")).unwrap();
    let (bundle, again) = (path.join("bundle"), path.join("again"));
    let (_, lines) = outcome(&["--log", text(&bundle), "--log", text(&again)]).unwrap();
    assert_eq!(lines, ["bundle:kubelet.log:1 30 11:00"]);
}

/// Reads what comes through a pipe.
fn piped(bytes: Vec<u8>) -> (Reading, Vec<String>) {
    let (_dir, path) = directory_of::<&str>(&[]);
    let fifo = path.join("pipe");
    let made = process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let writer = {
        let fifo = fifo.clone();
        // Whoever reads no more is no failure of the writer's.
        thread::spawn(move || drop(fs::write(fifo, bytes)))
    };
    let told = outcome(&["--log", text(&fifo)]).unwrap();
    writer.join().unwrap();
    told
}

#[test]
fn through_a_pipe_the_logs_come_in_the_archives_order_and_that_is_said() {
    let filler = "x".repeat(200_000);
    let big = format!("{filler}\n{}", stale(27, "11:00:00"));
    let tar = tar_of(&[
        Entry::file("noise", filler.as_bytes()),
        Entry::link("kubelet.log.9", "/etc/shadow"),
        file("kubelet.log", 30),
        Entry::file(
            "kubelet.log.1",
            &pack(Compression::Bzip2, stale(29, "11:00:00").as_bytes()),
        ),
        Entry::file("kubelet.log.2.gz", &pack(Compression::Gzip, big.as_bytes())),
        Entry::file("kubelet.log.3.lz4", b"\x04\x22\x4d\x18"),
    ]);
    for bytes in [
        tar.clone(),
        pack(Compression::Zstd, &tar),
        pack(Compression::Bzip2, &tar),
    ] {
        let (reading, lines) = piped(bytes);
        assert_eq!(
            lines,
            [
                "pipe:kubelet.log:1 30 11:00",
                "pipe:kubelet.log.1:1 29 11:00",
                "pipe:kubelet.log.2.gz:2 27 11:00"
            ]
        );
        let notes = reading
            .notes
            .iter()
            .filter(|note| note.contains("in the archive's order"));
        assert_eq!(notes.count(), 1, "{:?}", reading.notes);
        let told = gaps(&reading);
        assert!(
            told.len() == 1
                && told[0].starts_with("pipe:kubelet.log.3.lz4: it is compressed (lz4)"),
            "{told:?}"
        );
    }
    let (reading, _) = piped(tar_of(&[
        file("kubelet.log.1", 29),
        file("kubelet.log", 30),
    ]));
    assert!(reading.notes.is_empty() && reading.gaps.is_empty());
}

#[test]
fn an_archive_that_breaks_off_in_a_pipe_gives_what_came_before_and_one_gap() {
    for bytes in cut_archives() {
        let (reading, lines) = piped(bytes);
        assert!(lines.len() > 25, "{lines:?}");
        let told = gaps(&reading);
        assert!(
            told.len() == 1 && told[0].starts_with("pipe: it is cut short"),
            "{told:?}"
        );
    }
}

#[test]
fn of_more_logs_than_find_room_the_others_are_counted() {
    let entries: Vec<Entry> = (0..4200)
        .map(|n| file(&format!("d{n}/kubelet.log"), 30))
        .collect();
    let tar = tar_of(&entries);
    let (reading, _) = piped(tar.clone());
    assert_eq!(reading.sources.len(), 4096);
    let [gap] = &gaps(&reading)[..] else { panic!() };
    assert!(
        gap.ends_with("104 logs beyond the first 4096 were skipped"),
        "{gap}"
    );
    // … and of several archives together.
    let dir = directory_of(&[
        ("a.tar", tar.clone()),
        ("b.tar", tar.clone()),
        ("c.tar", tar),
    ]);
    let paths = ["a.tar", "b.tar", "c.tar"].map(|name| dir.1.join(name));
    let options: Vec<&str> = paths
        .iter()
        .flat_map(|path| ["--log", text(path)])
        .collect();
    let (reading, _) = outcome(&options).unwrap();
    assert_eq!(reading.sources.len(), 8192);
    let told = gaps(&reading);
    assert!(
        told.iter()
            .any(|gap| gap.starts_with("the logs: 4096 logs beyond the first 8192")),
        "{told:?}"
    );
}
