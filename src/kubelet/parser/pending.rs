//! Events held back, in order, until the log shows its year and zone.

use crate::kubelet::event::{Event, MessageFields, bounded};
use crate::syntax::citation::Citation;
use crate::syntax::klog::Severity;
use crate::syntax::time::{Hints, Time, Timestamps, When};
use std::{collections::VecDeque, sync::Arc};

/// Most events held back, and most bytes of their citations; then the hints have to do.
const MAX_EVENTS: usize = 8192;
const MAX_BYTES: usize = 4 << 20;
/// Longest citation, in characters, and in bytes.
const MAX_CITED: usize = 400;
const MAX_CITED_BYTES: usize = 800;

#[derive(Debug)]
pub(super) struct Pending {
    source: Arc<str>,
    pub(super) timestamps: Timestamps,
    held: VecDeque<(Event, When)>,
    /// How long the citations of those are, the same one counted once where it comes several times in a row.
    bytes: usize,
}

impl Pending {
    pub(super) fn new(source: &str, hints: Hints) -> Self {
        Self {
            source: source.into(),
            timestamps: Timestamps::new(hints),
            held: VecDeque::new(),
            bytes: 0,
        }
    }

    /// A time inside a message may date what is held back.
    pub(super) fn anchor(&mut self, when: &When, reported: Time, out: &mut Vec<Event>) {
        self.timestamps.anchor(when, reported);
        self.release(out);
    }

    pub(super) fn push(
        &mut self,
        fields: Arc<MessageFields>,
        severity: Severity,
        when: When,
        line: u64,
        text: &Arc<str>,
        out: &mut Vec<Event>,
    ) {
        self.release(out);
        let event = self.event(fields, severity, line, text);
        if self.held.is_empty() && (!when.is_open() || self.timestamps.is_anchored()) {
            out.push(event);
            if let Some(event) = out.last_mut() {
                self.stamp(event, when);
            }
            return;
        }
        let before = self.held.back().map(|(event, _)| &event.citation.text);
        if !before.is_some_and(|before| Arc::ptr_eq(before, text)) {
            self.bytes += text.len();
        }
        self.held.push_back((event, when));
        if self.held.len() >= MAX_EVENTS || self.bytes >= MAX_BYTES {
            self.finish(out);
        }
    }

    /// Emits everything, by the hints where the log shows no year or zone.
    pub(super) fn finish(&mut self, out: &mut Vec<Event>) {
        self.timestamps.settle();
        // What no hint could date has no time.
        self.emit(out);
    }

    fn release(&mut self, out: &mut Vec<Event>) {
        if self.timestamps.is_anchored() {
            self.emit(out);
        }
    }

    fn emit(&mut self, out: &mut Vec<Event>) {
        if self.held.is_empty() {
            return;
        }
        self.bytes = 0;
        // Its room is not needed again.
        for (mut event, when) in std::mem::take(&mut self.held) {
            self.stamp(&mut event, when);
            out.push(event);
        }
    }

    fn stamp(&self, event: &mut Event, when: When) {
        let when = self.timestamps.close(when);
        event.at = self.timestamps.at(&when);
        event.received = self.timestamps.received(&when);
        event.exact = when.exact;
        event.guessed = !when.exact && event.at.is_some() && self.timestamps.guessed();
        event.citation.time = event.at;
    }

    fn event(
        &self,
        fields: Arc<MessageFields>,
        severity: Severity,
        line: u64,
        text: &Arc<str>,
    ) -> Event {
        Event {
            fields,
            at: None,
            exact: false,
            guessed: false,
            received: None,
            severity,
            citation: Citation {
                is_call: false,
                source: Arc::clone(&self.source),
                line: Some(line),
                time: None,
                text: Arc::clone(text),
            },
        }
    }
}

pub(super) fn cited(text: &str) -> &str {
    if text.len() <= MAX_CITED {
        return text;
    }
    let text = bounded(text, MAX_CITED_BYTES);
    let end = text.char_indices().nth(MAX_CITED);
    end.map_or(text, |(end, _)| &text[..end])
}
