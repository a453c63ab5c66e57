//! The message that may go on in the next line: a block of lines, a raw newline in an error, a split line.

use super::MAX_LINE;
use crate::syntax::framing::Unframed;
use crate::syntax::klog::Severity;
use crate::syntax::time::When;
use crate::syntax::{framing, klog};

/// A message that is being put together, and what its first line shows.
#[derive(Debug, Default)]
pub(super) struct Multiline {
    is_open: bool,
    /// The message behind the klog header, or the JSON record.
    text: Vec<u8>,
    pub(super) severity: Severity,
    pub(super) when: When,
    pub(super) line: u64,
    bare: bool,
    enveloped: bool,
    partial: bool,
    /// Whether a block of lines (`key=<`) is not closed yet.
    block: bool,
    /// A JSON record: it goes on only where it was broken.
    record: bool,
    /// Whether one break of the record was looked at; there is never a second.
    was_joined: bool,
    /// How far a further line is indented by the journal.
    column: usize,
    was_cut: bool,
}

impl Multiline {
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn is_partial(&self) -> bool {
        self.is_open && self.partial
    }

    /// Whether it has no header, so that another message without one may follow.
    pub(super) fn is_bare(&self) -> bool {
        self.bare
    }

    pub(super) fn is_block(&self) -> bool {
        self.is_open && self.block
    }

    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn start(&mut self, unframed: &Unframed<'_>, raw: &[u8], when: When, line: u64) {
        let header = unframed.header;
        let from = header.map_or(0, |header| header.len);
        self.set(unframed, &unframed.message[from..], when, line);
        self.record = header.is_none();
        self.bare = false;
        self.column = raw.len().saturating_sub(unframed.message.len());
        self.severity = match header {
            Some(header) => header.severity,
            None => record_severity(&unframed.message),
        };
    }

    pub(super) fn start_bare(&mut self, unframed: &Unframed<'_>, when: When, line: u64) {
        self.set(unframed, &unframed.message, when, line);
        self.record = false;
        self.bare = true;
        self.column = 0;
        self.severity = Severity::Info;
    }

    fn set(&mut self, unframed: &Unframed<'_>, message: &[u8], when: When, line: u64) {
        self.is_open = true;
        self.text.clear();
        self.text.extend_from_slice(message);
        self.when = when;
        self.line = line;
        self.enveloped = unframed.enveloped;
        self.partial = unframed.partial;
        self.block = klog::is_open_block(&self.text);
        self.was_cut = false;
        self.was_joined = false;
    }

    /// Appends `raw` if the message goes on in it; counts a message cut for its length in `cut`.
    pub(super) fn goes_on(&mut self, raw: &[u8], cut: &mut u64) -> bool {
        if self.partial {
            let part = framing::unframe_one(raw);
            if !part.enveloped {
                return false;
            }
            self.partial = part.partial;
            self.append(&part.message, cut);
            return true;
        }
        if self.record {
            return self.append_broken(raw, cut);
        }
        let unframed = framing::unframe(raw);
        if unframed.header.is_some() || unframed.owner.is_another() {
            return false;
        }
        let message: &[u8] = match (self.enveloped, unframed.enveloped) {
            (true, true) | (false, false) => &unframed.message,
            // The journal indents further lines to the column of the first.
            (true, false) if raw.starts_with(b"  ") || raw.starts_with(b"\t") => {
                let blanks = raw.iter().take_while(|&&b| b == b' ').count();
                &raw[blanks.min(self.column)..]
            }
            _ => return false,
        };
        if !self.block && is_of_its_own(message) {
            return false;
        }
        if message.starts_with(b" >") {
            self.block = message.ends_with(b"=<");
        }
        self.append(b"\n", cut);
        self.append(message, cut);
        true
    }

    fn append_broken(&mut self, raw: &[u8], cut: &mut u64) -> bool {
        let whole = self.text.ends_with(b"}");
        if std::mem::replace(&mut self.was_joined, true)
            || whole
            || raw.starts_with(b"{")
            || klog::header(raw).is_some()
        {
            return false;
        }
        self.append(raw, cut);
        true
    }

    fn append(&mut self, more: &[u8], cut: &mut u64) {
        let room = MAX_LINE.saturating_sub(self.text.len());
        self.text.extend_from_slice(&more[..more.len().min(room)]);
        if more.len() > room && !self.was_cut {
            self.was_cut = true;
            *cut += 1;
        }
    }
}

/// Whether a line without a header is none the less no part of the message before it.
fn is_of_its_own(message: &[u8]) -> bool {
    message.is_empty()
        || message.starts_with(b"{\"")
        || message.starts_with(b"time=\"")
        || message.starts_with(b"-- ")
        || message.starts_with(b"Flag --")
        || message.starts_with(b"goroutine ")
        || (message.starts_with(b"[") && message.ends_with(b" blob data]"))
        || message.starts_with(b"Log file created at: ")
}

/// klog's JSON has no severity: errors carry `err`, and from 1.23 on they alone carry no `v`.
fn record_severity(record: &[u8]) -> Severity {
    let has = |wanted: &[u8]| framing::json::members(record).any(|(key, _)| key == wanted);
    if has(b"err") || !has(b"v") {
        Severity::Error
    } else {
        Severity::Info
    }
}
