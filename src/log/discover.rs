//! Finds the kubelet's log where none is named: the first place with lines of the kubelet. Of whatever kind it is, it is
//! read from its end, in part, and for a limited time.

use super::container::{ContainerPart, Exists};
use super::ingest::Ingest;
use super::journal::JournalRequest;
use super::limits::Limits;
use super::rotation::Family;
use super::stream::Piece;
use super::workers::ScanPool;
use super::{
    DockerLog, Failure, Places, Reading, Source, container, files, parser_hints, systemd_units,
};
use crate::io::deadline;
use crate::io::deadline::Ended;
use crate::io::gap::Gap;
use crate::log::options::{LogOptions, Moments};
use crate::syntax::time::Time;
use anyhow::{anyhow, bail};
use chrono::TimeDelta;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

const MAX_AGE: TimeDelta = TimeDelta::hours(24);
const MAX_BYTES: u64 = 1 << 30;
/// The container that Rancher's RKE runs the kubelet in.
const CONTAINER: &str = "kubelet";
/// Files and directories that may hold the kubelet's lines, below the root, and the family that is read there.
const FILES: [(&str, &str, Family<'_>); 4] = [
    ("var/log/kubelet.log", "var/log", Family::Of("kubelet.log")),
    ("var/log/kubelet/", "var/log/kubelet", Family::Any),
    ("var/log/messages", "var/log", Family::Of("messages")),
    ("var/log/syslog", "var/log", Family::Of("syslog")),
];

/// What the thread that reads files sends.
enum Message {
    Piece(Piece<'static>),
    Failed(Vec<Failure>),
}

struct Bounds {
    started: Instant,
    timeout: Duration,
    oldest: Time,
    threads: NonZeroUsize,
}

impl Bounds {
    fn deadline(&self) -> Instant {
        self.started + self.timeout
    }

    fn left(&self) -> Duration {
        self.deadline().saturating_duration_since(Instant::now())
    }
}

/// How far back a log is read.
pub(super) fn oldest(moments: &Moments) -> Time {
    moments.now - MAX_AGE
}

/// Reads the first place with lines of the kubelet. Failures at the places before it are notes then, and gaps if there
/// is none.
pub(super) fn read(
    moments: &Moments,
    docker: DockerLog<'_>,
    places: &Places<'_>,
    options: &LogOptions,
    ingest: &mut Ingest<'_>,
) {
    let bounds = Bounds {
        started: Instant::now(),
        timeout: options.timeout,
        oldest: oldest(moments),
        threads: options.threads,
    };
    ingest.not_before(bounds.oldest);
    let mut failures: Vec<Failure> = Vec::new();
    failures.extend(read_journal(moments, places, &bounds, ingest).err());
    if ingest.kubelet_sources() == 0
        && docker.asked
        && let Err(error) = read_container(docker, &bounds, ingest)
    {
        failures.push((format!("container {CONTAINER}"), error));
    }
    for (name, dir, family) in FILES {
        if ingest.kubelet_sources() == 0 {
            let name = places.root.join(name).display().to_string();
            let dir = places.root.join(dir);
            failures.extend(read_files(moments, &dir, &name, family, &bounds, ingest));
        }
    }
    for (name, error) in failures {
        ingest.gap(name, format!("{error:#}"));
    }
    sort_gaps(moments, &bounds, &mut ingest.reading);
}

/// Decides which gaps matter, now that all places were looked at.
fn sort_gaps(moments: &Moments, bounds: &Bounds, reading: &mut Reading) {
    reading.sources.retain(|source| source.lines > 0);
    let (read, silent): (Vec<&Source>, Vec<&Source>) =
        reading.sources.iter().partition(|source| source.of_kubelet);
    if read.is_empty() {
        let silent: Vec<&str> = silent.iter().map(|source| source.name.as_str()).collect();
        let searched = if silent.is_empty() {
            String::new()
        } else {
            format!(
                " (the last 24 h of {} have no line of the kubelet)",
                silent.join(", ")
            )
        };
        reading.gaps.push(Gap::new(
            "the kubelet's log",
            format!(
                "none was found{searched}: name it with --log, --journal=UNIT or --log-container"
            ),
        ));
        return;
    }
    // Gaps at places without lines of the kubelet matter as little as these places.
    let (gaps, notes): (Vec<Gap>, Vec<Gap>) = std::mem::take(&mut reading.gaps)
        .into_iter()
        .partition(|gap| read.iter().any(|source| source.name == gap.what));
    reading.gaps = gaps;
    let notes = notes.into_iter().map(|gap| gap.to_string());
    reading.notes.extend(notes);
    if moments.since.is_some_and(|since| since < bounds.oldest) {
        reading.gaps.push(Gap::new(
            "what was logged more than 24 h ago",
            "a log that was not named is read no further back: name it with --log, --journal or --log-container",
        ));
    }
}

fn read_journal(
    moments: &Moments,
    places: &Places<'_>,
    bounds: &Bounds,
    ingest: &mut Ingest<'_>,
) -> Result<(), Failure> {
    let journal = JournalRequest {
        program: places.journalctl,
        from: &[],
        unit: None,
        is_picked: true,
        now: moments.now,
        since: moments.since.max(Some(bounds.oldest)),
        asked: moments.since,
        until: moments.until,
        max_bytes: MAX_BYTES,
        timeout: bounds.timeout,
        // If journalctl hangs there must be time for the places after it.
        first_deadline: bounds.started + bounds.timeout / 2,
        deadline: bounds.deadline(),
    };
    systemd_units::read(&journal, ingest)
}

fn read_container(
    docker: DockerLog<'_>,
    bounds: &Bounds,
    ingest: &mut Ingest<'_>,
) -> anyhow::Result<()> {
    let exists = container::exists(docker, CONTAINER, bounds.left())?;
    let part = ContainerPart {
        is_picked: true,
        since: Some(bounds.oldest),
        max_bytes: Some(MAX_BYTES),
        timeout: bounds.left(),
    };
    let why = match exists {
        Exists::Yes => return container::read(docker, CONTAINER, &part, ingest),
        Exists::No => return Ok(()),
        Exists::Unknown(why) => why,
    };
    let cause = why.as_deref().unwrap_or("Docker does not listen");
    match (
        container::read_file(docker, CONTAINER, &part, cause, ingest)?,
        why,
    ) {
        (false, Some(why)) => bail!("{why}"),
        _ => Ok(()),
    }
}

/// Reads a file and its rotations, or a directory's, in a thread that can be left behind.
fn read_files(
    moments: &Moments,
    dir: &Path,
    name: &str,
    family: Family<'static>,
    bounds: &Bounds,
    ingest: &mut Ingest<'_>,
) -> Vec<Failure> {
    let hints = parser_hints(moments);
    let (now, left) = (Instant::now(), bounds.left());
    let limits = Limits {
        oldest: bounds.oldest,
        max_bytes: MAX_BYTES,
        search_until: now + left.mul_f64(0.5),
        hurry: now + left.mul_f64(0.75),
        deadline: bounds.deadline(),
    };
    let dir = dir.to_owned();
    let pool = ScanPool {
        threads: bounds.threads,
        hints: ingest.scan_hints.clone(),
    };
    let (mut failures, mut begun) = (Vec::new(), None);
    let ended = deadline::read_until_deadline(
        bounds.deadline(),
        move |to| {
            let mut emit = |piece: Piece<'_>| to.send(Message::Piece(piece.into_owned())).is_ok();
            let read = files::read_newest(&dir, family, hints, &pool, &limits, &mut emit);
            let failures = read.unwrap_or_else(|error| vec![(dir.display().to_string(), error)]);
            drop(to.send(Message::Failed(failures)));
        },
        &mut |message| match message {
            Message::Piece(piece) => {
                if let Piece::Start { name, .. } = &piece {
                    begun = Some(name.to_string());
                }
                piece.ingest(true, ingest)
            }
            Message::Failed(all) => {
                failures = all;
                ingest.wants_more()
            }
        },
    );
    ingest.end();
    match ended {
        Ok(Ended::Whole | Ended::Enough) => {}
        Ok(Ended::Late) => failures.push((
            begun.unwrap_or_else(|| name.to_owned()),
            anyhow!(
                "time ran out ({:?}) before its end was read: name it with --log, or raise --log-timeout",
                bounds.timeout
            ),
        )),
        Err(error) => failures.push((name.to_owned(), error.into())),
    }
    failures
}
