//! Splits blocks into lines, in constant memory, and hands those to the parser that may matter, and those that it waits
//! for. The others are counted. The result is the same however the blocks fall.

use super::line_index::{self, IndexedLine, LineIndex};
use crate::kubelet::event::Event;
use crate::kubelet::event::prefilter::Wanted;
use crate::kubelet::parser::Parser;
use memchr::{memchr, memrchr};

/// Longest line that is kept whole, in bytes; the rest of a longer one is skipped. The kubelet's longest lines (a node's
/// status in one error) have some hundred KiB.
pub(super) const MAX_LINE: usize = 1 << 20;

/// Events of one line for which memory is kept; only events that were held back are more.
const KEPT_CAPACITY: usize = 1024;

/// The sink of events, one line's at a time: those of a whole block would not fit the processor's cache.
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

    /// Hands on the events that `produce` adds.
    pub(super) fn take(&mut self, produce: impl FnOnce(&mut Vec<Event>)) {
        produce(&mut self.events);
        self.events.drain(..).for_each(&mut *self.sink);
        if self.events.capacity() > KEPT_CAPACITY {
            self.events = Vec::new();
        }
    }
}

/// Splits blocks into lines. Only a line that crosses blocks is copied.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    /// The beginning of the line that the last block ended in.
    begun: Vec<u8>,
    over: bool,
    /// Whether what comes before the next newline is the end of a torn line, and skipped.
    torn: bool,
    /// Lines that were longer than `MAX_LINE`.
    pub(super) cut: u64,
}

impl LineSplitter {
    /// Hands the lines that end in `block`, of at most `MAX_LINE` bytes, to `parser`, if they are in its `index` or the
    /// parser waits for them.
    pub(super) fn push(
        &mut self,
        block: &[u8],
        index: &LineIndex,
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
        inside(&block[..=tail], head + 1, index, parser, out);
        self.keep(&block[tail + 1..]);
    }

    /// Hands on the last line, without a newline, and ends the source.
    pub(super) fn finish(&mut self, parser: &mut Parser, out: &mut Out<'_>) {
        if !self.begun.is_empty() {
            self.flush(parser, out);
        }
        out.take(|events| parser.finish(events));
    }

    /// Forgets the current line: what follows is from the middle of another.
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
        let room = MAX_LINE - self.begun.len();
        self.over |= part.len() > room;
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn flush(&mut self, parser: &mut Parser, out: &mut Out<'_>) {
        out.take(|events| parser.line(&self.begun, events));
        self.cut += u64::from(self.over);
        self.forget();
    }
}

/// Hands on lines of `block`, which ends with a newline, from the start of its second line, `at`, on.
fn inside(block: &[u8], mut at: usize, index: &LineIndex, parser: &mut Parser, out: &mut Out<'_>) {
    let above = parser.lines();
    let mut before = 1;
    let mut hits = index.hits.iter().copied().peekable();
    while at < block.len() {
        while hits.next_if(|hit| hit.start < at).is_some() {}
        let line = if parser.is_attentive() || at >= index.until {
            let hit = hits.peek().copied().filter(|hit| hit.start == at);
            hit.or_else(|| line_index::line_at(block, at, before))
        } else {
            let first = index.first.filter(|_| !parser.has_begun());
            let context = context(block, at, before, hits.peek(), index, parser);
            let all = [hits.peek().copied(), first, context];
            let next = all.into_iter().flatten().filter(|line| line.start >= at);
            next.min_by_key(|line| line.start)
        };
        let Some(line) = line else {
            break;
        };
        parser.pass(line.before - before);
        let raw = &block[line.start..line.end];
        out.take(|events| parser.line_as(raw, line.hit, events));
        (at, before) = (line.end + 1, line.before + 1);
    }
    parser.pass(index.newlines - before);
    if let Some(last) = index.last {
        parser.passed_last(above + last.before, &block[last.start..last.end]);
    }
}

/// The next line of context before the next hit, if the parser wants it and the index does not have it.
fn context(
    block: &[u8],
    at: usize,
    before: u64,
    hit: Option<&IndexedLine>,
    index: &LineIndex,
    parser: &Parser,
) -> Option<IndexedLine> {
    if !parser.wants_context() || index.wanted == Wanted::All {
        return None;
    }
    let end = hit.map_or(index.until.min(block.len()), |hit| hit.start);
    line_index::next_context(&block[..end], at, before)
}

#[cfg(test)]
#[path = "tests/lines.rs"]
mod tests;
