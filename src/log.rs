//! Where the kubelet's log comes from. Opens what the command line names, or the first place with lines of the kubelet,
//! and hands the events of each source on, in order; what could not be read is a gap. Knows nothing of what an event means.

mod archive_entries;
mod container;
mod coverage;
mod dedup;
mod discover;
mod excerpt;
mod file_kind;
mod file_range;
mod files;
mod follow;
mod ingest;
mod journal;
mod journal_gaps;
mod limits;
mod line_index;
mod lines;
mod open;
pub mod options;
mod progress;
mod recorder;
mod replay;
mod rewrap;
mod rotation;
mod sniff;
mod stream;
mod systemd_units;
mod tar_reader;
mod tar_stream;
#[cfg(test)]
mod tests;
mod time_range;
mod workers;

use crate::io::gap::Gap;
use crate::kubelet::event::Event;
use crate::kubelet::parser::Hints;
use crate::kubelet::summary::Source;
use crate::log::options::{LogOptions, Moments};
use crate::syntax::time::Time;
use anyhow::bail;
use chrono::{FixedOffset, NaiveDateTime};
use container::ContainerPart;
use files::Narrowed;
use ingest::Ingest;
use journal::JournalRequest;
use sniff::LineFormat;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};
use time_range::TimeRange;
use workers::ScanPool;

pub use follow::{FollowHooks, follow};
pub use progress::{ScanProgress, ScanStatus};
pub use recorder::{LogRecorder, RecordedLog};
pub use replay::{ReplayedLog, replay, sort_by_time};
pub use rewrap::rewrapped;

/// Takes events, in order. A closure that takes each is one, too.
pub trait Sink {
    fn event(&mut self, event: Event);

    /// Called once all events of the lines read so far were given; returns whether to continue.
    fn batch(&mut self) -> bool {
        true
    }

    /// Whether messages that are context only are wanted all the time, and not only around trouble.
    fn wants_context(&self) -> bool {
        false
    }
}

impl<F: FnMut(Event)> Sink for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}

/// Access to a container's log.
#[derive(Clone, Copy, Debug)]
pub struct DockerLog<'a> {
    /// `unix:///var/run/docker.sock`
    pub endpoint: &'a str,
    /// Time limit of each call.
    pub timeout: Duration,
    /// Whether Docker may be asked; false with `--no-docker`.
    pub asked: bool,
    /// Docker's own files, for when it does not answer; `None` if they must not be read.
    pub files: Option<DockerFiles<'a>>,
}

/// Where Docker's own files may be.
#[derive(Clone, Copy, Debug)]
pub struct DockerFiles<'a> {
    /// The data root that was named.
    pub root: Option<&'a Path>,
    /// The root directory of the machine.
    pub host_root: &'a Path,
    /// Whether Docker's daemon may be looked for among the machine's processes.
    pub look: bool,
}

/// What was read besides events.
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

/// Where the reading of a source begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// At its first line: line numbers mean something.
    Start,
    /// In the middle of some line.
    Middle,
    /// At the first line of a journal or a container, whose lines have no number.
    Unnumbered,
}

impl ReadFrom {
    /// Its word in a capture.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::Unnumbered => "unnumbered",
        }
    }

    /// Parses `word`.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Start, Self::Middle, Self::Unnumbered];
        all.into_iter().find(|from| from.word() == word)
    }
}

/// What could not be read, and why.
type Failure = (String, anyhow::Error);

/// Time limit for a journal or a container's log that was named; a file has none.
const NAMED_TIMEOUT: Duration = Duration::from_secs(60);

/// The beginning of a log that has no time: before all others.
const UNKNOWN_TIME: Time = Time::from_naive_utc_and_offset(NaiveDateTime::MIN, UTC);
const UTC: FixedOffset = match FixedOffset::east_opt(0) {
    Some(zone) => zone,
    None => unreachable!(),
};

/// Where things are; elsewhere in tests.
#[derive(Clone, Copy)]
struct Places<'a> {
    root: &'a Path,
    journalctl: &'a OsStr,
}

/// The year and zone for lines that show none.
fn parser_hints(moments: &Moments) -> Hints {
    Hints {
        now: moments.now,
        utc_offset: moments.utc_offset,
    }
}

/// Reads what `options` name, or the first place with lines of the kubelet, and hands the events to `sink`, source by
/// source: files by the times of their first lines, then the journal, then a container. Events outside `--since` and
/// `--until` are left out; those without a time are not. The bytes read are recorded by `recorder` and counted by
/// `progress`. Ends early if `sink` wants no more.
///
/// # Errors
/// Nothing at all could be read of what was named: in one line, each log with the reason and the cure. What could
/// not be read besides others is a gap.
pub fn read(
    options: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    mut recorder: Option<&mut LogRecorder>,
    progress: &ScanProgress,
    sink: &mut dyn Sink,
) -> anyhow::Result<Reading> {
    let places = Places {
        root: Path::new("/"),
        journalctl: OsStr::new("journalctl"),
    };
    let mut ingest = Ingest::new(moments, sink);
    ingest.recorder = recorder.as_deref_mut();
    ingest.progress = progress.clone();
    progress.start();
    let reading = read_into(&places, options, moments, docker, ingest);
    progress.end();
    let reading = reading?;
    if let Some(recorder) = recorder {
        let counts = |name: &str| reading.sources.iter().any(|source| source.name == name);
        recorder.retain(counts);
    }
    Ok(reading)
}

#[cfg(test)]
fn read_in(
    places: &Places<'_>,
    options: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    mut sink: &mut dyn FnMut(Event),
) -> anyhow::Result<Reading> {
    let ingest = Ingest::new(moments, &mut sink);
    read_into(places, options, moments, docker, ingest)
}

fn read_into(
    places: &Places<'_>,
    options: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    mut ingest: Ingest<'_>,
) -> anyhow::Result<Reading> {
    if options.none {
        return Ok(ingest.reading);
    }
    let named = !options.files.is_empty() || options.names_journal() || options.container.is_some();
    if !named {
        discover::read(moments, docker, places, options, &mut ingest);
        coverage::report_nodes(&mut ingest);
        coverage::report_time_range(moments, &mut ingest);
        return Ok(ingest.reading);
    }
    let failures = read_named(places, options, moments, docker, &mut ingest);
    if ingest.reading.sources.is_empty() && !failures.is_empty() {
        let all: Vec<String> = failures
            .iter()
            .map(|(name, error)| format!("can't read {name}: {error:#}"))
            .collect();
        bail!("{}", all.join("; "));
    }
    for (name, error) in failures {
        ingest.gap(name, format!("{error:#}"));
    }
    coverage::report_all(moments, &mut ingest);
    Ok(ingest.reading)
}

fn read_named(
    places: &Places<'_>,
    options: &LogOptions,
    moments: &Moments,
    docker: DockerLog<'_>,
    ingest: &mut Ingest<'_>,
) -> Vec<Failure> {
    let pool = ScanPool {
        threads: options.threads,
        hints: ingest.scan_hints.clone(),
    };
    let hints = parser_hints(moments);
    let range = TimeRange {
        since: moments.since,
        until: moments.until,
    };
    let mut narrowed = Vec::new();
    let mut failures = files::read(
        &options.files,
        range,
        hints,
        &pool,
        &mut narrowed,
        &mut |piece| piece.ingest(false, ingest),
    );
    // Only files repeat each other: they are rotated.
    ingest.expect(None, LineFormat::default());
    for log in narrowed {
        report_narrowed(log, ingest);
    }
    if options.names_journal() {
        let deadline = Instant::now() + NAMED_TIMEOUT;
        let journal = JournalRequest {
            program: places.journalctl,
            from: &options.journal_from,
            unit: options.journal.as_deref().filter(|unit| !unit.is_empty()),
            is_picked: false,
            now: moments.now,
            since: moments.since,
            asked: moments.since,
            until: moments.until,
            max_bytes: u64::MAX,
            timeout: NAMED_TIMEOUT,
            first_deadline: deadline,
            deadline,
        };
        failures.extend(systemd_units::read(&journal, ingest).err());
        // A journal of this machine is of one node, however often it was renamed.
        if !options.journal_from.is_empty() {
            ingest.count_hosts_as_nodes();
        }
    }
    if let Some(name) = &options.container {
        let part = ContainerPart {
            is_picked: false,
            since: moments.since,
            max_bytes: None,
            timeout: NAMED_TIMEOUT,
        };
        if let Err(error) = container::read(docker, name, &part, ingest) {
            failures.push((format!("container {name}"), error));
        }
    }
    failures
}

/// Notes that only a part of a log was read, and the gap if it was searched in the wrong zone.
fn report_narrowed(log: Narrowed, ingest: &mut Ingest<'_>) {
    let Narrowed { name, size, part } = log;
    // klog names its machine at the beginning only, which was not read.
    if let Some(host) = &part.host {
        ingest.add_host(host);
    }
    ingest.note(format!(
        "{name}: read bytes {} to {} of {size}, which cover the requested time",
        part.bytes.start, part.bytes.end
    ));
    let Some(assumed) = part.assumed_zone else {
        return;
    };
    let mut sources = ingest.reading.sources.iter();
    let zone = sources
        .find(|source| source.name == name)
        .filter(|source| !source.guessed_times)
        .and_then(|source| source.first)
        .map(|first| *first.offset());
    if let Some(zone) = zone.filter(|zone| *zone != assumed) {
        let why = format!(
            "its times are in zone {zone}, but the requested part was searched as {assumed}: pass --utc-offset={zone}"
        );
        ingest.gap(name, why);
    }
}
