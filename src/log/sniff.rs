//! What a log's first 64 KiB show: its first time, and how its lines were damaged on the way: hard-wrapped at a
//! terminal's width, or cut at it by a pager.

use crate::kubelet::parser::{Hints, Parser, ends_cut, is_own, stamps, without_return};
use crate::syntax::time::Time;
use std::collections::BTreeMap;
use std::io;
use std::io::Read;
use std::ops::RangeInclusive;

/// How much of a log's beginning is looked at, in bytes.
pub(super) const HEAD: u64 = 64 << 10;
const MAX_ROWS: usize = 4096;
const WIDTHS: RangeInclusive<usize> = 40..=500;
const USUAL_WIDTHS: [usize; 10] = [72, 76, 78, 79, 80, 100, 120, 132, 160, 200];
/// Blanks at a row's end that copying may have dropped.
pub(super) const MAX_LOST_BLANKS: usize = 2;
const MIN_WRAPPED: usize = 3;
/// Different places in messages; no reason but a terminal wraps lines at so many and at one width.
const MIN_PLACES: usize = 8;
const MIN_CUT: usize = 2;

/// Reads the beginning, and the error that ended it early.
pub(super) fn read_head(reader: &mut dyn Read) -> (Vec<u8>, Option<io::Error>) {
    let mut head = Vec::new();
    let error = reader.take(HEAD).read_to_end(&mut head).err();
    (head, error)
}

/// The first time in the lines of `text`.
pub(super) fn first_time(name: &str, text: &[u8], hints: Hints) -> Option<Time> {
    let mut parser = Parser::new(name, hints);
    let mut events = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        parser.line(line, &mut events);
        events.clear();
        if parser.source_info().oldest.is_some() {
            return parser.source_info().oldest;
        }
    }
    parser.finish(&mut events);
    parser.source_info().oldest
}

/// Damage to a log's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineFormat {
    pub(super) wrapped: Option<usize>,
    /// Columns at which a pager cut its lines.
    pub(super) cut: Option<usize>,
}

impl LineFormat {
    /// Judges a log's beginning, of at most `HEAD` bytes.
    pub(super) fn detect(head: &[u8]) -> Self {
        Self::detect_in(head, (head.len() as u64) < HEAD)
    }

    /// The last line counts only if the beginning is `whole`, or ends with it.
    fn detect_in(head: &[u8], whole: bool) -> Self {
        let end = if whole {
            head.len()
        } else {
            memchr::memrchr(b'\n', head).unwrap_or(0)
        };
        let rows: Vec<&[u8]> = head[..end]
            .split(|&byte| byte == b'\n')
            .take(MAX_ROWS)
            .collect();
        Self {
            wrapped: wrap_width(&rows),
            cut: cut_width(&rows),
        }
    }
}

/// Columns of a row; a character takes one.
pub(super) fn columns(row: &[u8]) -> usize {
    let is_start = |byte: &&u8| **byte & 0xc0 != 0x80;
    without_return(row).iter().filter(is_start).count()
}

/// Whether a row may be what a wrapped line continues with.
pub(super) fn is_continuation(row: &[u8]) -> bool {
    !without_return(row).is_empty() && !is_line_start(row)
}

fn is_line_start(row: &[u8]) -> bool {
    let row = without_return(row);
    stamps(row).is_some()
        || is_own(row)
        || [&b"{\"log\":\""[..], b"-- ", b"Log file created at: "]
            .iter()
            .any(|start| row.starts_with(start))
}

/// The greatest width, if most rows of it end as a pager ends a line that it cuts.
fn cut_width(rows: &[&[u8]]) -> Option<usize> {
    let widths: Vec<usize> = rows.iter().map(|row| columns(row)).collect();
    let width = *widths.iter().max()?;
    let (mut all, mut cut) = (0, 0);
    for (row, _) in rows.iter().zip(&widths).filter(|(_, it)| **it == width) {
        all += 1;
        let has_dots = memchr::memmem::find(row, "…".as_bytes()).is_some();
        cut += usize::from(ends_cut(row) || has_dots);
    }
    (width >= *WIDTHS.start() && cut >= MIN_CUT && cut * 2 > all).then_some(width)
}

/// The width at which a terminal wrapped these rows, all of them whole.
pub(super) fn wrap_width(rows: &[&[u8]]) -> Option<usize> {
    let widths: Vec<usize> = rows.iter().map(|row| columns(row)).collect();
    let width = greatest_common(&widths)?;
    let mut seams = Seams::default();
    for (at, row) in rows.iter().enumerate() {
        seams.line_starts += usize::from(is_line_start(row));
        let Some(next) = rows.get(at + 1) else { break };
        let full = widths[at] <= width && widths[at] + MAX_LOST_BLANKS >= width;
        match (full, is_continuation(next)) {
            (true, true) => seams.add(row, next),
            (true, false) => seams.not_wrapped += usize::from(widths[at] == width),
            (false, true) => seams.unexplained += 1,
            (false, false) => {}
        }
    }
    let wider = widths.iter().filter(|&&it| it > width).count();
    (wider * 10 <= seams.wrapped && seams.are_a_terminals(width)).then_some(width)
}

/// The greatest width that many rows have, and few exceed.
fn greatest_common(widths: &[usize]) -> Option<usize> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for &width in widths {
        *counts.entry(width).or_default() += 1;
    }
    let mut wider = 0;
    let (&width, _) = counts.iter().rev().find(|&(_, &count)| {
        let many = count >= MIN_WRAPPED && wider * 10 <= count;
        wider += count;
        many
    })?;
    WIDTHS.contains(&width).then_some(width)
}

/// Where full rows end and continuations begin.
#[derive(Default)]
struct Seams {
    line_starts: usize,
    wrapped: usize,
    within_words: usize,
    /// The text around each seam, its digits replaced.
    places: BTreeMap<Vec<u8>, usize>,
    not_wrapped: usize,
    /// Continuations of rows that are not full.
    unexplained: usize,
}

impl Seams {
    fn add(&mut self, row: &[u8], next: &[u8]) {
        self.wrapped += 1;
        let row = without_return(row);
        let within_word = row.last().zip(next.first()).is_some_and(|(last, first)| {
            last.is_ascii_alphanumeric() && (first.is_ascii_lowercase() || first.is_ascii_digit())
        });
        self.within_words += usize::from(within_word);
        let around = row[row.len().saturating_sub(6)..].iter();
        let around = around.chain(&next[..next.len().min(4)]);
        let place = around.map(|byte| if byte.is_ascii_digit() { b'0' } else { *byte });
        *self.places.entry(place.collect()).or_default() += 1;
    }

    /// What wraps lines for a reason does so at many widths. Where the widest message has two lines, always the same,
    /// all seams are at one place.
    fn are_a_terminals(&self, width: usize) -> bool {
        let places = self.places.len();
        let words = self.within_words * 4 >= self.wrapped && places > 1;
        let usual = self.within_words == self.wrapped && USUAL_WIDTHS.contains(&width);
        self.line_starts > 0
            && self.wrapped >= MIN_WRAPPED
            && (words || usual || places >= MIN_PLACES)
            && self.not_wrapped * 2 <= self.wrapped
            && self.unexplained * 2 <= self.wrapped
    }
}

#[cfg(test)]
#[path = "tests/sniff.rs"]
mod tests;
