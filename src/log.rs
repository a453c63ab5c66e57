//! Where the kubelet's log comes from. Opens what the command line names, or picks what is there, and hands the
//! events of each source on, in order; what could not be read is a gap. What an event means is not known here.

mod ahead;
mod archive;
mod container;
mod crew;
mod deck;
mod feed;
mod files;
mod follow;
mod gauge;
mod intake;
mod journal;
mod lines;
mod looks;
mod lost;
mod measure;
mod members;
mod names;
mod open;
pub mod options;
mod overlap;
mod pick;
mod reel;
mod replay;
mod rows;
mod sample;
mod section;
mod sink;
mod spots;
mod stored;
mod tail;
mod tape;
#[cfg(test)]
mod tests;
mod units;
mod window;

use crate::{
    io::gap::Gap,
    kubelet::summary::Source,
    log::options::{LogOptions, Moments},
    syntax::time::Time,
};
use anyhow::bail;
use chrono::{FixedOffset, NaiveDateTime, TimeDelta};
use container::Part;
use crew::Crew;
use files::{Narrowed, Piece};
use intake::Intake;
use open::Failure;
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::Path,
    time::{Duration, Instant},
};
use units::Journal;
use window::Window;

pub use follow::{Along, follow};
pub use gauge::{Gauge, Reached};
pub use intake::Opening;
pub use reel::{Reel, Roll};
pub use replay::{Recorded, order, replay};
pub use rows::unbroken;
pub use sink::Sink;

/// How a container's log is reached.
#[derive(Clone, Copy, Debug)]
pub struct DockerLog<'a> {
    /// `unix:///var/run/docker.sock`
    pub endpoint: &'a str,
    /// How long each call may take.
    pub timeout: Duration,
    /// Whether Docker may be asked; false with `--no-docker`.
    pub asked: bool,
    /// Docker's own files, for when it does not answer; `None` if they are not to be read.
    pub files: Option<DockerFiles<'a>>,
}

/// Where Docker's own files may be.
#[derive(Clone, Copy, Debug)]
pub struct DockerFiles<'a> {
    /// The data root that was named.
    pub root: Option<&'a Path>,
    /// The root directory of the machine.
    pub host_root: &'a Path,
    /// Whether the machine's processes may be looked at, for the words of Docker's daemon.
    pub look: bool,
}

/// What reading came to, besides the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The logs read, in the order of their events.
    pub sources: Vec<Source>,
    /// The hosts that their lines name.
    pub hosts: BTreeSet<String>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
    /// What was left out on purpose.
    pub notes: Vec<String>,
}

/// How long a journal or a container's log may take that was asked for; a file may take as long as it needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// When a log begins of which that is not known: before all others.
const UNKNOWN: Time = Time::from_naive_utc_and_offset(NaiveDateTime::MIN, ZONE);
const ZONE: FixedOffset = match FixedOffset::east_opt(0) {
    Some(zone) => zone,
    None => unreachable!(),
};

/// How many nodes are named whose lines are mixed, and how many logs that are not in one order.
const NAMED: usize = 4;

/// Where things are; elsewhere in tests.
#[derive(Clone, Copy)]
struct Places<'a> {
    root: &'a Path,
    journalctl: &'a OsStr,
}

/// Reads what `args` ask for, or the first place that holds lines of the kubelet, and hands the events to `sink`,
/// source by source: files by the times of their first lines, then the journal, then a container. Events outside
/// `--since` and `--until` are left out; those without a time are not. What is read is kept on `reel`, and counted by
/// `gauge`. It ends early where `sink` wants no more.
///
/// # Errors
/// Nothing at all could be read of what was named: in one line, each log with the reason and the cure. What could
/// not be read besides others is a gap.
pub fn read(
    args: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    mut reel: Option<&mut Reel>,
    gauge: &Gauge,
    sink: &mut dyn Sink,
) -> anyhow::Result<Reading> {
    let places = Places {
        root: Path::new("/"),
        journalctl: OsStr::new("journalctl"),
    };
    let mut intake = Intake::new(moments, sink);
    intake.reel = reel.as_deref_mut();
    intake.gauge = gauge.clone();
    gauge.begin();
    let reading = read_into(&places, args, moments, docker, intake);
    gauge.end();
    let reading = reading?;
    if let Some(reel) = reel {
        let counts = |name: &str| reading.sources.iter().any(|source| source.name == name);
        reel.retain(counts);
    }
    Ok(reading)
}

#[cfg(test)]
fn read_in(
    places: &Places<'_>,
    args: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    mut sink: &mut dyn FnMut(crate::kubelet::event::Event),
) -> anyhow::Result<Reading> {
    let intake = Intake::new(moments, &mut sink);
    read_into(places, args, moments, docker, intake)
}

fn read_into(
    places: &Places<'_>,
    args: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    mut intake: Intake<'_>,
) -> anyhow::Result<Reading> {
    let named = !args.files.is_empty() || args.names_journal() || args.container.is_some();
    if args.none {
        return Ok(intake.reading);
    }
    if !named {
        pick::read(moments, docker, places, args, &mut intake);
        judge_nodes(&mut intake);
        judge_window(moments, &mut intake);
        return Ok(intake.reading);
    }
    let failures = read_named(places, args, moments, docker, &mut intake);
    if intake.reading.sources.is_empty() && !failures.is_empty() {
        let all: Vec<String> = failures
            .iter()
            .map(|(name, error)| format!("can't read {name}: {error:#}"))
            .collect();
        bail!("{}", all.join("; "));
    }
    for (name, error) in failures {
        intake.gap(name, format!("{error:#}"));
    }
    judge_empty(moments, &mut intake);
    judge_nodes(&mut intake);
    judge_window(moments, &mut intake);
    note_overlaps(&mut intake);
    Ok(intake.reading)
}

fn read_named(
    places: &Places<'_>,
    args: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    intake: &mut Intake<'_>,
) -> Vec<Failure> {
    let crew = Crew {
        threads: args.threads,
        wishes: intake.wishes.clone(),
        aside: intake.aside(),
    };
    let (journal, container) = (args.names_journal(), args.container.is_some());
    let hints = intake::hints(moments);
    let range = Window {
        since: moments.since,
        until: moments.until,
    };
    let mut narrowed = Vec::new();
    let mut failures = files::read(
        &args.files,
        range,
        hints,
        &crew,
        &mut narrowed,
        &mut |piece| {
            let ahead = |ahead| match journal || container {
                true => Some(UNKNOWN),
                false => ahead,
            };
            match piece {
                Piece::Ahead(files) => {
                    intake.expect(ahead(files));
                    intake.goes_on()
                }
                piece => take(intake, piece),
            }
        },
    );
    intake.expect(container.then_some(UNKNOWN));
    for log in narrowed {
        tell_part(log, intake);
    }
    if args.names_journal() {
        let journal = Journal {
            program: places.journalctl,
            from: &args.journal_from,
            unit: args.journal.as_deref().filter(|unit| !unit.is_empty()),
            picked: false,
            now: moments.now,
            since: moments.since,
            asked: moments.since,
            until: moments.until,
            bytes: u64::MAX,
            timeout: PATIENCE,
            turn: Instant::now() + PATIENCE,
            deadline: Instant::now() + PATIENCE,
        };
        failures.extend(units::read(&journal, intake).err());
        // Those of this machine are of one node, however often it was renamed.
        if !args.journal_from.is_empty() {
            intake.judge_hosts();
        }
    }
    if let Some(name) = &args.container {
        intake.expect(None);
        let part = Part {
            picked: false,
            since: moments.since,
            bytes: None,
            timeout: PATIENCE,
        };
        if let Err(error) = container::read(docker, name, &part, intake) {
            failures.push((format!("container {name}"), error));
        }
    }
    failures
}

/// Says that only a part of a log was read, and what that may have cost.
fn tell_part(log: Narrowed, intake: &mut Intake<'_>) {
    let Narrowed {
        name,
        size,
        section,
    } = log;
    // klog names its machine at the beginning only, which was not read.
    if let Some(host) = &section.host {
        intake.name_host(host);
    }
    intake.reading.notes.push(format!(
        "{name}: of its {size} bytes those from {} to {} were read, which hold what was asked for",
        section.bytes.start, section.bytes.end
    ));
    let (Some(assumed), sources) = (section.assumed, &intake.reading.sources) else {
        return;
    };
    // The zone was not the guess that the part was looked for with.
    let told = sources.iter().find(|source| source.name == name);
    let told = told
        .filter(|source| !source.guessed_times)
        .and_then(|source| source.first);
    if let Some(zone) = told
        .map(|first| *first.offset())
        .filter(|zone| *zone != assumed)
    {
        let why = format!(
            "its lines are of the zone {zone}, and the part that was read was looked for as if they were of {assumed}: give it --utc-offset={zone}"
        );
        intake.gap(name, why);
    }
}

/// Hands a piece of a named file to the intake.
fn take(intake: &mut Intake<'_>, piece: Piece<'_>) -> bool {
    match piece {
        Piece::Ahead(ahead) => intake.expect(ahead),
        Piece::Total(bytes) => intake.gauge.expect(bytes),
        Piece::Looks(looks) => intake.looks(looks),
        Piece::Start(name, from) => intake.start(name, false, from),
        Piece::Block(block) => intake.block(block),
        Piece::Looked(block, spots) => intake.looked_at(block, spots),
        Piece::Read(part) => intake.read(part),
        Piece::Skip => intake.skip(),
        Piece::Gap(name, why) => intake.gap(name, why),
        Piece::Note(note) => intake.reading.notes.push(note),
    }
    intake.goes_on()
}

/// Notes each named log that holds nothing of the kubelet: what it does not say proves nothing.
fn judge_empty(moments: &Moments, intake: &mut Intake<'_>) {
    let sources = &intake.reading.sources;
    let empty = sources.iter().all(|source| source.lines == 0);
    let silent: Vec<String> = sources
        .iter()
        .filter(|source| !source.of_kubelet && (source.lines > 0 || empty))
        .map(|source| source.name.clone())
        .collect();
    let why = match (empty, window(moments)) {
        (true, Some(window)) => format!("it holds no line {window}"),
        (true, None) => "it is empty".to_owned(),
        (false, _) => "it holds no line of the kubelet".to_owned(),
    };
    for name in silent {
        intake.gap(name, why.clone());
    }
}

/// Says which time was asked for, and notes if the kubelet's lines are all from before or after it.
fn judge_window(moments: &Moments, intake: &mut Intake<'_>) {
    let Some(window) = window(moments) else {
        return;
    };
    if !intake.reading.sources.is_empty() {
        let note = format!("only what was logged {window} counts, as asked");
        intake.reading.notes.push(note);
    }
    let own = || intake.reading.sources.iter().filter(|s| s.of_kubelet);
    // A log whose lines tell no time is read in whole.
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
    // Of a log of which only a part is read these are the nearest all the same.
    let before = |last: &Time| moments.since.is_some_and(|since| *last < since);
    let before = spans.iter().map(|(_, last)| *last).filter(before).max();
    let after = |first: &Time| moments.until.is_some_and(|until| *first > until);
    let after = spans.iter().map(|(first, _)| *first).filter(after).min();
    let nearest = match (before, after) {
        (Some(before), Some(after)) => format!(
            "the last before that is of {}, the first after it of {}",
            shown(before),
            shown(after)
        ),
        (Some(before), None) => format!("the last is of {}", shown(before)),
        (None, Some(after)) => format!("the first is of {}", shown(after)),
        (None, None) => return,
    };
    let why = format!("it holds no line of the kubelet {window}: {nearest}");
    intake.gap("the log", why);
}

/// Returns the words for the time that was asked for, if one was.
fn window(moments: &Moments) -> Option<String> {
    match (moments.since, moments.until) {
        (Some(since), Some(until)) => {
            Some(format!("between {} and {}", shown(since), shown(until)))
        }
        (Some(since), None) => Some(format!("after {}", shown(since))),
        (None, Some(until)) => Some(format!("before {}", shown(until))),
        (None, None) => None,
    }
}

fn shown(time: Time) -> String {
    time.format("%Y-%m-%d %H:%M:%S %:z").to_string()
}

/// Notes that the kubelet's lines come from several nodes: they cannot be told apart.
fn judge_nodes(intake: &mut Intake<'_>) {
    // A node's first lines may be logged before it knows its name.
    intake.nodes.remove("localhost");
    let nodes: Vec<&str> = intake.nodes.iter().map(String::as_str).collect();
    if nodes.len() < 2 {
        return;
    }
    let (named, others) = nodes.split_at(nodes.len().min(NAMED));
    let more = match others.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let why = format!(
        "it holds lines of several nodes ({}{more}): what one says of itself is taken for the others'; give one node's lines",
        named.join(", ")
    );
    intake.gap("the log", why);
}

/// Notes logs that go back behind the one before and hold none of its lines: their lines are not in one order.
fn note_overlaps(intake: &mut Intake<'_>) {
    let reading = &mut intake.reading;
    let late = |pair: &&[Source]| {
        let [before, after] = pair else { return false };
        let back = before.last.zip(after.first);
        let back = back.map(|(last, first)| last - first);
        // Lines are a little out of order in a healthy log, too.
        back.is_some_and(|back| back > TimeDelta::minutes(1))
            && !intake.shared.contains(&after.name)
    };
    let pairs: Vec<&[Source]> = reading.sources.windows(2).filter(late).collect();
    for pair in pairs.iter().take(NAMED) {
        let [before, after] = pair else { continue };
        reading.notes.push(format!(
            "{} begins before {} ends: what they say is taken one after the other",
            after.name, before.name
        ));
    }
    let more = pairs.len().saturating_sub(NAMED);
    if more > 0 {
        reading.notes.push(format!(
            "{more} more logs begin before the one before them ends"
        ));
    }
}
