//! One source after the other, from blocks to events: cuts lines, parses them, keeps to the window of time, and
//! keeps the books for the report. Opens nothing.

use super::{
    Reading, Source,
    crew::Wishes,
    gauge::Gauge,
    lines::{LONGEST, Lines},
    reel::Reel,
    sink::Sink,
    spots::Spots,
};
use crate::{
    cli::Moments,
    event::{Event, Time},
    evidence::Gap,
    parser::{Hints, Parser},
};
use std::{collections::BTreeSet, net::IpAddr};

/// Where all that is read goes through.
pub(super) struct Intake<'a> {
    /// For each source's parser.
    moments: Moments,
    /// Leave out what happened before.
    since: Option<Time>,
    sink: &'a mut dyn Sink,
    /// Whether the sink wants no more.
    enough: bool,
    /// Where who watches sees how far it is.
    pub(super) gauge: Gauge,
    /// What those who look at blocks are to look for.
    pub(super) wishes: Wishes,
    /// Where what is read is kept.
    pub(super) reel: Option<&'a mut Reel>,
    current: Option<Current>,
    events: Vec<Event>,
    /// What was read so far.
    pub(super) reading: Reading,
    /// The hosts that lines of files name. A journal or a container is of one node, however often it was renamed.
    pub(super) nodes: BTreeSet<String>,
}

/// The source being read.
struct Current {
    name: String,
    picked: bool,
    numbered: bool,
    /// Whether it is a file, which may hold the lines of several nodes.
    is_file: bool,
    bytes: u64,
    lines: Lines,
    parser: Parser,
}

/// How a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// From its first line: line numbers mean something.
    Start,
    /// From the middle of some line.
    Middle,
    /// From whatever it gives first: a journal's or a container's lines have no number.
    Unnumbered,
}

impl Opening {
    /// Returns its word, for a capture.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::Unnumbered => "unnumbered",
        }
    }

    /// Returns the one of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Start, Self::Middle, Self::Unnumbered];
        all.into_iter().find(|opening| opening.word() == word)
    }
}

/// Returns what a parser of lines without year or zone goes by.
pub(super) fn hints(moments: &Moments) -> Hints {
    Hints {
        now: moments.now,
        utc_offset: moments.utc_offset,
    }
}

/// Returns a host's name without its domain, in lower case.
fn plain(host: &str) -> String {
    let name = match host.parse::<IpAddr>() {
        Ok(_) => host,
        Err(_) => host.split('.').next().unwrap_or(host),
    };
    name.to_ascii_lowercase()
}

impl<'a> Intake<'a> {
    /// Returns an intake that hands events within the moments' window to `sink`.
    pub(super) fn new(moments: &Moments, sink: &'a mut dyn Sink) -> Self {
        Self {
            moments: *moments,
            since: moments.since,
            sink,
            enough: false,
            gauge: Gauge::default(),
            wishes: Wishes::default(),
            reel: None,
            current: None,
            events: Vec::new(),
            reading: Reading::default(),
            nodes: BTreeSet::new(),
        }
    }

    /// Leaves out what happened before `oldest`, too.
    pub(super) fn not_before(&mut self, oldest: Time) {
        self.since = self.since.max(Some(oldest));
    }

    /// Begins a source; ends the one before.
    pub(super) fn start(&mut self, name: &str, picked: bool, from: Opening) {
        self.end();
        if let Some(reel) = &mut self.reel {
            reel.start(name, picked, from);
        }
        let mut lines = Lines::default();
        if from == Opening::Middle {
            lines.tear();
        }
        let context = self.sink.wants_context();
        let mut parser = Parser::new(name, hints(&self.moments));
        if context {
            parser.keep_context();
        }
        self.wishes.set(context, false);
        self.current = Some(Current {
            name: name.to_owned(),
            picked,
            numbered: from == Opening::Start,
            is_file: from != Opening::Unnumbered,
            bytes: 0,
            lines,
            parser,
        });
    }

    /// Takes the next bytes of the source begun.
    pub(super) fn block(&mut self, block: &[u8]) {
        for part in block.chunks(LONGEST) {
            let spots = self.wishes.look(part);
            self.looked_at(part, &spots);
        }
    }

    /// Takes the next bytes of the source begun, at most `LONGEST`, which somebody has looked at.
    pub(super) fn looked_at(&mut self, block: &[u8], spots: &Spots) {
        let Some(current) = &mut self.current else {
            return;
        };
        if let Some(reel) = &mut self.reel {
            reel.block(block);
        }
        current.bytes += block.len() as u64;
        self.gauge.took(block.len() as u64);
        let Current { lines, parser, .. } = current;
        lines.push(block, spots, parser, &mut self.events);
        self.wishes.set(parser.wants_context(), parser.has_begun());
        self.hand_on();
    }

    /// Returns whether more is wanted.
    pub(super) fn goes_on(&self) -> bool {
        !self.enough
    }

    /// Hands on what waits for year and zone, by the hints; with `all`, also the message that may go on in the next
    /// line.
    pub(super) fn settle(&mut self, all: bool) {
        if let Some(current) = &mut self.current {
            current.parser.settle(all, &mut self.events);
            self.hand_on();
        }
    }

    /// Takes `now` for the present from the next source on.
    pub(super) fn set_now(&mut self, now: Time) {
        self.moments.now = now;
    }

    /// Goes on in the middle of a later line of the source begun.
    pub(super) fn skip(&mut self) {
        if let Some(current) = &mut self.current {
            current.lines.tear();
            current.numbered = false;
        }
        if let Some(reel) = &mut self.reel {
            reel.skip();
        }
    }

    /// Ends the source begun, if there is one, and enters it in the books.
    pub(super) fn end(&mut self) {
        let Some(current) = &mut self.current else {
            return;
        };
        let Current { lines, parser, .. } = current;
        let events = &mut self.events;
        lines.finish(parser, events);
        parser.finish(events);
        self.hand_on();
        if let Some(current) = self.current.take() {
            self.enter(current);
        }
        if let Some(reel) = &mut self.reel {
            reel.end();
        }
    }

    /// Forgets the source begun: nothing came of it.
    pub(super) fn abandon(&mut self) {
        self.current = None;
        if let Some(reel) = &mut self.reel {
            reel.abandon();
        }
    }

    /// Notes something that could not be seen.
    pub(super) fn gap(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.reading.gaps.push(Gap {
            what: what.into(),
            why: why.into(),
        });
    }

    /// Returns how many of the sources read so far have lines of the kubelet.
    pub(super) fn of_kubelet(&self) -> usize {
        let sources = self.reading.sources.iter();
        sources.filter(|source| source.of_kubelet).count()
    }

    fn enter(&mut self, current: Current) {
        let told = current.parser.told();
        let name = current.name;
        if current.lines.cut > 0 {
            self.reading.notes.push(format!(
                "{name}: of {} lines longer than 1 MiB only the beginning was read",
                current.lines.cut
            ));
        }
        for loss in &told.losses {
            self.reading.gaps.push(Gap {
                what: name.clone(),
                why: loss.clone(),
            });
        }
        self.reading.hosts.extend(told.hosts.iter().cloned());
        if current.is_file {
            self.nodes.extend(told.hosts.iter().map(|host| plain(host)));
        }
        self.reading.sources.push(Source {
            name,
            bytes: current.bytes,
            lines: told.lines,
            of_kubelet: told.of_kubelet,
            first: told.first,
            last: told.last,
            guessed_times: told.guessed_times,
            picked: current.picked,
        });
    }

    fn hand_on(&mut self) {
        if self.events.is_empty() {
            return;
        }
        let numbered = self.current.as_ref().is_some_and(|c| c.numbered);
        for mut event in self.events.drain(..) {
            let when = event.at.or(event.received);
            let within = when.is_none_or(|when| {
                self.since.is_none_or(|since| when >= since)
                    && self.moments.until.is_none_or(|until| when <= until)
            });
            if within {
                if !numbered {
                    event.citation.line = None;
                }
                self.sink.event(event);
            }
        }
        self.enough |= !self.sink.batch();
    }
}
