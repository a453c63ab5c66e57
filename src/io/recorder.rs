//! Records what is read of a host, so that it can be read again elsewhere. Bounded: what is dropped is counted.

use std::collections::BTreeMap;
use std::io;
use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes and files that are kept: a machine of 30,000 processes has some 10 MiB of `stat`.
const MAX_BYTES: usize = 128 << 20;
const MAX_FILES: usize = 400_000;
/// Most failures that are kept; there is one for each process that one may not look at.
const MAX_FAILURES: usize = 1000;

/// Files by their paths below the root, `proc/1/stat`.
pub type Recorded = BTreeMap<String, Vec<u8>>;

/// What is read, by path below the root. Threads share it.
#[derive(Debug, Default)]
pub struct FileRecorder(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    kept: RecordedFiles,
    bytes: usize,
    closed: bool,
}

/// What was kept.
#[derive(Clone, Debug, Default)]
pub struct RecordedFiles {
    /// The files that could be read.
    pub files: Recorded,
    /// Those that could not, though they are there, with the reason.
    pub failures: BTreeMap<String, String>,
    /// How many were dropped.
    pub left_out: u64,
}

impl FileRecorder {
    /// Keeps what reading `path` came to. What is read again is kept as it was last.
    pub(crate) fn record(&self, path: &str, read: Result<&[u8], &io::Error>) {
        let mut inner = self.inner();
        let Inner {
            kept,
            bytes,
            closed,
        } = &mut *inner;
        match read {
            _ if *closed => {}
            Ok(read) if *bytes + read.len() > MAX_BYTES || kept.files.len() >= MAX_FILES => {
                kept.left_out += 1;
            }
            Ok(read) => {
                *bytes += read.len();
                if let Some(before) = kept.files.insert(path.to_owned(), read.to_vec()) {
                    *bytes -= before.len();
                }
            }
            // What is not there is not there in the recording either.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                if kept.failures.len() < MAX_FAILURES {
                    kept.failures.insert(path.to_owned(), error.to_string());
                }
            }
        }
    }

    /// Returns what reading `path` came to before, if that was kept.
    pub(crate) fn recorded(&self, path: &str) -> Option<Vec<u8>> {
        self.inner().kept.files.get(path).cloned()
    }

    /// Returns what was kept. A thread that was left behind adds nothing any more.
    pub fn finish(&self) -> RecordedFiles {
        let mut inner = self.inner();
        inner.closed = true;
        std::mem::take(&mut inner.kept)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Each change is whole; whoever panicked left nothing half-done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_and_cannot_be_read_is_told_and_what_is_not_there_is_nothing() {
        let recorder = FileRecorder::default();
        recorder.record("a", Err(&ErrorKind::PermissionDenied.into()));
        recorder.record("b", Err(&ErrorKind::NotFound.into()));
        recorder.record("c", Ok(b"one"));
        recorder.record("c", Ok(b"two"));
        let kept = recorder.finish();
        assert_eq!(kept.failures.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(kept.files["c"], b"two");
        assert_eq!(kept.left_out, 0);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let recorder = FileRecorder::default();
        let large = vec![0; MAX_BYTES / 2];
        for path in ["a", "b", "c"] {
            recorder.record(path, Ok(&large));
        }
        recorder.record("d", Ok(b""));
        let kept = recorder.finish();
        assert_eq!(kept.files.keys().collect::<Vec<_>>(), ["a", "b", "d"]);
        assert_eq!(kept.left_out, 1);
    }
}
