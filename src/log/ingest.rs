//! Turns each source from blocks into events: splits lines, parses them, keeps to the requested time, drops repeated
//! lines, and collects what the report says of the source. Opens nothing.

use super::dedup::{Dedup, Repeats};
use super::excerpt::Excerpt;
use super::lines::{LineSplitter, MAX_LINE, Out};
use super::progress::ScanProgress;
use super::sniff::LineFormat;
use super::workers::ScanHints;
use super::{LogRecorder, ReadFrom, Reading, Sink, Source, parser_hints};
use crate::io::gap::Gap;
use crate::kubelet::event::Event;
use crate::kubelet::parser::{Parser, SourceInfo};
use crate::log::line_index::LineIndex;
use crate::log::options::Moments;
use crate::syntax::time::Time;
use std::{collections::BTreeSet, net::IpAddr};

pub(super) struct Ingest<'a> {
    moments: Moments,
    since: Option<Time>,
    sink: &'a mut dyn Sink,
    enough: bool,
    pub(super) progress: ScanProgress,
    pub(super) scan_hints: ScanHints,
    pub(super) recorder: Option<&'a mut LogRecorder>,
    /// Damage to the lines of the source that begins next.
    format: LineFormat,
    current: Option<Current>,
    dedup: Dedup,
    pub(super) repeating: BTreeSet<String>,
    pub(super) reading: Reading,
    /// The hosts that lines of files name. A journal or a container is of one node, however often it was renamed.
    pub(super) nodes: BTreeSet<String>,
}

/// The source being read.
struct Current {
    name: String,
    is_picked: bool,
    numbered: bool,
    /// Whether it is a file, which may hold the lines of several nodes.
    is_file: bool,
    bytes: u64,
    format: LineFormat,
    excerpt: Excerpt,
    lines: LineSplitter,
    parser: Parser,
}

/// A host's name without its domain, in lower case.
fn short_name(host: &str) -> String {
    let name = if host.parse::<IpAddr>().is_ok() {
        host
    } else {
        host.split('.').next().unwrap_or(host)
    };
    name.to_ascii_lowercase()
}

impl<'a> Ingest<'a> {
    pub(super) fn new(moments: &Moments, sink: &'a mut dyn Sink) -> Self {
        Self {
            moments: *moments,
            since: moments.since,
            sink,
            enough: false,
            progress: ScanProgress::default(),
            scan_hints: ScanHints::default(),
            recorder: None,
            format: LineFormat::default(),
            current: None,
            dedup: Dedup::default(),
            repeating: BTreeSet::new(),
            reading: Reading::default(),
            nodes: BTreeSet::new(),
        }
    }
    pub(super) fn not_before(&mut self, oldest: Time) {
        self.since = self.since.max(Some(oldest));
    }

    /// Sets what is known of the file that begins next: when the earliest of those after it begins, whose lines it may
    /// share (`None`: none follows), and the damage to its lines.
    pub(super) fn expect(&mut self, next: Option<Time>, format: LineFormat) {
        self.end();
        self.dedup.expect(next);
        self.format = format;
    }
    pub(super) fn start(&mut self, name: &str, is_picked: bool, from: ReadFrom) {
        self.end();
        if let Some(recorder) = &mut self.recorder {
            recorder.start(name, is_picked, from);
        }
        let mut lines = LineSplitter::default();
        if from == ReadFrom::Middle {
            lines.tear();
        }
        let context = self.sink.wants_context();
        let mut parser = Parser::new(name, parser_hints(&self.moments));
        if context {
            parser.keep_context();
        }
        self.scan_hints.set(context, false);
        self.current = Some(Current {
            name: name.to_owned(),
            is_picked,
            numbered: from == ReadFrom::Start,
            is_file: from != ReadFrom::Unnumbered,
            bytes: 0,
            format: std::mem::take(&mut self.format),
            excerpt: Excerpt::default(),
            lines,
            parser,
        });
    }
    pub(super) fn block(&mut self, block: &[u8]) {
        for part in block.chunks(MAX_LINE) {
            let index = self.scan_hints.scan(part);
            self.scanned_block(part, &index);
        }
    }

    /// Takes the next bytes of the source, at most `MAX_LINE`, with the lines found in them.
    pub(super) fn scanned_block(&mut self, block: &[u8], index: &LineIndex) {
        let Some(current) = &mut self.current else {
            return;
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.block(block);
        }
        current.bytes += block.len() as u64;
        current.excerpt.push(block);
        self.progress.add(block.len() as u64);
        self.emit(|lines, parser, out| lines.push(block, index, parser, out));
        if let Some(Current { parser, .. }) = &self.current {
            self.scan_hints
                .set(parser.wants_context(), parser.has_begun());
        }
    }
    fn emit(&mut self, produce: impl FnOnce(&mut LineSplitter, &mut Parser, &mut Out<'_>)) {
        let Some(current) = &mut self.current else {
            return;
        };
        let range = (self.since, self.moments.until);
        let mut any = false;
        let mut each = |event| {
            let (dedup, sink) = (&mut self.dedup, &mut *self.sink);
            any |= emit_event(event, range, current.numbered, dedup, sink);
        };
        let mut out = Out::new(&mut each);
        produce(&mut current.lines, &mut current.parser, &mut out);
        if any {
            self.enough |= !self.sink.batch();
        }
    }
    pub(super) fn wants_more(&self) -> bool {
        !self.enough
    }

    /// Dates what waits for year and zone by the hints; with `all`, also ends the message that the next line may continue.
    pub(super) fn settle(&mut self, all: bool) {
        self.emit(|_, parser, out| out.take(|events| parser.settle(all, events)));
    }

    /// Sets the current time, from the next source on.
    pub(super) fn set_now(&mut self, now: Time) {
        self.moments.now = now;
    }

    /// Continues in the middle of a later line of the source.
    pub(super) fn skip(&mut self) {
        if let Some(current) = &mut self.current {
            current.lines.tear();
            current.numbered = false;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.skip();
        }
    }
    pub(super) fn end(&mut self) {
        if self.current.is_none() {
            return;
        }
        self.emit(LineSplitter::finish);
        if let Some(current) = self.current.take() {
            self.report(current);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.end();
        }
    }

    /// Forgets the source: nothing came of it.
    pub(super) fn abandon(&mut self) {
        self.current = None;
        self.dedup.end();
        if let Some(recorder) = &mut self.recorder {
            recorder.abandon();
        }
    }

    pub(super) fn gap(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.reading.gaps.push(Gap::in_source(what, why));
    }

    pub(super) fn note(&mut self, note: String) {
        self.reading.notes.push(note);
    }
    pub(super) fn count_hosts_as_nodes(&mut self) {
        let hosts = self.reading.hosts.iter();
        self.nodes.extend(hosts.map(|host| short_name(host)));
    }
    pub(super) fn add_host(&mut self, host: &str) {
        self.nodes.insert(short_name(host));
        self.reading.hosts.insert(host.to_owned());
    }
    pub(super) fn kubelet_sources(&self) -> usize {
        let sources = self.reading.sources.iter();
        sources.filter(|source| source.of_kubelet).count()
    }

    fn report(&mut self, current: Current) {
        let told = current.parser.source_info();
        let name = current.name;
        self.report_losses(&name, current.lines.cut, told);
        self.report_format(&name, current.format, told);
        let Repeats { dropped, unknown } = self.dedup.end();
        if dropped > 0 {
            self.repeating.insert(name.clone());
            self.note(format!(
                "{name}: {dropped} lines repeat an earlier log and count once"
            ));
        }
        if unknown > 0 {
            let why = format!(
                "{unknown} of its lines may repeat an earlier log and count twice: too many lines to remember"
            );
            self.gap(name.clone(), why);
        }
        self.reading.hosts.extend(told.hosts.iter().cloned());
        if current.is_file {
            self.nodes
                .extend(told.hosts.iter().map(|host| short_name(host)));
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
            picked: current.is_picked,
            // A journal's lines may have been selected by us.
            extract: current.is_file && current.excerpt.finish(),
        });
    }

    fn report_format(&mut self, name: &str, format: LineFormat, told: &SourceInfo) {
        if let Some(width) = format.wrapped {
            self.note(format!("{name}: rejoined lines wrapped at {width} columns"));
        }
        if let Some(width) = format.cut.filter(|_| told.truncated == 0) {
            let why = format!(
                "a pager cut its lines at {width} columns (> at the end, … in the middle): save whole lines with journalctl --no-pager"
            );
            self.gap(name, why);
        }
    }

    /// Adds a gap for lines that the source lost, or that exceeded a limit.
    fn report_losses(&mut self, name: &str, cut: u64, told: &SourceInfo) {
        let cut = cut + told.cut;
        if cut > 0 {
            self.note(format!(
                "{name}: {cut} lines or messages longer than 1 MiB were cut there"
            ));
        }
        for loss in &told.losses {
            self.gap(name, loss.as_str());
        }
        let more = [
            (told.more_losses, "more of its lines report lost lines"),
            (
                told.truncated,
                "of its relevant lines were cut by a pager (> at the end, … in the middle): save whole lines with journalctl --no-pager",
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

/// Hands on an event that is within the requested time, or has none, and is not repeated. Returns whether it did.
fn emit_event(
    mut event: Event,
    (since, until): (Option<Time>, Option<Time>),
    numbered: bool,
    dedup: &mut Dedup,
    sink: &mut dyn Sink,
) -> bool {
    let when = event.at.or(event.received);
    let within = when.is_none_or(|when| {
        since.is_none_or(|since| when >= since) && until.is_none_or(|until| when <= until)
    });
    let new = within && !dedup.is_repeated(&event);
    if new {
        if !numbered {
            event.citation.line = None;
        }
        sink.event(event);
    }
    new
}
