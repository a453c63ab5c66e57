//! Readers of a part of a file, and of a stream whose beginning was read already.

use std::fs::File;
use std::io;
use std::io::{Cursor, Read};
use std::os::unix::fs::FileExt as _;

/// A part of a file, with a position of its own.
pub(super) struct FileRange {
    file: File,
    at: u64,
    end: u64,
}

impl FileRange {
    pub(super) fn new(file: File, start: u64, end: u64) -> Self {
        Self {
            file,
            at: start,
            end,
        }
    }

    /// Skips up to that many bytes; returns how many.
    pub(super) fn skip(&mut self, bytes: u64) -> u64 {
        let skipped = bytes.min(self.end.saturating_sub(self.at));
        self.at += skipped;
        skipped
    }
}

impl Read for FileRange {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let room = out.len().min(left);
        let read = self.file.read_at(&mut out[..room], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The beginning of a stream that was read already, the error that ended it early, and the rest.
pub(super) struct Prefixed<R> {
    head: Cursor<Vec<u8>>,
    error: Option<io::Error>,
    rest: R,
}

impl<R: Read> Prefixed<R> {
    pub(super) fn new(head: Vec<u8>, error: Option<io::Error>, rest: R) -> Self {
        let head = Cursor::new(head);
        Self { head, error, rest }
    }
}

impl<R: Read> Read for Prefixed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.head.read(out)?;
        if read > 0 || out.is_empty() {
            return Ok(read);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.rest.read(out),
        }
    }
}
