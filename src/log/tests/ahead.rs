//! Compressed logs that threads read ahead of their turn.

use super::{directory_of, outcome, pack, stale};
use crate::{io::decompress::Kind, log::Reading};
use std::path::Path;

/// Reads the directory with so many threads.
fn read(path: &Path, threads: &str) -> (Reading, Vec<String>) {
    outcome(&["--log", path.to_str().unwrap(), "--threads", threads]).unwrap()
}

#[test]
fn logs_that_are_read_ahead_give_the_same_in_the_same_order() {
    let day = |day: u8| {
        let noise =
            format!("I11{day} 11:00:00.000000 1 noise.go:1] of no interest\n").repeat(3_000);
        let flood = (0..5000).map(|at| {
            let at = at / 100;
            stale(day, &format!("11:{:02}:{:02}", at / 60, at % 60))
        });
        format!("{noise}{}{noise}", flood.collect::<String>())
    };
    // Cut in its middle, where lines of interest were read.
    let mut cut = pack(Kind::Gzip, format!("{}{}", day(23), day(23)).as_bytes());
    cut.truncate(cut.len() * 3 / 4);
    let again = format!("{}{}", stale(25, "11:00:49"), stale(26, "11:00:00"));
    let (_dir, path) = directory_of(&[
        ("kubelet.log", day(30).into_bytes()),
        ("kubelet.log.1.gz", pack(Kind::Gzip, day(29).as_bytes())),
        (
            "kubelet.log.2.bz2",
            pack(Kind::Bzip2, stale(28, "11:00:00").as_bytes()),
        ),
        (
            "kubelet.log.3.xz",
            pack(Kind::Xz, stale(27, "11:00:00").as_bytes()),
        ),
        ("kubelet.log.4.gz", pack(Kind::Gzip, again.as_bytes())),
        ("kubelet.log.5.gz", pack(Kind::Gzip, day(25).as_bytes())),
        ("kubelet.log.6.gz", pack(Kind::Gzip, day(24).as_bytes())),
        ("kubelet.log.7.gz", cut),
    ]);
    let (alone, lines) = read(&path, "1");
    assert_eq!(alone.sources.len(), 8);
    assert!(
        alone
            .gaps
            .iter()
            .any(|gap| gap.why.contains("is cut short"))
    );
    assert!(alone.notes.iter().any(|note| note.contains("counted once")));
    assert!(lines.len() > 5 * 5000, "{}", lines.len());
    for threads in ["2", "5"] {
        let (together, same) = read(&path, threads);
        assert!(together == alone, "{threads}: {together:#?}");
        assert!(same == lines, "{threads}");
    }
}
