//! Lines that a terminal's width broke into rows, as a log has them that somebody copied from a terminal or a web page:
//! told by a log's beginning, and put together again as they are read, in constant memory.
//!
//! A row is one of a broken line if it is as wide as the terminal was and the next one begins like no line of a log.
//! Blanks that ended a row are lost in copying; they come back. A line that was put together is followed by as many
//! empty ones as it has rows more than one: so all keep their numbers.

use super::{lines::LONGEST, looks::Looks, open, section::Ahead};
use crate::kubelet::parser::{is_own, stamps, without_return};
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read},
    ops::RangeInclusive,
};

/// How wide a terminal may have been.
const WIDTHS: RangeInclusive<usize> = 40..=500;
/// Widths that terminals have, and mailers.
const USUAL: [usize; 10] = [72, 76, 78, 79, 80, 100, 120, 132, 160, 200];
/// Blanks at a row's end that copying may have lost.
const LOST: usize = 2;
/// Broken lines that it takes to tell.
const FEW: usize = 3;
/// Places in messages at which no reason breaks so many lines of one width.
const MANY: usize = 8;
/// Longest piece of a row that is kept.
const PIECE: u64 = 64 << 10;

/// Returns at which width the lines of a log were broken that begins with these rows, all of them whole.
pub(super) fn width(rows: &[&[u8]]) -> Option<usize> {
    let widths: Vec<usize> = rows.iter().map(|row| columns(row)).collect();
    let width = greatest(&widths)?;
    let mut count = Count::default();
    for (at, row) in rows.iter().enumerate() {
        if is_head(row) {
            count.heads += 1;
        }
        let Some(next) = rows.get(at + 1) else { break };
        // Only what may matter is asked whether it is a head: that takes longer than to measure it.
        let full = widths[at] <= width && widths[at] + LOST >= width;
        match (full, is_next(next)) {
            (true, true) => count.broken(row, next),
            (true, false) => count.whole += usize::from(widths[at] == width),
            (false, true) => count.loose += 1,
            (false, false) => {}
        }
    }
    let wider = widths.iter().filter(|&&it| it > width).count();
    (wider * 10 <= count.broken && count.tells(width)).then_some(width)
}

/// Returns the greatest width that many rows have; few are wider than those.
fn greatest(widths: &[usize]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for &width in widths {
        *counts.entry(width).or_default() += 1;
    }
    let mut wider = 0;
    let (&width, _) = counts.iter().rev().find(|&(_, &count)| {
        let many = count >= FEW && wider * 10 <= count;
        wider += count;
        many
    })?;
    WIDTHS.contains(&width).then_some(width)
}

/// What the rows of a log's beginning are.
#[derive(Default)]
struct Count {
    /// Rows that begin like a line of a log.
    heads: usize,
    /// Rows that go on in the next one, as far as their width tells.
    broken: usize,
    /// Of them those broken within a word.
    within: usize,
    /// The places where they are broken, without digits.
    places: BTreeMap<Vec<u8>, usize>,
    /// Rows of that width that do not go on.
    whole: usize,
    /// Rows that begin like no line after one of another width.
    loose: usize,
}

impl Count {
    fn broken(&mut self, row: &[u8], next: &[u8]) {
        self.broken += 1;
        let row = without_return(row);
        let seam = row.last().zip(next.first());
        let within = seam.is_some_and(|(last, first)| {
            last.is_ascii_alphanumeric() && (first.is_ascii_lowercase() || first.is_ascii_digit())
        });
        self.within += usize::from(within);
        let around = row[row.len().saturating_sub(6)..].iter();
        let around = around.chain(&next[..next.len().min(4)]);
        let place = around.map(|byte| if byte.is_ascii_digit() { b'0' } else { *byte });
        *self.places.entry(place.collect()).or_default() += 1;
    }

    /// Returns whether a terminal of that width broke the lines. What breaks them for a reason does so at many widths;
    /// if a message that is often there has two lines, and no line is wider than its first, then always at one place.
    fn tells(&self, width: usize) -> bool {
        let places = self.places.len();
        let words = self.within * 4 >= self.broken && places > 1;
        let usual = self.within == self.broken && USUAL.contains(&width);
        self.heads > 0
            && self.broken >= FEW
            && (words || usual || places >= MANY)
            && self.whole * 2 <= self.broken
            && self.loose * 2 <= self.broken
    }
}

/// Returns how many columns a row takes; a character takes one.
pub(super) fn columns(row: &[u8]) -> usize {
    let row = without_return(row).iter();
    // All bytes but those that go on with a character.
    row.filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// Returns whether a row begins like a line of a log.
fn is_head(row: &[u8]) -> bool {
    let row = without_return(row);
    stamps(row).is_some()
        || is_own(row)
        || [&b"{\"log\":\""[..], b"-- ", b"Log file created at: "]
            .iter()
            .any(|start| row.starts_with(start))
}

/// Returns whether a row may be what a broken line goes on with.
fn is_next(row: &[u8]) -> bool {
    !without_return(row).is_empty() && !is_head(row)
}

/// Puts lines together of which that is known.
#[derive(Debug)]
struct Joiner {
    width: usize,
    /// How many blanks the last row lost, if it is as wide as the terminal.
    lost: Option<usize>,
    /// Whether the last row is not at its end.
    within: bool,
    begun: bool,
    /// Bytes of the line that is being put together.
    length: usize,
    /// Rows that became a part of it.
    joined: usize,
}

impl Joiner {
    fn new(width: usize) -> Self {
        Self {
            width,
            lost: None,
            within: false,
            begun: false,
            length: 0,
            joined: 0,
        }
    }

    /// Takes the next row, with its newline, or a piece of one that is too long; appends what is ready.
    fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let whole = piece.strip_suffix(b"\n");
        let row = whole.unwrap_or(piece);
        if std::mem::replace(&mut self.within, whole.is_none()) {
            return out.extend_from_slice(row);
        }
        let row = without_return(row);
        match self.lost.take() {
            Some(lost) if is_next(row) && self.length < LONGEST => {
                out.extend(std::iter::repeat_n(b' ', lost));
                self.length += lost;
                self.joined += 1;
            }
            _ => self.end(out),
        }
        self.begun = true;
        self.length += row.len();
        out.extend_from_slice(row);
        let lost = self.width.checked_sub(columns(row));
        self.lost = lost.filter(|&lost| lost <= LOST && whole.is_some());
    }

    /// Ends the line that was put together.
    fn end(&mut self, out: &mut Vec<u8>) {
        let newlines = usize::from(self.begun) + std::mem::take(&mut self.joined);
        out.extend(std::iter::repeat_n(b'\n', newlines));
        self.length = 0;
    }

    /// Ends the last line, if something did.
    fn finish(&mut self, out: &mut Vec<u8>) {
        if !self.within {
            self.end(out);
        }
        self.begun = false;
    }
}

/// Reads a log whose lines were broken, put together.
pub(super) struct Rejoin<R> {
    from: BufReader<R>,
    joiner: Joiner,
    piece: Vec<u8>,
    ready: Vec<u8>,
    given: usize,
    /// What reading ended in, to be told once what came before it is given.
    trouble: Option<io::Error>,
}

impl<R: Read> Rejoin<R> {
    /// Returns a reader of what `from` gives, of which the lines are broken at that `width`.
    pub(super) fn new(from: R, width: usize) -> Self {
        Self {
            from: BufReader::new(from),
            joiner: Joiner::new(width),
            piece: Vec::new(),
            ready: Vec::new(),
            given: 0,
            trouble: None,
        }
    }
}

impl<R: Read> Read for Rejoin<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.ready.len() {
            if let Some(trouble) = self.trouble.take() {
                return Err(trouble);
            }
            self.ready.clear();
            self.given = 0;
            self.piece.clear();
            let mut most = (&mut self.from).take(PIECE);
            self.trouble = most.read_until(b'\n', &mut self.piece).err();
            if !self.piece.is_empty() {
                self.joiner.push(&self.piece, &mut self.ready);
            } else if self.trouble.is_none() {
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

/// Returns a reader of what `from` gives, with its lines put together if its beginning shows that they are broken.
pub fn unbroken<'a>(mut from: impl Read + 'a) -> Box<dyn Read + 'a> {
    let (head, trouble) = open::beginning(&mut from);
    let looks = Looks::of(&head, (head.len() as u64) < open::HEAD);
    let whole = Ahead::new(head, trouble, from);
    match looks.broken {
        Some(width) => Box::new(Rejoin::new(whole, width)),
        None => Box::new(whole),
    }
}

#[cfg(test)]
#[path = "tests/rows.rs"]
mod tests;
