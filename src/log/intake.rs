//! One source after the other, from blocks to events: cuts lines, parses them, keeps to the window of time, and
//! keeps the books for the report. Opens nothing.

use super::{
    Reading, Source,
    ahead::{Aside, Part},
    crew::Wishes,
    gauge::Gauge,
    lines::{LONGEST, Lines, Out},
    looks::Looks,
    overlap::{Overlap, Tally},
    reel::Reel,
    sample::Sample,
    sink::Sink,
    spots::Spots,
};
use crate::{
    io::gap::Gap,
    kubelet::{
        event::Event,
        parser::{Hints, Parser, Told},
    },
    log::options::Moments,
    syntax::time::Time,
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
    /// What is known of the source that begins next.
    looks: Looks,
    current: Option<Current>,
    /// What several logs hold.
    overlap: Overlap,
    /// The sources that hold lines of others.
    pub(super) shared: BTreeSet<String>,
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
    looks: Looks,
    sample: Sample,
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
            looks: Looks::default(),
            current: None,
            overlap: Overlap::default(),
            shared: BTreeSet::new(),
            reading: Reading::default(),
            nodes: BTreeSet::new(),
        }
    }

    /// Leaves out what happened before `oldest`, too.
    pub(super) fn not_before(&mut self, oldest: Time) {
        self.since = self.since.max(Some(oldest));
    }

    /// Tells when the earliest of the sources begins that come after the next one, as far as that is known; `None`:
    /// none comes. What the next one says from then on they may say, too.
    pub(super) fn expect(&mut self, ahead: Option<Time>) {
        self.end();
        self.overlap.expect(ahead);
    }

    /// Tells what is known of the source that begins next.
    pub(super) fn looks(&mut self, looks: Looks) {
        self.looks = looks;
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
            looks: std::mem::take(&mut self.looks),
            sample: Sample::default(),
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
        current.sample.take(block);
        self.gauge.took(block.len() as u64);
        self.give(|lines, parser, out| lines.push(block, spots, parser, out));
        if let Some(Current { parser, .. }) = &self.current {
            self.wishes.set(parser.wants_context(), parser.has_begun());
        }
    }

    /// Takes what somebody has read of the source begun.
    pub(super) fn read(&mut self, part: Part) {
        let Some(current) = &mut self.current else {
            return;
        };
        match part {
            Part::Batch(bytes, events) => {
                current.bytes += bytes;
                self.give(|_, _, out| out.take(|all| *all = events));
            }
            Part::End(read) => (current.lines, current.parser, current.sample) = *read,
            Part::Gap(why) => {
                let name = current.name.clone();
                self.gap(name, why);
            }
        }
    }

    /// Returns how logs may be read ahead of their turn; `None` where what is read is kept, in its order.
    pub(super) fn aside(&self) -> Option<Aside> {
        self.reel.is_none().then(|| Aside {
            hints: hints(&self.moments),
            context: self.sink.wants_context(),
            gauge: self.gauge.clone(),
        })
    }

    /// Lets the parser of the source begun give events, and hands them on.
    fn give(&mut self, give: impl FnOnce(&mut Lines, &mut Parser, &mut Out<'_>)) {
        let Some(current) = &mut self.current else {
            return;
        };
        let window = (self.since, self.moments.until);
        let mut any = false;
        let mut each = |event| {
            let (overlap, sink) = (&mut self.overlap, &mut *self.sink);
            any |= hand_on(event, window, current.numbered, overlap, sink);
        };
        let mut out = Out::new(&mut each);
        give(&mut current.lines, &mut current.parser, &mut out);
        if any {
            self.enough |= !self.sink.batch();
        }
    }

    /// Returns whether more is wanted.
    pub(super) fn goes_on(&self) -> bool {
        !self.enough
    }

    /// Hands on what waits for year and zone, by the hints; with `all`, also the message that may go on in the next
    /// line.
    pub(super) fn settle(&mut self, all: bool) {
        self.give(|_, parser, out| out.take(|events| parser.settle(all, events)));
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
        if self.current.is_none() {
            return;
        }
        self.give(Lines::finish);
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
        self.overlap.end();
        if let Some(reel) = &mut self.reel {
            reel.abandon();
        }
    }

    /// Notes something that could not be seen.
    pub(super) fn gap(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.reading.gaps.push(Gap::in_source(what, why));
    }

    /// Takes the hosts of all that was read so far for nodes.
    pub(super) fn judge_hosts(&mut self) {
        let hosts = self.reading.hosts.iter();
        self.nodes.extend(hosts.map(|host| plain(host)));
    }

    /// Takes in the name of a host that a file is of.
    pub(super) fn name_host(&mut self, host: &str) {
        self.nodes.insert(plain(host));
        self.reading.hosts.insert(host.to_owned());
    }

    /// Returns how many of the sources read so far have lines of the kubelet.
    pub(super) fn of_kubelet(&self) -> usize {
        let sources = self.reading.sources.iter();
        sources.filter(|source| source.of_kubelet).count()
    }

    fn enter(&mut self, current: Current) {
        let told = current.parser.told();
        let name = current.name;
        self.tell_losses(&name, current.lines.cut, told);
        self.tell_looks(&name, current.looks, told);
        let Tally { again, unknown } = self.overlap.end();
        if again > 0 {
            self.shared.insert(name.clone());
            self.reading.notes.push(format!(
                "{name}: {again} of its lines stand in a log before it, too, and were counted once"
            ));
        }
        if unknown > 0 {
            self.reading.gaps.push(Gap::in_source(name.clone(), format!("{unknown} of its lines may stand in a log before it, too, and count twice: there are too many to tell")));
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
            program: told.program,
            first: told.first,
            last: told.last,
            guessed_times: told.guessed_times,
            picked: current.picked,
            // A journal's lines may have been chosen by us.
            extract: current.is_file && current.sample.finish(),
        });
    }

    /// Says what became of a source's lines on their way here.
    fn tell_looks(&mut self, name: &str, looks: Looks, told: &Told) {
        if let Some(width) = looks.broken {
            self.reading.notes.push(format!(
                "{name}: its lines are broken at {width} columns, as by a terminal, and were put together again"
            ));
        }
        if let Some(width) = looks.cut.filter(|_| told.elided == 0) {
            let why = format!(
                "its lines were cut at {width} columns by a pager (> at the end, … in the middle): journalctl --no-pager gives whole ones"
            );
            self.gap(name, why);
        }
    }

    /// Says what a source did not hold any more, and what of it found no room.
    fn tell_losses(&mut self, name: &str, cut: u64, told: &Told) {
        let cut = cut + told.cut;
        if cut > 0 {
            self.reading.notes.push(format!(
                "{name}: of {cut} lines or messages longer than 1 MiB only the beginning was read"
            ));
        }
        for loss in &told.losses {
            self.gap(name, loss.as_str());
        }
        let more = [
            (
                told.more_losses,
                "more of its lines say that lines were lost",
            ),
            (
                told.elided,
                "of its lines that matter were cut by a pager (> at the end, … in the middle): journalctl --no-pager gives whole ones",
            ),
            (
                told.left_out,
                "of the pods and reasons that its lines list were left out: one line lists too many",
            ),
        ];
        for (count, what) in more.into_iter().filter(|(count, _)| *count > 0) {
            self.gap(name, format!("{count} {what}"));
        }
    }
}

/// Hands an event on that happened within the window, as one without a time did, and that no log before told. Returns
/// whether it did.
fn hand_on(
    mut event: Event,
    (since, until): (Option<Time>, Option<Time>),
    numbered: bool,
    overlap: &mut Overlap,
    sink: &mut dyn Sink,
) -> bool {
    let when = event.at.or(event.received);
    let within = when.is_none_or(|when| {
        since.is_none_or(|since| when >= since) && until.is_none_or(|until| when <= until)
    });
    let new = within && !overlap.is_again(&event);
    if new {
        if !numbered {
            event.citation.line = None;
        }
        sink.event(event);
    }
    new
}
