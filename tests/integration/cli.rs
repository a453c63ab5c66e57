//! The command line through the real program, without any daemon but played ones.

/// What is read: line ends, junk, several files, rotations, windows of time.
mod inputs;
/// Which Docker is asked, and whether it is about the same node as the log.
mod joining;
/// Where the output goes, and that nothing hostile comes with it.
mod output;
/// What is no sensible question.
mod usage;

use crate::support::judge::{Unpacked, case};
use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// At noon, in UTC, without Docker.
const NOON: [&str; 6] = [
    "diagnose",
    "--no-docker",
    "--now",
    "2026-11-30T12:00:00Z",
    "--utc-offset",
    "+00:00",
];

/// Returns `NOON` with more arguments.
fn noon<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&NOON, more].concat()
}

/// Returns a line of a kubelet that could not finish its relist at that time of the day.
pub(crate) fn stale(time: &str) -> String {
    format!(
        "E1130 {time}.000000    2261 kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s\n"
    )
}

/// Returns a line of a kubelet that is well.
fn ready(time: &str) -> String {
    format!(
        "I1130 {time}.000000    2261 kubelet_node_status.go:531] Recording NodeReady event message for node worker-3\n"
    )
}

/// Returns a directory with these files.
pub(crate) fn files(all: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in all {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A case's log, as a file.
pub(crate) struct Log {
    path: PathBuf,
    _case: Unpacked,
}

impl Deref for Log {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

pub(crate) fn log_of(name: &str) -> Log {
    let case = case(name);
    let path = case.folder.join("kubelet.log");
    Log { path, _case: case }
}
