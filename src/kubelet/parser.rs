//! Physical lines in, events out: puts together what an envelope split, keeps the kubelet's own lines, reads
//! times.
//!
//! A reader of blocks need not hand over the lines that the prefilter rejects (`pass`), nor, while there is no
//! trouble (`wants_context`), those that are context only; `is_attentive` says when the next line matters whatever
//! it is. Which message a line is, is decided by `event`; what stands context it is read by `envelope`. Events come
//! out in the log's order, and with their final times: those whose year or zone is not known yet are held back.

mod cache;
mod conditions;
mod context;
mod lines;
mod multiline;
mod pending;
mod truncated;

use crate::kubelet::event::prefilter::{Hit, prefilter};
use crate::kubelet::event::{Event, MessageFields};
use crate::syntax::framing;
use crate::syntax::framing::{Entry, Owner, Program, Unframed};
use crate::syntax::time::{Time, When};
use cache::Cache;
use lines::{is_fatal, may_have_time, record_stamp, stamps_of};
use multiline::Multiline;
use pending::Pending;
use std::{collections::BTreeSet, sync::Arc};
use truncated::Truncated;

pub use crate::syntax::time::Hints;
pub(crate) use lines::{is_own, stamps};
pub(crate) use truncated::ends_cut;

/// Longest line, put together, that is read; the rest of a longer one is cut off.
pub const MAX_LINE: usize = 1 << 20;
/// The log's form shows in so many lines; they are all looked at.
const HEAD_LINES: u64 = 16;
/// How long after trouble context is still read, in microseconds.
const CONTEXT_MICROS: i64 = 10 * 60 * 1_000_000;
/// Most losses and hosts that are kept.
const MAX_KEPT: usize = 64;
const MAX_HOST: usize = 255;

/// What a source shows besides its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceInfo {
    pub lines: u64,
    /// Whether some of them are the kubelet's own.
    pub of_kubelet: bool,
    /// Time of the first line that has one, whoever wrote it.
    pub oldest: Option<Time>,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Names of hosts, from envelopes of kubelet lines and klog's file header.
    pub hosts: BTreeSet<String>,
    /// The program that the kubelet is, or runs in, by its latest envelopes.
    pub program: Option<Program>,
    /// Lines that say that lines were lost: the first ones, each once.
    pub losses: Vec<String>,
    /// How many more of them there are.
    pub more_losses: u64,
    /// Whether a year or a zone had to be guessed.
    pub guessed_times: bool,
    /// Lines cut because they were too long.
    pub cut: u64,
    /// The kubelet's messages that a pager cut.
    pub truncated: u64,
    /// Pods and reasons that lines list and that were left out, since one lists too many.
    pub left_out: u64,
}

/// Reads one source: a file with its rotations, a journal, a container's log.
#[derive(Debug)]
pub struct Parser {
    info: SourceInfo,
    pending: Pending,
    /// The message that may go on in the next line.
    multiline: Multiline,
    /// The entry of several lines that is being put together.
    entry: Option<(Entry, u64)>,
    /// The kubelet's last line that was not parsed.
    quiet: Kept,
    /// When the last trouble was, roughly; `None`: context is not wanted.
    trouble: Option<i64>,
    /// Whether context is wanted all the time.
    all: bool,
    /// Whether lines have klog headers, so that those without are parts of others.
    headers: bool,
    /// Whether several lines make an entry: the journal's forms, of which a log is full or has none.
    entries: bool,
    /// Whether klog's header of a file goes on in the next line.
    heading: bool,
    truncated: Truncated,
    last_host: String,
    oldest: Option<When>,
    first: Option<When>,
    last: Option<(u64, When)>,
    fields: Vec<MessageFields>,
    cache: Cache,
}

/// A line without the `\r` of one that ends as on Windows.
pub(crate) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[derive(Debug, Default)]
struct Kept {
    /// Its number; 0: none.
    line: u64,
    raw: Vec<u8>,
}

impl Kept {
    fn keep(&mut self, line: u64, raw: &[u8]) {
        self.line = line;
        self.raw.clear();
        self.raw.extend_from_slice(raw);
    }
}

impl Parser {
    pub fn new(source: &str, hints: Hints) -> Self {
        Self {
            info: SourceInfo::default(),
            pending: Pending::new(source, hints),
            multiline: Multiline::default(),
            entry: None,
            quiet: Kept::default(),
            trouble: None,
            all: false,
            headers: false,
            entries: false,
            heading: false,
            truncated: Truncated::default(),
            last_host: String::new(),
            oldest: None,
            first: None,
            last: None,
            fields: Vec::new(),
            cache: Cache::new(),
        }
    }

    /// Reads messages that are context only all the time, and not only context trouble.
    pub fn keep_context(&mut self) {
        self.all = true;
    }

    /// Takes in one line, without its newline, but with the `\r` before it: it may be a part of an entry, whose bytes
    /// count. Appends the events that are ready.
    pub fn line(&mut self, raw: &[u8], out: &mut Vec<Event>) {
        self.line_as(raw, None, out);
    }

    /// Takes in one line of which the prefilter may have been asked already.
    pub(crate) fn line_as(&mut self, raw: &[u8], hit: Option<Hit>, out: &mut Vec<Event>) {
        self.info.lines += 1;
        let raw = if raw.len() > MAX_LINE {
            self.info.cut += 1;
            &raw[..MAX_LINE]
        } else {
            raw
        };
        if self.entry.is_some() && self.gather(raw, out) {
            return self.taken(without_return(raw));
        }
        let raw = without_return(raw);
        let heading = std::mem::take(&mut self.heading);
        let fatal = || is_fatal(raw).then_some(Hit::Message);
        // Where klog's header of a file goes on (`Running on machine: `), the host may be called like a message.
        let hit = hit.filter(|_| raw.first() != Some(&b'R'));
        match hit.or_else(|| prefilter(raw)).or_else(fatal) {
            None => self.quiet(raw, out),
            Some(Hit::Bulk) => self.bulk(raw, out),
            Some(Hit::Note) => self.note(raw, heading, out),
            Some(hit) => self.hit(raw, hit, out),
        }
    }

    /// Counts lines that the prefilter rejects, or that are context that is not wanted.
    pub(crate) fn pass(&mut self, lines: u64) {
        self.info.lines += lines;
    }

    /// Whether the next line is to be handed over, whatever it is: it may go on with the one before, or
    /// show when the log begins.
    pub(crate) fn is_attentive(&self) -> bool {
        let begins = self.info.lines < HEAD_LINES
            || self.oldest.is_none()
            || (self.info.of_kubelet && self.first.is_none());
        let goes_on = self.multiline.is_open() || self.entry.is_some() || self.heading;
        begins || goes_on || self.entries
    }

    /// Whether messages that are context only are to be handed over, too.
    pub(crate) fn wants_context(&self) -> bool {
        self.all || self.trouble.is_some()
    }

    /// Whether a kubelet line with a time was seen.
    pub(crate) fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// Takes note of the kubelet's last line so far, which the prefilter rejected.
    pub(crate) fn passed_last(&mut self, line: u64, raw: &[u8]) {
        self.info.of_kubelet = true;
        if line > self.quiet.line {
            self.quiet.keep(line, without_return(raw));
        }
    }

    pub(crate) fn lines(&self) -> u64 {
        self.info.lines
    }

    /// Waits no longer, since nothing may come for a while: appends the events that were held back, with times by the
    /// hints; with `all`, also those of the message that might have gone on in the next line.
    pub(crate) fn settle(&mut self, all: bool, out: &mut Vec<Event>) {
        if all {
            if let Some((entry, line)) = self.entry.take() {
                self.entry_ended(entry, line, out);
            }
            self.flush(out);
        }
        self.pending.finish(out);
    }

    /// Ends the source; appends the events that were held back.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        if let Some((entry, line)) = self.entry.take() {
            self.entry_ended(entry, line, out);
        }
        self.flush(out);
        let quiet = std::mem::take(&mut self.quiet);
        if quiet.line > self.last.map_or(0, |(line, _)| line) {
            let unframed = framing::unframe(&quiet.raw);
            self.note_writer(&unframed);
            let when = self.when(&unframed);
            if when.rough_micros().is_some() {
                self.last = Some((quiet.line, when));
            }
        }
        self.pending.finish(out);
        let timestamps = &self.pending.timestamps;
        let known = |when: When| timestamps.at(&timestamps.close(when));
        self.info.oldest = self.oldest.and_then(known);
        self.info.first = self.first.and_then(known);
        self.info.last = self.last.and_then(|(_, when)| known(when));
        self.info.guessed_times = timestamps.guessed();
        self.info.truncated = self.truncated.count();
    }

    pub fn source_info(&self) -> &SourceInfo {
        &self.info
    }

    /// A line with no known message: perhaps it continues the multiline one, or begins an entry.
    fn quiet(&mut self, raw: &[u8], out: &mut Vec<Event>) {
        let may_begin = raw == b"{" || self.entries || self.info.lines <= HEAD_LINES;
        let entry = Entry::begin(raw).filter(|_| may_begin && !self.multiline.is_block());
        if self.multiline.is_open() {
            if entry.is_none() && self.multiline.goes_on(raw, &mut self.info.cut) {
                return self.taken(raw);
            }
            self.flush(out);
        }
        if let Some(entry) = entry {
            self.entries |= raw != b"{";
            self.entry = Some((entry, self.info.lines));
            return;
        }
        if may_have_time(raw) {
            self.unparsed(self.info.lines, raw);
        }
    }

    /// A line that became a part of something: it shows that the kubelet goes on, as any other does.
    fn taken(&mut self, raw: &[u8]) {
        if is_own(raw) {
            self.info.of_kubelet = true;
            self.quiet.keep(self.info.lines, raw);
        }
    }

    /// A line with a time and nothing that is known. Another program's, though it speaks of the kubelet, shows
    /// nothing of how long the kubelet went on, nor of its host.
    fn unparsed(&mut self, line: u64, raw: &[u8]) {
        if self.oldest.is_none() {
            self.note_oldest(raw);
        }
        if is_own(raw) {
            self.info.of_kubelet = true;
            self.quiet.keep(line, raw);
            if self.first.is_none() {
                self.note_first(raw);
            }
        }
    }

    /// A line of context: without trouble it shows no more than any other.
    fn bulk(&mut self, raw: &[u8], out: &mut Vec<Event>) {
        self.flush(out);
        if self.wants_context() {
            return self.hit(raw, Hit::Bulk, out);
        }
        if may_have_time(raw) {
            self.unparsed(self.info.lines, raw);
        }
    }

    /// A line that may be a known message.
    fn hit(&mut self, raw: &[u8], hit: Hit, out: &mut Vec<Event>) {
        if self.multiline.is_partial() && self.multiline.goes_on(raw, &mut self.info.cut) {
            return self.taken(raw);
        }
        let unframed = framing::unframe(raw);
        if unframed.owner.is_another() {
            if !self.foreign(&unframed, self.info.lines, out) {
                self.quiet(raw, out);
            }
            return;
        }
        self.message(&unframed, raw, hit, self.info.lines, out);
    }

    /// A line without its envelopes: opens a message, or continues the multiline one.
    fn message(
        &mut self,
        unframed: &Unframed<'_>,
        raw: &[u8],
        hit: Hit,
        line: u64,
        out: &mut Vec<Event>,
    ) {
        if unframed.header.is_none() && record_stamp(unframed).is_none() {
            let another = self.multiline.is_bare() && !self.multiline.is_block();
            if self.multiline.is_open()
                && !another
                && self.multiline.goes_on(raw, &mut self.info.cut)
            {
                return self.taken(raw);
            }
            self.flush(out);
            return self.without_header(unframed, raw, line, out);
        }
        self.flush(out);
        self.headers = true;
        self.info.of_kubelet = true;
        self.note_writer(unframed);
        let when = self.see(unframed, line);
        if hit == Hit::Bulk && !self.wants_context() {
            return;
        }
        self.truncated.see(raw);
        self.multiline.start(unframed, raw, when, line);
    }

    /// A known text without a klog header: a condition, or a log without headers.
    fn without_header(
        &mut self,
        unframed: &Unframed<'_>,
        raw: &[u8],
        line: u64,
        out: &mut Vec<Event>,
    ) {
        if conditions::read(&unframed.message, &mut self.fields) {
            return self.conditions(&unframed.message, line, out);
        }
        if self.headers || unframed.message.starts_with(b"time=\"") {
            if may_have_time(raw) {
                self.unparsed(line, raw);
            }
            return;
        }
        self.note_writer(unframed);
        let when = self.see(unframed, line);
        self.multiline.start_bare(unframed, when, line);
    }

    /// Classifies the multiline message and emits its events.
    fn flush(&mut self, out: &mut Vec<Event>) {
        if !self.multiline.is_open() {
            return;
        }
        self.multiline.close();
        let (when, line, severity) = (
            self.multiline.when,
            self.multiline.line,
            self.multiline.severity,
        );
        let read = self.cache.read(self.multiline.text(), severity);
        if read.fields.iter().any(|fields| fields.is_trouble()) {
            self.trouble = Some(when.rough_micros().unwrap_or(i64::MAX / 2));
        } else if self.is_long_past(&when) && read.fields.iter().any(|fields| fields.is_recovery())
        {
            // The first sign that it ended is wanted, however late it comes.
            self.trouble = None;
        }
        for fields in &read.fields {
            self.info.left_out += fields.left_out;
            if let Some(reported) = fields.reported_at {
                self.pending.anchor(&when, reported, out);
            }
            self.pending
                .push(Arc::clone(fields), severity, when, line, &read.cited, out);
        }
        self.cache.keep(read);
    }

    /// Whether the last trouble is long past at that time.
    fn is_long_past(&self, when: &When) -> bool {
        self.trouble
            .zip(when.rough_micros())
            .is_some_and(|(trouble, now)| now.saturating_sub(trouble) > CONTEXT_MICROS)
    }

    fn when(&mut self, unframed: &Unframed<'_>) -> When {
        let (klog, envelope) = stamps_of(unframed);
        self.pending.timestamps.observe(klog, envelope)
    }

    fn see(&mut self, unframed: &Unframed<'_>, line: u64) -> When {
        let when = self.when(unframed);
        if when.rough_micros().is_some() {
            self.oldest.get_or_insert(when);
            self.first.get_or_insert(when);
            self.last = Some((line, when));
        }
        when
    }

    /// Takes the time of the source's first line that has one, whoever wrote it.
    fn note_oldest(&mut self, raw: &[u8]) {
        let when = self.when(&framing::unframe(raw));
        self.oldest = when.rough_micros().is_some().then_some(when);
    }

    /// Takes time and host of a line of the kubelet that is not parsed.
    fn note_first(&mut self, raw: &[u8]) {
        let unframed = framing::unframe(raw);
        self.note_writer(&unframed);
        self.see(&unframed, self.info.lines);
    }

    fn note_writer(&mut self, unframed: &Unframed<'_>) {
        self.note_host(unframed.host.as_deref());
        if let Owner::Kubelet(program) = unframed.owner {
            self.info.program = Some(program);
        }
    }

    fn note_host(&mut self, host: Option<&str>) {
        if let Some(host) = host
            && host != self.last_host
            && host.len() <= MAX_HOST
            && self.info.hosts.len() < MAX_KEPT
        {
            host.clone_into(&mut self.last_host);
            self.info.hosts.insert(host.to_owned());
        }
    }
}
