//! What is no single klog line: entries of several lines, pasted conditions, lines about the log itself.

use super::lines::{is_fatal, is_loss, lossy, may_have_time, record_stamp};
use super::pending::cited;
use super::{MAX_KEPT, Parser, conditions};
use crate::kubelet::event::prefilter::{Hit, prefilter};
use crate::kubelet::event::{Event, bounded, classify};
use crate::syntax::framing;
use crate::syntax::framing::{Entry, Gathered, Unframed};
use crate::syntax::klog::Severity;
use crate::syntax::time::{Stamp, klog_created};
use std::sync::Arc;

impl Parser {
    /// Emits the conditions that `conditions::read` left in `fields`.
    pub(super) fn conditions(&mut self, text: &[u8], line: u64, out: &mut Vec<Event>) {
        let text = cited(String::from_utf8_lossy(text).trim()).into();
        let mut reported = None;
        // Pasted from elsewhere, but it is the kubelet's own word on its node.
        self.info.of_kubelet = true;
        for fields in std::mem::take(&mut self.fields) {
            self.info.left_out += fields.left_out;
            reported = fields.reported_at.or(reported);
            let when = self
                .pending
                .timestamps
                .observe(None, reported.map(Stamp::Exact));
            let severity = Severity::Info;
            self.pending
                .push(Arc::new(fields), severity, when, line, &text, out);
        }
    }

    /// A line about the log itself; `heading`: the line before began klog's header of a file.
    pub(super) fn note(&mut self, raw: &[u8], heading: bool, out: &mut Vec<Event>) {
        let unframed = framing::unframe(raw);
        if unframed.header.is_some() || record_stamp(&unframed).is_some() {
            return self.hit(raw, Hit::Message, out);
        }
        self.flush(out);
        let message = String::from_utf8_lossy(&unframed.message);
        if let Some(local) = klog_created(&message) {
            self.heading = true;
            self.pending.timestamps.created(local);
        } else if let Some((_, host)) = message.split_once("Running on machine: ")
            && heading
        {
            self.note_host(Some(host.trim()));
        } else if is_loss(&message) {
            let (losses, loss) = (&mut self.info.losses, bounded(message.trim(), 300));
            if losses.len() < MAX_KEPT && losses.iter().all(|known| known != loss) {
                losses.push(loss.to_owned());
            } else {
                self.info.more_losses += 1;
            }
        }
        if may_have_time(raw) {
            self.unparsed(self.info.lines, raw);
        }
    }

    /// Emits what another program says about the machine; returns whether that is anything known.
    pub(super) fn foreign(
        &mut self,
        unframed: &Unframed<'_>,
        line: u64,
        out: &mut Vec<Event>,
    ) -> bool {
        let text = lossy(&unframed.message);
        let Some(fields) = classify::foreign(&text, unframed.owner) else {
            return false;
        };
        self.flush(out);
        let when = self.pending.timestamps.observe(None, unframed.stamp);
        if when.rough_micros().is_some() {
            self.oldest.get_or_insert(when);
        }
        let text = cited(text.trim()).into();
        self.pending
            .push(Arc::new(fields), Severity::Info, when, line, &text, out);
        true
    }

    /// Hands a line to the entry that is being put together; returns whether it was taken.
    pub(super) fn gather(&mut self, raw: &[u8], out: &mut Vec<Event>) -> bool {
        let Some((mut entry, line)) = self.entry.take() else {
            return false;
        };
        let gathered = entry.gather(raw);
        if gathered == Gathered::More {
            self.entry = Some((entry, line));
            return true;
        }
        let too_long = |text: &[u8]| text.len() > framing::MAX_ENTRY;
        self.info.cut += u64::from(entry.text().is_some_and(too_long));
        self.entry_ended(entry, line, out);
        gathered == Gathered::Ended
    }

    pub(super) fn entry_ended(&mut self, entry: Entry, line: u64, out: &mut Vec<Event>) {
        self.flush(out);
        if let Some(text) = entry.text()
            && conditions::read(text, &mut self.fields)
        {
            return self.conditions(b"condition Ready", line, out);
        }
        let Some(unframed) = entry.unframed() else {
            return;
        };
        let fatal = is_fatal(&unframed.message).then_some(Hit::Message);
        let hit = prefilter(&unframed.message).or(fatal);
        if unframed.owner.is_another() {
            self.foreign(&unframed, line, out);
            return;
        }
        if let Some(hit) = hit {
            let raw = unframed.message.clone().into_owned();
            return self.message(&unframed, &raw, hit, line, out);
        }
        self.info.of_kubelet = true;
        self.note_host(unframed.host.as_deref());
        self.see(&unframed, line);
    }
}
