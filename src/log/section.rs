//! Readers that logs come out of: a part of a file, and what was looked at already before the rest.

use std::{
    fs::File,
    io::{self, Cursor, Read},
    os::unix::fs::FileExt as _,
};

/// A part of a file. It keeps a place of its own, so that several may read one file.
pub(super) struct Section {
    file: File,
    at: u64,
    end: u64,
}

impl Section {
    pub(super) fn new(file: File, from: u64, end: u64) -> Self {
        Self {
            file,
            at: from,
            end,
        }
    }

    /// Leaves out bytes; returns how many there were.
    pub(super) fn pass(&mut self, bytes: u64) -> u64 {
        let passed = bytes.min(self.end.saturating_sub(self.at));
        self.at += passed;
        passed
    }
}

impl Read for Section {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let room = out.len().min(left);
        let read = self.file.read_at(&mut out[..room], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// What was read of a stream already, the trouble that it ended in if there was any, and the rest.
pub(super) struct Ahead<R> {
    head: Cursor<Vec<u8>>,
    trouble: Option<io::Error>,
    rest: R,
}

impl<R: Read> Ahead<R> {
    pub(super) fn new(head: Vec<u8>, trouble: Option<io::Error>, rest: R) -> Self {
        let head = Cursor::new(head);
        Self {
            head,
            trouble,
            rest,
        }
    }
}

impl<R: Read> Read for Ahead<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.head.read(out)?;
        if read > 0 || out.is_empty() {
            return Ok(read);
        }
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => self.rest.read(out),
        }
    }
}
