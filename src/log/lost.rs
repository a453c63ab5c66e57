//! What a journal no longer holds: messages that journald dropped since there were too many, and what it took away for
//! want of room, or did not keep over a restart.

use super::{
    intake::Intake,
    journal::{self, Query, What},
    units::Journal,
};
use crate::{
    kubelet::parser,
    syntax::time::{Stamp, Time},
};
use chrono::TimeDelta;
use std::time::Instant;

/// How much of what journald says is read: some 100,000 lines.
const MOST: usize = 16 << 20;
/// A journal that begins this much after the time that was asked for lacks nothing.
const SOON: TimeDelta = TimeDelta::minutes(1);

/// Tells what is missing of a unit's journal, of which `whole` was read. What cannot be found out is no harm: it was
/// read, and journalctl's complaints are told.
pub(super) fn tell(
    journal: &Journal<'_>,
    whole: &Query<'_>,
    unit: &str,
    name: &str,
    intake: &mut Intake<'_>,
) {
    // Newer ones show it among the unit's own lines.
    let known = |gap: &crate::io::gap::Gap| gap.what == name && gap.why.contains("Suppressed ");
    if !intake.reading.gaps.iter().any(known) {
        let (messages, times) = dropped(journal, whole, &journal::whole_name(unit));
        if times > 0 {
            let why = format!(
                "journald dropped {messages} of its messages, {times} times, since there were too many at once (RateLimitBurst=)"
            );
            intake.gap(name, why);
        }
    }
    let begins = journal.since.and_then(|since| {
        let begins = oldest(journal, whole)?;
        (begins - since > SOON).then_some(begins)
    });
    let Some(begins) = begins else {
        return;
    };
    let begins = begins.format("%Y-%m-%d %H:%M:%S %:z");
    let gone = format!(
        "the journal begins at {begins}: what was logged before is not there (rotated away, or not kept over a restart)"
    );
    match journal.asked {
        Some(_) => intake.gap(name, gone),
        None => intake.reading.notes.push(format!("{name}: {gone}")),
    }
}

/// Returns how many messages of the unit journald dropped, and how often.
fn dropped(journal: &Journal<'_>, whole: &Query<'_>, unit: &str) -> (u64, u64) {
    let query = Query {
        what: What::Drops,
        ..*whole
    };
    let mut text = Vec::new();
    // Whatever came counts.
    ask(journal, &query, &mut |block| {
        text.extend_from_slice(block);
        text.len() < MOST
    });
    let text = String::from_utf8_lossy(&text);
    text.lines()
        .filter_map(|line| drops(line, unit))
        .fold((0, 0), |(sum, times), count| (sum + count, times + 1))
}

/// Asks, if there is time.
fn ask(journal: &Journal<'_>, query: &Query<'_>, take: &mut dyn FnMut(&[u8]) -> bool) {
    if Instant::now() < journal.deadline {
        // What it fails for, the reading of the unit tells.
        drop(journal::ask(query, journal.deadline, take));
    }
}

/// Returns how many messages of the unit a line says that were dropped: `Suppressed 124 messages from kubelet.service`,
/// or `… from /system.slice/kubelet.service`.
fn drops(line: &str, unit: &str) -> Option<u64> {
    let (_, words) = line.split_once("Suppressed ")?;
    let (count, from) = words.split_once(" messages from ")?;
    let name = from.trim().rsplit('/').next();
    (name == Some(unit)).then(|| count.parse().ok()).flatten()
}

/// Returns when the journal's first entry was received, of whatever unit.
fn oldest(journal: &Journal<'_>, whole: &Query<'_>) -> Option<Time> {
    let query = Query {
        what: What::All,
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
