//! The lines of a block that may matter, found without looking at the others. Knows nothing of the blocks before
//! and after it, so that several threads can do it.

use crate::kubelet::{
    event::prefilter::{self, Hit, Seek, Wanted},
    parser::{is_own, without_return},
};
use memchr::{memchr, memchr_iter, memrchr};

/// Most lines that are noted of a block; what follows them is to be read line by line.
const MOST: usize = 1 << 15;

/// A line of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Where it starts.
    pub(super) start: usize,
    /// Where its newline is.
    pub(super) end: usize,
    /// How many lines begin before it in the block.
    pub(super) before: u64,
    /// What the prefilter says of it, if it was asked already.
    pub(super) hit: Option<Hit>,
}

/// What was seen in a block. Its first and last line, which other blocks may share, are not looked at.
#[derive(Clone, Debug)]
pub(super) struct Spots {
    /// Lines with a known literal, in order.
    pub(super) hits: Vec<Spot>,
    /// Up to where the block was searched for them.
    pub(super) until: usize,
    /// What was looked for.
    pub(super) wanted: Wanted,
    /// How many newlines the block has.
    pub(super) newlines: u64,
    /// The first line of the kubelet, if it was asked for.
    pub(super) first: Option<Spot>,
    /// The last line of the kubelet.
    pub(super) last: Option<Spot>,
}

impl Spots {
    /// Looks at `block`; also for the kubelet's `first` line if that is wanted.
    pub(super) fn of(block: &[u8], wanted: Wanted, first: bool) -> Self {
        let mut spots = Self {
            hits: Vec::new(),
            until: block.len(),
            wanted,
            newlines: 0,
            first: None,
            last: None,
        };
        let (Some(head), Some(tail)) = (memchr(b'\n', block), memrchr(b'\n', block)) else {
            return spots;
        };
        let (mut at, mut lines) = (head + 1, 1);
        let mut seek = Seek::new(block, wanted);
        while let Some(spot) = next(&mut seek, block, at, lines) {
            spots.hits.push(spot);
            (at, lines) = (spot.end + 1, spot.before + 1);
            if spots.hits.len() == MOST {
                spots.until = at;
                break;
            }
        }
        spots.newlines = lines + count(&block[at..]);
        if spots.until == block.len() && prefilter::may_start(block) {
            spots.hits.push(Spot {
                start: tail - 1,
                end: tail,
                before: spots.newlines - 1,
                hit: None,
            });
        }
        if first {
            spots.first = first_own(block, head + 1);
        }
        spots.last = last_own(block, head + 1, tail, spots.newlines);
        spots
    }
}

/// Returns the next whole line from `at` on, a line's start with `lines` before it, in which what is wanted may be.
fn next(seek: &mut Seek<'_>, block: &[u8], at: usize, lines: u64) -> Option<Spot> {
    let (place, hit) = seek.find(at)?;
    let end = place + memchr(b'\n', &block[place..])?;
    let start = memrchr(b'\n', &block[at..place]).map_or(at, |newline| at + newline + 1);
    let before = lines + count(&block[at..start]);
    Some(Spot {
        start,
        end,
        before,
        hit,
    })
}

/// Returns the next line of context in `block` from `at` on.
pub(super) fn context(block: &[u8], at: usize, lines: u64) -> Option<Spot> {
    next(&mut Seek::new(block, Wanted::Context), block, at, lines)
}

/// Returns the line that starts at `at`.
pub(super) fn here(block: &[u8], at: usize, before: u64) -> Option<Spot> {
    memchr(b'\n', &block[at..]).map(|length| Spot {
        start: at,
        end: at + length,
        before,
        hit: None,
    })
}

/// Returns how many newlines there are.
pub(super) fn count(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

fn first_own(block: &[u8], from: usize) -> Option<Spot> {
    let mut spot = here(block, from, 1)?;
    while !is_own(without_return(&block[spot.start..spot.end])) {
        spot = here(block, spot.end + 1, spot.before + 1)?;
    }
    Some(spot)
}

fn last_own(block: &[u8], from: usize, mut end: usize, mut before: u64) -> Option<Spot> {
    while end > from {
        before -= 1;
        let start = memrchr(b'\n', &block[from..end]).map_or(from, |newline| from + newline + 1);
        if is_own(without_return(&block[start..end])) {
            return here(block, start, before);
        }
        end = start - 1;
    }
    None
}
