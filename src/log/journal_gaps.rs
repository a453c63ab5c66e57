//! Gaps in a journal: messages that journald dropped since there were too many, and what it rotated away for lack of space,
//! or did not keep over a restart.

use super::ingest::Ingest;
use super::journal;
use super::journal::{Entries, JournalRequest, Query};
use crate::io::gap::Gap;
use crate::kubelet::parser;
use crate::syntax::time::{Stamp, Time};
use chrono::TimeDelta;
use std::time::Instant;

/// Bytes of journald's messages that are read: some 100,000 lines.
const MAX_DROPS: usize = 16 << 20;
/// A journal that begins this much after the requested time lacks nothing.
const TOLERANCE: TimeDelta = TimeDelta::minutes(1);

/// Reports the gaps of a unit's journal, of which `whole` was read. Errors are ignored: the journal was read, and
/// journalctl's complaints are reported.
pub(super) fn report(
    journal: &JournalRequest<'_>,
    whole: &Query<'_>,
    unit: &str,
    name: &str,
    ingest: &mut Ingest<'_>,
) {
    // Newer versions show it among the unit's own lines.
    let known = |gap: &Gap| gap.what == name && gap.why.contains("Suppressed ");
    if !ingest.reading.gaps.iter().any(known) {
        let (messages, times) = dropped(journal, whole, &journal::full_unit_name(unit));
        if times > 0 {
            let why = format!(
                "journald dropped {messages} of its messages in {times} bursts (RateLimitBurst=)"
            );
            ingest.gap(name, why);
        }
    }
    let begins = journal.since.and_then(|since| {
        let begins = oldest(journal, whole)?;
        (begins - since > TOLERANCE).then_some(begins)
    });
    let Some(begins) = begins else {
        return;
    };
    let begins = begins.format("%Y-%m-%d %H:%M:%S %:z");
    let gone = format!(
        "the journal begins at {begins}: earlier entries are gone (rotated away, or not kept over a restart)"
    );
    match journal.asked {
        Some(_) => ingest.gap(name, gone),
        None => ingest.note(format!("{name}: {gone}")),
    }
}

/// How many messages of the unit journald dropped, and how often.
fn dropped(journal: &JournalRequest<'_>, whole: &Query<'_>, unit: &str) -> (u64, u64) {
    let query = Query {
        entries: Entries::Drops,
        ..*whole
    };
    let mut text = Vec::new();
    ask(journal, &query, &mut |block| {
        text.extend_from_slice(block);
        text.len() < MAX_DROPS
    });
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .filter_map(|line| drops(line, unit))
        .fold((0, 0), |(sum, times), count| (sum + count, times + 1))
}

fn ask(journal: &JournalRequest<'_>, query: &Query<'_>, take: &mut dyn FnMut(&[u8]) -> bool) {
    if Instant::now() < journal.deadline {
        // Reading the unit reports the same error.
        drop(journal::ask(query, journal.deadline, take));
    }
}

/// The number of dropped messages in a line about the unit: `Suppressed 124 messages from kubelet.service`,
/// or `… from /system.slice/kubelet.service`.
fn drops(line: &str, unit: &str) -> Option<u64> {
    let (_, words) = line.split_once("Suppressed ")?;
    let (count, from) = words.split_once(" messages from ")?;
    let name = from.trim().rsplit('/').next();
    (name == Some(unit)).then(|| count.parse().ok()).flatten()
}

/// When the journal's first entry was received, of whatever unit.
fn oldest(journal: &JournalRequest<'_>, whole: &Query<'_>) -> Option<Time> {
    let query = Query {
        entries: Entries::All,
        since: None,
        until: None,
        ..*whole
    };
    let mut first = Vec::new();
    ask(journal, &query, &mut |block| {
        first.extend_from_slice(block);
        // A line's beginning is enough.
        !first.contains(&b'\n') && first.len() < 256
    });
    let line = first.split(|byte| *byte == b'\n').next()?;
    match parser::stamps(line)? {
        (_, Some(Stamp::Exact(time))) => Some(time),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_messages_are_those_of_the_unit_itself() {
        for (line, count) in [
            (
                "2026-11-30T11:00:00+0000 a systemd-journald[3]: Suppressed 124 messages from kubelet.service",
                Some(124),
            ),
            (
                "2026-11-30T11:00:00+0000 a systemd-journal[3]: Suppressed 7 messages from /system.slice/kubelet.service",
                Some(7),
            ),
            (
                "2026-11-30T11:00:00+0000 a systemd-journald[3]: Suppressed 7 messages from docker.service",
                None,
            ),
            (
                "2026-11-30T11:00:00+0000 a systemd-journald[3]: Suppressed 7 messages from not-kubelet.service",
                None,
            ),
            (
                "2026-11-30T11:00:00+0000 a systemd-journald[3]: Suppressed",
                None,
            ),
        ] {
            assert_eq!(drops(line, "kubelet.service"), count, "{line}");
        }
    }
}
