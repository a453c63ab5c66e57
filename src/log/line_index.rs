//! The lines of a block that may matter, found without scanning the others. Independent of the blocks before and after
//! it, so that several threads can do it.

use crate::kubelet::event::prefilter;
use crate::kubelet::event::prefilter::{Hit, Seek, Wanted};
use crate::kubelet::parser::{is_own, without_return};
use memchr::{memchr, memchr_iter, memrchr};

/// Lines that are noted of a block; the rest is read line by line.
const MAX_HITS: usize = 1 << 15;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexedLine {
    pub(super) start: usize,
    pub(super) end: usize,
    /// How many lines begin before it in the block.
    pub(super) before: u64,
    /// What the prefilter says of it, if known.
    pub(super) hit: Option<Hit>,
}

/// What was found in a block, without its first and last line, which other blocks may share.
#[derive(Clone, Debug)]
pub(super) struct LineIndex {
    /// Lines with something wanted, in order.
    pub(super) hits: Vec<IndexedLine>,
    /// Up to where the block was searched.
    pub(super) until: usize,
    pub(super) wanted: Wanted,
    pub(super) newlines: u64,
    /// The first and last line of the kubelet; the first only if it was wanted.
    pub(super) first: Option<IndexedLine>,
    pub(super) last: Option<IndexedLine>,
}

impl LineIndex {
    /// Scans `block`; also for the kubelet's `first` line if that is wanted.
    pub(super) fn new(block: &[u8], wanted: Wanted, first: bool) -> Self {
        let mut index = Self {
            hits: Vec::new(),
            until: block.len(),
            wanted,
            newlines: 0,
            first: None,
            last: None,
        };
        let (Some(head), Some(tail)) = (memchr(b'\n', block), memrchr(b'\n', block)) else {
            return index;
        };
        let (mut at, mut lines) = (head + 1, 1);
        let mut seek = Seek::new(block, wanted);
        while let Some(line) = next_hit(&mut seek, block, at, lines) {
            index.hits.push(line);
            (at, lines) = (line.end + 1, line.before + 1);
            if index.hits.len() == MAX_HITS {
                index.until = at;
                break;
            }
        }
        index.newlines = lines + count_newlines(&block[at..]);
        if index.until == block.len() && prefilter::may_start(block) {
            index.hits.push(IndexedLine {
                start: tail - 1,
                end: tail,
                before: index.newlines - 1,
                hit: None,
            });
        }
        if first {
            index.first = first_own(block, head + 1);
        }
        index.last = last_own(block, head + 1, tail, index.newlines);
        index
    }
}

/// The next whole line with something wanted, from the line's start `at` on, which has `lines` before it.
fn next_hit(seek: &mut Seek<'_>, block: &[u8], at: usize, lines: u64) -> Option<IndexedLine> {
    let (place, hit) = seek.find(at)?;
    let end = place + memchr(b'\n', &block[place..])?;
    let start = memrchr(b'\n', &block[at..place]).map_or(at, |newline| at + newline + 1);
    let before = lines + count_newlines(&block[at..start]);
    Some(IndexedLine {
        start,
        end,
        before,
        hit,
    })
}

pub(super) fn next_context(block: &[u8], at: usize, lines: u64) -> Option<IndexedLine> {
    next_hit(&mut Seek::new(block, Wanted::Context), block, at, lines)
}

pub(super) fn line_at(block: &[u8], at: usize, before: u64) -> Option<IndexedLine> {
    memchr(b'\n', &block[at..]).map(|length| IndexedLine {
        start: at,
        end: at + length,
        before,
        hit: None,
    })
}

fn count_newlines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

fn first_own(block: &[u8], from: usize) -> Option<IndexedLine> {
    let mut line = line_at(block, from, 1)?;
    while !is_own(without_return(&block[line.start..line.end])) {
        line = line_at(block, line.end + 1, line.before + 1)?;
    }
    Some(line)
}

fn last_own(block: &[u8], from: usize, mut end: usize, mut before: u64) -> Option<IndexedLine> {
    while end > from {
        before -= 1;
        let start = memrchr(b'\n', &block[from..end]).map_or(from, |newline| from + newline + 1);
        if is_own(without_return(&block[start..end])) {
            return line_at(block, start, before);
        }
        end = start - 1;
    }
    None
}
