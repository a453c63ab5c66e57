//! Logs that somebody copied from a terminal, or searched.

use super::{Entry, directory_of, gaps, outcome, pack, stale, tar_of};
use crate::io::decompress::Compression;
use std::{fs, path::Path, process};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Returns ten lines, each broken into two rows.
fn rows() -> String {
    let lines: String = (10..20)
        .map(|minute| stale(30, &format!("11:{minute}:00")))
        .collect();
    let row = |line: &str| format!("{}\n{}\n", &line[..120], &line[120..]);
    lines.lines().map(row).collect()
}

#[test]
fn broken_lines_are_read_from_whatever_they_come_out_of() {
    let rows = rows();
    let (_dir, path) = directory_of(&[
        ("kubelet.log", rows.clone().into_bytes()),
        ("kubelet.log.gz", pack(Compression::Gzip, rows.as_bytes())),
        (
            "all.tar",
            tar_of(&[Entry::file("kubelet.log", rows.as_bytes())]),
        ),
        (
            "all.tar.gz",
            pack(
                Compression::Gzip,
                &tar_of(&[Entry::file("kubelet.log", rows.as_bytes())]),
            ),
        ),
    ]);
    let pipe = |name: &str| {
        let fifo = path.join(format!("{name}.pipe"));
        let made = process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let (from, to) = (path.join(name), fifo.clone());
        std::thread::spawn(move || fs::copy(from, to).unwrap());
        fifo
    };
    let mut logs: Vec<_> = ["kubelet.log", "kubelet.log.gz", "all.tar", "all.tar.gz"]
        .map(|name| path.join(name))
        .to_vec();
    logs.extend(["kubelet.log", "kubelet.log.gz", "all.tar", "all.tar.gz"].map(pipe));
    for log in logs {
        let (reading, lines) = outcome(&["--log", text(&log)]).unwrap();
        assert_eq!(lines.len(), 10, "{log:?}");
        for (number, line) in lines.iter().enumerate() {
            let (at, minute) = (number * 2 + 1, number + 10);
            assert!(line.ends_with(&format!(":{at} 30 11:{minute}")), "{line}");
        }
        assert_eq!(gaps(&reading), [""; 0]);
        let notes = &reading.notes;
        assert!(
            notes.iter().any(|it| it.contains("wrapped at 120 columns")),
            "{notes:?}"
        );
        assert!(reading.sources[0].extract);
    }
}

#[test]
fn broken_lines_are_read_in_whole_whatever_time_is_asked_for() {
    let many = rows().repeat(3000);
    assert!(many.len() > 4 << 20, "it could be narrowed: {}", many.len());
    let (_dir, path) = directory_of(&[("kubelet.log", many)]);
    let log = path.join("kubelet.log");
    let window = [
        "--since",
        "2026-11-30T11:19:00Z",
        "--until",
        "2026-11-30T11:20:00Z",
    ];
    let options = [&["--log", text(&log)], &window[..]].concat();
    let (reading, lines) = outcome(&options).unwrap();
    assert_eq!(lines.len(), 3000);
    assert!(
        reading
            .notes
            .iter()
            .any(|it| it.ends_with("its lines are wrapped"))
    );
}

#[test]
fn an_edge_that_cuts_all_lines_is_a_gap_though_no_message_is_left() {
    let cut = |time: &str| {
        format!("Nov 30 {time} worker-3 kubelet[2261]: E1130 {time}.000000    2261 remote_runt>\n")
    };
    let log: String = (10..20)
        .map(|minute| cut(&format!("11:{minute}:00")))
        .collect();
    let width = log.lines().next().unwrap().len();
    let (_dir, path) = directory_of(&[("journal.txt", log)]);
    let (reading, lines) = outcome(&["--log", text(&path.join("journal.txt"))]).unwrap();
    assert!(lines.is_empty());
    let [gap] = &gaps(&reading)[..] else { panic!() };
    assert!(
        gap.contains(&format!("a pager cut its lines at {width} columns")),
        "{gap}"
    );
}
