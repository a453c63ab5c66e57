//! Reads the journal of the unit that runs the kubelet, its newest part first: where time runs out, the oldest is missing.

use super::ingest::Ingest;
use super::journal::{Answer, Entries, JournalRequest, Query};
use super::{Failure, ReadFrom, journal, journal_gaps};
use crate::{io::deadline::Ended, syntax::time::Time};
use anyhow::{anyhow, bail};
use chrono::{TimeDelta, Timelike as _};
use std::time::Instant;

/// The units that run a kubelet, or contain one.
pub(super) const UNITS: [&str; 6] = [
    "kubelet",
    "k3s",
    "k3s-agent",
    "rke2-server",
    "rke2-agent",
    "snap.microk8s.daemon-kubelite",
];
/// Ages of the parts that are read before the rest, newest first. They wait in memory for the rest.
const NEWEST_PARTS: [TimeDelta; 2] = [TimeDelta::minutes(15), TimeDelta::hours(3)];
/// Bytes that may wait; a part that is longer is read with the rest.
const MAX_WAITING: usize = 32 << 20;

/// Reads the unit named, or the first of the known ones that has lines of the kubelet.
///
/// # Errors
/// journalctl fails, or lacks permission. For a journal that was named also: there is no journalctl, or no unit has
/// entries.
pub(super) fn read(journal: &JournalRequest<'_>, ingest: &mut Ingest<'_>) -> Result<(), Failure> {
    let units = match &journal.unit {
        Some(unit) => std::slice::from_ref(unit),
        None => UNITS.as_slice(),
    };
    let (files, mut failures) = journal::expand(journal.from);
    // Without a file journalctl would read this machine's.
    if files.is_empty()
        && let Some(failure) = failures.pop()
    {
        return Err(failure);
    }
    for (path, error) in failures {
        ingest.gap(path, format!("{error:#}"));
    }
    let expanded = JournalRequest {
        from: &files,
        ..*journal
    };
    let before = ingest.kubelet_sources();
    let mut complaints = Vec::new();
    let mut read = false;
    for unit in units {
        let name = journal.name(unit);
        match read_unit(&expanded, unit, &name, ingest, &mut complaints) {
            Ok(None) if journal.is_picked => return Ok(()),
            Ok(None) => {
                let error = match journal.from {
                    [] => anyhow!("there is no journalctl here: name the log with --log"),
                    _ => anyhow!(
                        "there is no journalctl here to read it: elsewhere run journalctl -o short-iso and pass the output with --log"
                    ),
                };
                return Err((name, error));
            }
            Ok(Some(entries)) => read |= entries,
            Err(error) => return Err((name, error)),
        }
        if ingest.kubelet_sources() > before {
            break;
        }
    }
    complaints.dedup();
    if read {
        for (name, complaint) in complaints {
            ingest.gap(name, complaint);
        }
        return Ok(());
    }
    let name = journal
        .unit
        .map_or("the journal".to_owned(), |unit| journal.name(unit));
    if let Some((_, complaint)) = complaints.pop() {
        return Err((name, anyhow!(complaint)));
    }
    if journal.is_picked {
        return Ok(());
    }
    let why = match journal.unit {
        Some(_) => "it has no entries: systemctl list-units shows the units' names".to_owned(),
        None => format!(
            "none of the units {} has entries: name another with --journal=UNIT",
            UNITS.join(", ")
        ),
    };
    Err((name, anyhow!(why)))
}

/// Reads a unit's journal. Returns whether it has entries; `None` where there is no journalctl.
fn read_unit(
    journal: &JournalRequest<'_>,
    unit: &str,
    name: &str,
    ingest: &mut Ingest<'_>,
    complaints: &mut Vec<(String, String)>,
) -> anyhow::Result<Option<bool>> {
    let whole = Query {
        program: journal.program,
        from: journal.from,
        entries: Entries::Unit(unit),
        since: journal.since,
        until: journal.until,
        last: false,
    };
    // The last entry is found at once, wherever it is; a range without entries is searched for.
    let last = Query {
        last: true,
        since: None,
        until: None,
        ..whole
    };
    let Some(answer) = journal::ask(&last, journal.first_deadline, &mut |_| true)? else {
        return Ok(None);
    };
    if let Some(complaint) = answer.complaint {
        complaints.push((name.to_owned(), complaint));
    }
    if answer.ended == Ended::Late {
        bail!("journalctl did not answer in time: name the log's file with --log");
    }
    if !answer.entries {
        return Ok(Some(false));
    }
    let before = ingest.kubelet_sources();
    ingest.start(name, journal.is_picked, ReadFrom::Unnumbered);
    let result = read_parts(journal, &whole, name, ingest);
    ingest.end();
    result?;
    if ingest.kubelet_sources() > before {
        journal_gaps::report(journal, &whole, unit, name, ingest);
    }
    Ok(Some(true))
}

/// The newest parts of a unit's journal, as far as they were read.
struct Newest {
    parts: Vec<Vec<u8>>,
    end: Option<Time>,
    ended: Ended,
    /// Why journalctl failed for one of them; not necessarily for the others, and for the rest.
    failed: Option<anyhow::Error>,
    /// Why it could not read some of journald's files.
    damage: Option<String>,
}

/// Reads the newest parts into memory, then the rest, and then hands on the newest parts: where time runs out, the oldest
/// is missing. An entry of the very microsecond between two parts would be read twice.
///
/// # Errors
/// journalctl failed for some of it; what it still gave was read.
fn read_parts(
    journal: &JournalRequest<'_>,
    whole: &Query<'_>,
    name: &str,
    ingest: &mut Ingest<'_>,
) -> anyhow::Result<()> {
    let mut newest = newest(journal, whole);
    let waiting = newest.parts.iter().map(|part| part.len() as u64).sum();
    let mut room = journal.max_bytes.saturating_sub(waiting);
    let end = newest.end;
    if newest.ended == Ended::Whole {
        let query = Query {
            until: end,
            ..*whole
        };
        let ended = ask(&query, journal.deadline, &mut |block| {
            ingest.block(block);
            room = room.saturating_sub(block.len() as u64);
            room > 0 && ingest.wants_more()
        });
        newest.add(ended);
    }
    for part in newest.parts.iter().rev() {
        ingest.block(part);
    }
    if newest.ended != Ended::Whole {
        ingest.gap(name, describe_missing(journal, newest.ended, end));
    }
    if let Some(message) = &newest.damage {
        ingest.gap(name, journal::describe_damage(message));
    }
    newest.failed.map_or(Ok(()), Err)
}

impl Newest {
    fn add(&mut self, answer: anyhow::Result<Answer>) {
        match answer {
            Ok(answer) => {
                self.ended = answer.ended;
                self.damage = self.damage.take().or(answer.damage);
            }
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
    }
}

fn newest(journal: &JournalRequest<'_>, whole: &Query<'_>) -> Newest {
    let mut newest = Newest {
        parts: Vec::new(),
        end: whole.until,
        ended: Ended::Whole,
        failed: None,
        damage: None,
    };
    for ago in NEWEST_PARTS {
        let begin = (whole.until.unwrap_or(journal.now) - ago).with_nanosecond(0);
        if begin.is_none() || begin <= whole.since {
            break;
        }
        let mut part = Vec::new();
        let mut space = MAX_WAITING - newest.parts.iter().map(Vec::len).sum::<usize>();
        let query = Query {
            since: begin,
            until: newest.end,
            ..*whole
        };
        let ended = ask(&query, journal.deadline, &mut |block| {
            part.extend_from_slice(block);
            space = space.saturating_sub(block.len());
            space > 0
        });
        if ended.as_ref().is_ok_and(|it| it.ended == Ended::Enough) {
            break;
        }
        newest.add(ended);
        newest.parts.push(part);
        if newest.ended == Ended::Late {
            break;
        }
        newest.end = begin;
    }
    newest
}

fn ask(
    query: &Query<'_>,
    deadline: Instant,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> anyhow::Result<Answer> {
    match journal::ask(query, deadline, take)? {
        Some(answer) => Ok(answer),
        None => bail!("journalctl went away"),
    }
}

fn describe_missing(journal: &JournalRequest<'_>, ended: Ended, end: Option<Time>) -> String {
    let before = end.map_or("it".to_owned(), |end| {
        format!(
            "what was logged before {}",
            end.format("%Y-%m-%d %H:%M:%S %:z")
        )
    });
    let why = match ended {
        Ended::Late => format!("time ran out ({:?})", journal.timeout),
        Ended::Enough | Ended::Whole => "it is too large".to_owned(),
    };
    let cure = if journal.is_picked {
        "raise --log-timeout, or name it with --journal"
    } else {
        "limit it with --since and --until"
    };
    format!("{why}: {before} was read in part or not at all; {cure}")
}
