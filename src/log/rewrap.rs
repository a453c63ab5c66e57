//! Rejoins lines that a terminal or a web page hard-wrapped, as they are read, in constant memory. A row is continued if
//! it is as wide as the terminal and the next one begins like no line of a log. A rejoined line is followed by an empty
//! one for each row that it took in, so that line numbers stay.

use super::file_range::Prefixed;
use super::lines::MAX_LINE;
use super::sniff;
use super::sniff::{LineFormat, MAX_LOST_BLANKS};
use crate::kubelet::parser::without_return;
use std::io::{self, BufRead as _, BufReader, Read};

/// Longest part of a row that is kept, in bytes.
const MAX_PART: u64 = 64 << 10;

#[derive(Debug)]
struct Joiner {
    width: usize,
    lost: Option<usize>,
    within: bool,
    begun: bool,
    /// Bytes and additional rows of the line being rejoined.
    length: usize,
    joined: usize,
}

impl Joiner {
    /// Takes the next row with its newline, or a part of one that is too long.
    fn push(&mut self, part: &[u8], out: &mut Vec<u8>) {
        let whole = part.strip_suffix(b"\n");
        let row = whole.unwrap_or(part);
        if std::mem::replace(&mut self.within, whole.is_none()) {
            return out.extend_from_slice(row);
        }
        let row = without_return(row);
        match self.lost.take() {
            Some(lost) if sniff::is_continuation(row) && self.length < MAX_LINE => {
                out.extend(std::iter::repeat_n(b' ', lost));
                self.length += lost;
                self.joined += 1;
            }
            _ => self.end_line(out),
        }
        self.begun = true;
        self.length += row.len();
        out.extend_from_slice(row);
        let lost = self.width.checked_sub(sniff::columns(row));
        self.lost = lost.filter(|&lost| lost <= MAX_LOST_BLANKS && whole.is_some());
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        let newlines = usize::from(self.begun) + std::mem::take(&mut self.joined);
        out.extend(std::iter::repeat_n(b'\n', newlines));
        self.length = 0;
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.within {
            self.end_line(out);
        }
        self.begun = false;
    }
}

/// Reads a hard-wrapped log with its lines rejoined.
pub(super) struct Rewrap<R> {
    from: BufReader<R>,
    joiner: Joiner,
    part: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
    /// An error of `from`, for when all before it is given.
    error: Option<io::Error>,
}

impl<R: Read> Rewrap<R> {
    pub(super) fn new(from: R, width: usize) -> Self {
        Self {
            from: BufReader::new(from),
            joiner: Joiner {
                width,
                lost: None,
                within: false,
                begun: false,
                length: 0,
                joined: 0,
            },
            part: Vec::new(),
            ready: Vec::new(),
            given: 0,
            error: None,
        }
    }
}

impl<R: Read> Read for Rewrap<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            self.ready.clear();
            self.given = 0;
            self.part.clear();
            let mut limited = (&mut self.from).take(MAX_PART);
            self.error = limited.read_until(b'\n', &mut self.part).err();
            if !self.part.is_empty() {
                self.joiner.push(&self.part, &mut self.ready);
            } else if self.error.is_none() {
                self.joiner.finish(&mut self.ready);
                if self.ready.is_empty() {
                    return Ok(0);
                }
            }
        }
        let ready = &self.ready[self.given..];
        let given = ready.len().min(out.len());
        out[..given].copy_from_slice(&ready[..given]);
        self.given += given;
        Ok(given)
    }
}

/// Reads `from`, with its lines rejoined if its beginning is hard-wrapped.
pub fn rewrapped<'a>(mut from: impl Read + 'a) -> Box<dyn Read + 'a> {
    let (head, error) = sniff::read_head(&mut from);
    let format = LineFormat::detect(&head);
    let whole = Prefixed::new(head, error, from);
    match format.wrapped {
        Some(width) => Box::new(Rewrap::new(whole, width)),
        None => Box::new(whole),
    }
}

#[cfg(test)]
#[path = "tests/rewrap.rs"]
mod tests;
