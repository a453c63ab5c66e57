//! What the logs that were read do not cover: no line of the kubelet, other times than requested, several nodes, or
//! overlapping logs.

use super::ingest::Ingest;
use crate::{kubelet::summary::Source, log::options::Moments, syntax::time::Time};
use chrono::TimeDelta;

const MAX_NAMED: usize = 4;

/// Reports all of it for named or replayed logs.
pub(super) fn report_all(moments: &Moments, ingest: &mut Ingest<'_>) {
    report_empty(moments, ingest);
    report_nodes(ingest);
    report_time_range(moments, ingest);
    report_overlaps(ingest);
}

/// Adds a gap for each log without a line of the kubelet: its silence proves nothing.
fn report_empty(moments: &Moments, ingest: &mut Ingest<'_>) {
    let sources = &ingest.reading.sources;
    let empty = sources.iter().all(|source| source.lines == 0);
    let silent: Vec<String> = sources
        .iter()
        .filter(|source| !source.of_kubelet && (source.lines > 0 || empty))
        .map(|source| source.name.clone())
        .collect();
    let why = match (empty, requested(moments)) {
        (true, Some(range)) => format!("it has no line {range}"),
        (true, None) => "it is empty".to_owned(),
        (false, _) => "it has no line of the kubelet".to_owned(),
    };
    for name in silent {
        ingest.gap(name, why.clone());
    }
}

/// Notes which time was requested, and adds a gap if the kubelet's lines are all from before or after it.
pub(super) fn report_time_range(moments: &Moments, ingest: &mut Ingest<'_>) {
    let Some(range) = requested(moments) else {
        return;
    };
    if !ingest.reading.sources.is_empty() {
        ingest.note(limited_to(moments));
    }
    let own = || ingest.reading.sources.iter().filter(|s| s.of_kubelet);
    // A log whose lines have no time is read in full.
    let Some(spans) = own()
        .map(|source| source.first.zip(source.last))
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let within = |(first, last): &(Time, Time)| {
        moments.since.is_none_or(|since| *last >= since)
            && moments.until.is_none_or(|until| *first <= until)
    };
    if spans.iter().any(within) {
        return;
    }
    // Also right where only a part was read: it holds the nearest lines.
    let before = |last: &Time| moments.since.is_some_and(|since| *last < since);
    let before = spans.iter().map(|(_, last)| *last).filter(before).max();
    let after = |first: &Time| moments.until.is_some_and(|until| *first > until);
    let after = spans.iter().map(|(first, _)| *first).filter(after).min();
    let nearest = match (before, after) {
        (Some(before), Some(after)) => format!(
            "the last one before is of {}, the first one after of {}",
            shown(before),
            shown(after)
        ),
        (Some(before), None) => format!("the last one is of {}", shown(before)),
        (None, Some(after)) => format!("the first one is of {}", shown(after)),
        (None, None) => return,
    };
    let why = format!("it has no line of the kubelet {range}: {nearest}");
    ingest.gap("the log", why);
}

fn requested(moments: &Moments) -> Option<String> {
    match (moments.since, moments.until) {
        (Some(since), Some(until)) => {
            Some(format!("between {} and {}", shown(since), shown(until)))
        }
        (Some(since), None) => Some(format!("after {}", shown(since))),
        (None, Some(until)) => Some(format!("before {}", shown(until))),
        (None, None) => None,
    }
}

fn limited_to(moments: &Moments) -> String {
    let options = match (moments.since, moments.until) {
        (Some(_), None) => "--since",
        (None, _) => "--until",
        _ => "--since/--until",
    };
    let [since, until] =
        [moments.since, moments.until].map(|time| time.map(shown).unwrap_or_default());
    format!("limited to {since}..{until} ({options})")
}

fn shown(time: Time) -> String {
    time.format("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// Adds a gap if the kubelet's lines come from several nodes.
pub(super) fn report_nodes(ingest: &mut Ingest<'_>) {
    // A node's first lines may be logged before it knows its name.
    ingest.nodes.remove("localhost");
    let nodes: Vec<&str> = ingest.nodes.iter().map(String::as_str).collect();
    if nodes.len() < 2 {
        return;
    }
    let (named, others) = nodes.split_at(nodes.len().min(MAX_NAMED));
    let more = match others.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let why = format!(
        "it mixes lines from several nodes ({}{more}); findings may be attributed to the wrong one. Pass one node's log",
        named.join(", ")
    );
    ingest.gap("the log", why);
}

/// Notes logs that begin before the one before them ends and repeat none of its lines.
fn report_overlaps(ingest: &mut Ingest<'_>) {
    let overlaps = |pair: &&[Source]| {
        let [before, after] = pair else { return false };
        let back = before.last.zip(after.first);
        // Lines are a little out of order in a healthy log, too.
        back.is_some_and(|(last, first)| last - first > TimeDelta::minutes(1))
            && !ingest.repeating.contains(&after.name)
    };
    let pairs: Vec<&[Source]> = ingest.reading.sources.windows(2).filter(overlaps).collect();
    let mut notes = Vec::new();
    for pair in pairs.iter().take(MAX_NAMED) {
        let [before, after] = pair else { continue };
        notes.push(format!(
            "{} begins before {} ends: they are read one after the other",
            after.name, before.name
        ));
    }
    let more = pairs.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        notes.push(format!(
            "{more} more logs begin before the one before them ends"
        ));
    }
    ingest.reading.notes.extend(notes);
}
