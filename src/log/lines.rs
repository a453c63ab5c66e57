//! Lines out of blocks of bytes, in constant memory, handed to the parser: those that may matter, and those that
//! it waits for. The others are counted. What comes of it is the same however the blocks fall.

use super::spots::{self, Spot, Spots};
use crate::kubelet::{
    event::{Event, prefilter::Wanted},
    parser::Parser,
};
use memchr::{memchr, memrchr};

/// Longest line that is kept whole; of a longer one its first bytes are, the rest is skipped. The kubelet's
/// longest lines (a node's status in one error) have some hundred KiB.
pub(super) const LONGEST: usize = 1 << 20;

/// Events of one line for which room is kept; only those that were held back are more.
const MANY: usize = 1024;

/// Where events go, one line's at a time: those of a whole block would not fit the processor's cache.
pub(super) struct Out<'a> {
    /// Empty between two lines.
    events: Vec<Event>,
    sink: &'a mut dyn FnMut(Event),
}

impl<'a> Out<'a> {
    pub(super) fn new(sink: &'a mut dyn FnMut(Event)) -> Self {
        Self {
            events: Vec::new(),
            sink,
        }
    }

    /// Hands on what `give` gives.
    pub(super) fn take(&mut self, give: impl FnOnce(&mut Vec<Event>)) {
        give(&mut self.events);
        self.events.drain(..).for_each(&mut *self.sink);
        if self.events.capacity() > MANY {
            self.events = Vec::new();
        }
    }
}

/// Cuts blocks into lines. Only a line that crosses blocks is copied.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The beginning of the line that the last block ended in.
    begun: Vec<u8>,
    /// Whether that line is longer than what was kept.
    over: bool,
    /// Whether what comes before the next newline is a line's end, and of no use.
    torn: bool,
    /// Lines that were longer than `LONGEST`.
    pub(super) cut: u64,
}

impl Lines {
    /// Hands the lines that end in `block`, of at most `LONGEST` bytes, to `parser`, as far as `spots` of that block
    /// and the parser itself say that they matter.
    pub(super) fn push(
        &mut self,
        block: &[u8],
        spots: &Spots,
        parser: &mut Parser,
        out: &mut Out<'_>,
    ) {
        let (Some(head), Some(tail)) = (memchr(b'\n', block), memrchr(b'\n', block)) else {
            return self.keep(block);
        };
        if std::mem::take(&mut self.torn) {
            // It is no line.
        } else if self.begun.is_empty() {
            out.take(|events| parser.line(&block[..head], events));
        } else {
            self.keep(&block[..head]);
            self.flush(parser, out);
        }
        inside(&block[..=tail], head + 1, spots, parser, out);
        self.keep(&block[tail + 1..]);
    }

    /// Hands on the last line, which nothing ended, and ends the source.
    pub(super) fn finish(&mut self, parser: &mut Parser, out: &mut Out<'_>) {
        if !self.begun.is_empty() {
            self.flush(parser, out);
        }
        out.take(|events| parser.finish(events));
    }

    /// Forgets the line begun: what follows is from the middle of another.
    pub(super) fn tear(&mut self) {
        self.forget();
        self.torn = true;
    }

    fn forget(&mut self) {
        self.begun.clear();
        self.over = false;
    }

    fn keep(&mut self, part: &[u8]) {
        if self.torn {
            return;
        }
        let room = LONGEST - self.begun.len();
        self.over |= part.len() > room;
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn flush(&mut self, parser: &mut Parser, out: &mut Out<'_>) {
        out.take(|events| parser.line(&self.begun, events));
        self.cut += u64::from(self.over);
        self.forget();
    }
}

/// Hands on lines of `block`, which ends with a newline, from the second one's start, `at`, on.
fn inside(block: &[u8], mut at: usize, spots: &Spots, parser: &mut Parser, out: &mut Out<'_>) {
    let above = parser.lines();
    let mut before = 1;
    let mut hits = spots.hits.iter().copied().peekable();
    while at < block.len() {
        while hits.next_if(|hit| hit.start < at).is_some() {}
        let spot = if parser.is_attentive() || at >= spots.until {
            let hit = hits.peek().copied().filter(|hit| hit.start == at);
            hit.or_else(|| spots::here(block, at, before))
        } else {
            let first = spots.first.filter(|_| !parser.has_begun());
            let context = context(block, at, before, hits.peek(), spots, parser);
            let all = [hits.peek().copied(), first, context];
            let next = all.into_iter().flatten().filter(|spot| spot.start >= at);
            next.min_by_key(|spot| spot.start)
        };
        let Some(spot) = spot else {
            break;
        };
        parser.pass(spot.before - before);
        let raw = &block[spot.start..spot.end];
        out.take(|events| parser.line_as(raw, spot.hit, events));
        (at, before) = (spot.end + 1, spot.before + 1);
    }
    parser.pass(spots.newlines - before);
    if let Some(last) = spots.last {
        parser.passed_last(above + last.before, &block[last.start..last.end]);
    }
}

/// Returns the next line of context before the next hit, if the parser wants it and it was not looked for.
fn context(
    block: &[u8],
    at: usize,
    before: u64,
    hit: Option<&Spot>,
    spots: &Spots,
    parser: &Parser,
) -> Option<Spot> {
    if !parser.wants_context() || spots.wanted == Wanted::All {
        return None;
    }
    let end = hit.map_or(spots.until.min(block.len()), |hit| hit.start);
    spots::context(&block[..end], at, before)
}

#[cfg(test)]
#[path = "tests/lines.rs"]
mod tests;
