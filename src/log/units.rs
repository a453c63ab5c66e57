//! Which unit's journal to read, and its newest part first: where time runs out, the oldest is missing.

use super::{
    intake::{Intake, Opening},
    journal::{self, Answer, Query, What},
    lost,
    open::Failure,
};
use crate::io::deadline::Ended;
use crate::syntax::time::Time;
use anyhow::{anyhow, bail};
use chrono::{TimeDelta, Timelike as _};
use std::{
    ffi::OsStr,
    path::PathBuf,
    time::{Duration, Instant},
};

/// The units that run a kubelet, by themselves or within them.
pub(super) const UNITS: [&str; 6] = [
    "kubelet",
    "k3s",
    "k3s-agent",
    "rke2-server",
    "rke2-agent",
    "snap.microk8s.daemon-kubelite",
];
/// How long ago the parts end that are read before the rest, newest first. They wait in memory for the rest.
const PARTS: [TimeDelta; 2] = [TimeDelta::minutes(15), TimeDelta::hours(3)];
/// How much may wait; of a part that is longer nothing does, and it is read with the rest.
const WAITING: usize = 32 << 20;

/// What to read of the journal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Journal<'a> {
    /// journalctl, or what plays it.
    pub(super) program: &'a OsStr,
    /// Where journald's files are; none: where they are on this machine.
    pub(super) from: &'a [PathBuf],
    /// The unit that was named.
    pub(super) unit: Option<&'a str>,
    /// Whether plegdoctor picked it by itself.
    pub(super) picked: bool,
    /// The present.
    pub(super) now: Time,
    /// From when.
    pub(super) since: Option<Time>,
    /// From when on the user asked for it.
    pub(super) asked: Option<Time>,
    /// To when.
    pub(super) until: Option<Time>,
    /// How much at most.
    pub(super) bytes: u64,
    /// For how long.
    pub(super) timeout: Duration,
    /// Until when it may take to tell whether a unit has entries.
    pub(super) turn: Instant,
    /// Until when.
    pub(super) deadline: Instant,
}

impl Journal<'_> {
    /// Returns what a unit's journal is called.
    fn name(&self, unit: &str) -> String {
        let name = format!("journal of {}", journal::whole_name(unit));
        match self.from {
            [] => name,
            [path] => format!("{name} in {}", path.display()),
            [path, more @ ..] => format!("{name} in {} and {} more", path.display(), more.len()),
        }
    }
}

/// Reads the unit named, or the first of the known ones that has lines of the kubelet.
///
/// # Errors
/// journalctl fails, or shows nothing for want of permission. Where nothing was picked by itself also: there is no
/// journalctl, or no unit has entries.
pub(super) fn read(journal: &Journal<'_>, intake: &mut Intake<'_>) -> Result<(), Failure> {
    let known = UNITS;
    let units = match &journal.unit {
        Some(unit) => std::slice::from_ref(unit),
        None => known.as_slice(),
    };
    let (files, mut failures) = journal::spread(journal.from);
    // Without a file journalctl would read this machine's.
    if files.is_empty()
        && let Some(failure) = failures.pop()
    {
        return Err(failure);
    }
    for (path, error) in failures {
        intake.gap(path, format!("{error:#}"));
    }
    let spread = Journal {
        from: &files,
        ..*journal
    };
    let before = intake.of_kubelet();
    let mut complaints = Vec::new();
    let mut read = false;
    for unit in units {
        let name = journal.name(unit);
        match read_unit(&spread, unit, &name, intake, &mut complaints) {
            Ok(None) if journal.picked => return Ok(()),
            Ok(None) => {
                let error = match journal.from {
                    [] => anyhow!("there is no journalctl here: name the log with --log"),
                    _ => anyhow!(
                        "there is no journalctl here, which reads it: where one is, journalctl -o short-iso | plegdoctor diagnose --log -"
                    ),
                };
                return Err((name, error));
            }
            Ok(Some(entries)) => read |= entries,
            Err(error) => return Err((name, error)),
        }
        if intake.of_kubelet() > before {
            break;
        }
    }
    complaints.dedup();
    if read {
        for (name, complaint) in complaints {
            intake.gap(name, complaint);
        }
        return Ok(());
    }
    let name = journal
        .unit
        .map_or("the journal".to_owned(), |unit| journal.name(unit));
    if let Some((_, complaint)) = complaints.pop() {
        return Err((name, anyhow!(complaint)));
    }
    if journal.picked {
        return Ok(());
    }
    let why = match journal.unit {
        Some(_) => "it has no entries: systemctl list-units tells the units' names".to_owned(),
        None => format!(
            "none of the units {} has entries: name another with --journal=UNIT",
            UNITS.join(", ")
        ),
    };
    Err((name, anyhow!(why)))
}

/// Reads one unit's journal. Returns whether it has entries; `None` where there is no journalctl.
fn read_unit(
    journal: &Journal<'_>,
    unit: &str,
    name: &str,
    intake: &mut Intake<'_>,
    complaints: &mut Vec<(String, String)>,
) -> anyhow::Result<Option<bool>> {
    let whole = Query {
        program: journal.program,
        from: journal.from,
        what: What::Unit(unit),
        since: journal.since,
        until: journal.until,
        last: false,
    };
    // The last entry is found at once, wherever it is; a part without entries is searched for.
    let last = Query {
        last: true,
        since: None,
        until: None,
        ..whole
    };
    let Some(answer) = journal::ask(&last, journal.turn, &mut |_| true)? else {
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
    let before = intake.of_kubelet();
    intake.start(name, journal.picked, Opening::Unnumbered);
    let result = read_parts(journal, &whole, name, intake);
    intake.end();
    result?;
    if intake.of_kubelet() > before {
        lost::tell(journal, &whole, unit, name, intake);
    }
    Ok(Some(true))
}

/// The newest parts of a unit's journal, as far as they were read.
struct Newest {
    /// Newest first.
    parts: Vec<Vec<u8>>,
    /// Where the rest ends.
    end: Option<Time>,
    /// Whether there was time for all of them.
    ended: Ended,
    /// Why journalctl failed for one of them. For the others, and for the rest, it may not.
    failed: Option<anyhow::Error>,
    /// What it could not read of journald's files.
    damage: Option<String>,
}

/// Reads the newest parts into memory, the rest straight into the intake, and then hands on the newest parts. Between
/// two parts an entry of that very microsecond would be read twice.
///
/// # Errors
/// journalctl failed for some of it; what it gave all the same was read.
fn read_parts(
    journal: &Journal<'_>,
    whole: &Query<'_>,
    name: &str,
    intake: &mut Intake<'_>,
) -> anyhow::Result<()> {
    let mut newest = newest(journal, whole);
    let waiting = newest.parts.iter().map(|part| part.len() as u64).sum();
    let mut room = journal.bytes.saturating_sub(waiting);
    let end = newest.end;
    if newest.ended == Ended::Whole {
        let query = Query {
            until: end,
            ..*whole
        };
        let ended = ask(&query, journal.deadline, &mut |block| {
            intake.block(block);
            room = room.saturating_sub(block.len() as u64);
            room > 0 && intake.goes_on()
        });
        newest.note(ended);
    }
    for part in newest.parts.iter().rev() {
        intake.block(part);
    }
    if newest.ended != Ended::Whole {
        intake.gap(name, missing(journal, newest.ended, end));
    }
    if let Some(words) = &newest.damage {
        intake.gap(name, journal::damaged(words));
    }
    newest.failed.map_or(Ok(()), Err)
}

impl Newest {
    /// Takes in how it went.
    fn note(&mut self, answer: anyhow::Result<Answer>) {
        match answer {
            Ok(answer) => {
                self.ended = answer.ended;
                self.damage = self.damage.take().or(answer.damage);
            }
            Err(error) => drop(self.failed.get_or_insert(error)),
        }
    }
}

fn newest(journal: &Journal<'_>, whole: &Query<'_>) -> Newest {
    let mut newest = Newest {
        parts: Vec::new(),
        end: whole.until,
        ended: Ended::Whole,
        failed: None,
        damage: None,
    };
    for ago in PARTS {
        let begin = (whole.until.unwrap_or(journal.now) - ago).with_nanosecond(0);
        if begin.is_none() || begin <= whole.since {
            break;
        }
        let mut part = Vec::new();
        let mut space = WAITING - newest.parts.iter().map(Vec::len).sum::<usize>();
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
        newest.note(ended);
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

/// Returns what is missing, and why.
fn missing(journal: &Journal<'_>, ended: Ended, end: Option<Time>) -> String {
    let before = end.map_or("all".to_owned(), |end| {
        format!(
            "what was logged before {}",
            end.format("%Y-%m-%d %H:%M:%S %:z")
        )
    });
    let why = match ended {
        Ended::Late => format!("time ran out ({:?})", journal.timeout),
        Ended::Enough | Ended::Whole => "it is too much".to_owned(),
    };
    let cure = match journal.picked {
        true => "give it more time with --log-timeout, or name it with --journal",
        false => "ask for less with --since and --until",
    };
    format!("{why}: of {before} only a part was read, or nothing; {cure}")
}
