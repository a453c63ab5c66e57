//! Logs that are unpacked ahead of their turn: while one is read, threads unpack, search and parse those that come
//! right after it, and hand on what they say when its turn comes. Their order, and what comes of it, stay the same.
//!
//! Only what needs little memory to unpack is read so, as its first bytes tell: gzip and bzip2. A plain log is read by all
//! threads at once, and what came out of one archive must be unpacked one after the other.

use super::{
    crew::Wishes,
    feed::{self, Feed},
    files::{Emit, Piece},
    gauge::Gauge,
    intake::Opening,
    lines::{LONGEST, Lines, Out},
    open::{Log, Reader},
    sample::Sample,
};
use crate::kubelet::{
    event::Event,
    parser::{Hints, Parser},
};
use std::{
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, Scope},
};

/// Events that are handed on at a time.
const BATCH: usize = 512;
/// Batches that a thread may be ahead: with them some 2 MiB of events wait, more where they cite long lines. One that is that far waits, too.
const AHEAD: usize = 4;

/// How logs are read ahead.
#[derive(Clone, Debug)]
pub(super) struct Aside {
    /// What the logs' parsers go by.
    pub(super) hints: Hints,
    /// Whether messages that are context only are wanted all the time.
    pub(super) context: bool,
    /// Where who watches sees how far it is.
    pub(super) gauge: Gauge,
}

/// A part of what a log says.
pub(super) enum Part {
    /// So many bytes were read since the last part, and these events are in them.
    Batch(u64, Vec<Event>),
    /// Something was not seen.
    Gap(String),
    /// Its end: what there was besides events, with the last line's perhaps to come.
    End(Box<(Lines, Parser, Sample)>),
}

/// A log that a thread reads.
pub(super) struct Ahead {
    name: String,
    parts: Receiver<Part>,
}

impl Ahead {
    /// Begins to read `log` within `scope`, or returns `None` where it is to be read in its turn: its kind is not one
    /// of those, it cannot be opened, or there is no thread.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        log: &mut Log,
        aside: &Aside,
    ) -> Option<Self> {
        if !log.unpacks_small() {
            return None;
        }
        let reader = log.reader().ok().flatten()?;
        let (to, parts) = sync_channel(AHEAD);
        let name = log.name.clone();
        let worker = Worker::new(&name, aside.clone(), to);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn_scoped(scope, move || worker.read(reader))
            .ok()?;
        Some(Self { name, parts })
    }

    /// Hands on what the log says, in its turn. Returns whether to go on.
    pub(super) fn stream(self, emit: &mut Emit<'_>) -> bool {
        let mut go_on = emit(Piece::Start(&self.name, Opening::Start));
        while go_on && let Ok(part) = self.parts.recv() {
            go_on = emit(Piece::Read(part));
        }
        go_on
    }
}

/// The thread's part.
struct Worker {
    name: String,
    aside: Aside,
    wishes: Wishes,
    lines: Lines,
    parser: Parser,
    sample: Sample,
    bytes: u64,
    events: Vec<Event>,
    to: SyncSender<Part>,
}

impl Worker {
    fn new(name: &str, aside: Aside, to: SyncSender<Part>) -> Self {
        let mut parser = Parser::new(name, aside.hints);
        if aside.context {
            parser.keep_context();
        }
        let wishes = Wishes::default();
        wishes.set(aside.context, false);
        Self {
            name: name.to_owned(),
            aside,
            wishes,
            lines: Lines::default(),
            parser,
            sample: Sample::default(),
            bytes: 0,
            events: Vec::new(),
            to,
        }
    }

    fn read(mut self, mut reader: Reader) {
        let name = self.name.clone();
        let feed = Feed {
            name: &name,
            skip: 0,
            limits: None,
            others: false,
        };
        let whole = feed::stream(&feed, &mut reader, &mut |piece| match piece {
            Piece::Block(block) => block.chunks(LONGEST).all(|part| self.block(part)),
            Piece::Gap(_, why) => self.hand_on() && self.to.send(Part::Gap(why)).is_ok(),
            _ => true,
        });
        if whole && self.hand_on() {
            let end = Part::End(Box::new((self.lines, self.parser, self.sample)));
            // Nobody listens any more where the send fails.
            drop(self.to.send(end));
        }
    }

    /// Takes the next bytes; returns whether anybody wants more.
    fn block(&mut self, block: &[u8]) -> bool {
        let spots = self.wishes.look(block);
        self.bytes += block.len() as u64;
        self.sample.take(block);
        self.aside.gauge.took(block.len() as u64);
        let (events, bytes, to) = (&mut self.events, &mut self.bytes, &self.to);
        let mut heard = true;
        let mut each = |event| {
            events.push(event);
            if events.len() >= BATCH {
                heard &= batch(events, bytes, to);
            }
        };
        let mut out = Out::new(&mut each);
        self.lines.push(block, &spots, &mut self.parser, &mut out);
        self.wishes
            .set(self.parser.wants_context(), self.parser.has_begun());
        heard
    }

    /// Hands on what waits; returns whether anybody wants more.
    fn hand_on(&mut self) -> bool {
        batch(&mut self.events, &mut self.bytes, &self.to)
    }
}

fn batch(events: &mut Vec<Event>, bytes: &mut u64, to: &SyncSender<Part>) -> bool {
    let part = Part::Batch(std::mem::take(bytes), std::mem::take(events));
    to.send(part).is_ok()
}
