//! Picks the kubelet's log where none is named: the first place that holds lines of the kubelet. Of whatever kind
//! it is, it is read from its end, in part, and for a limited time.

use super::{
    DockerLog, Places, Reading, Source, ahead,
    container::{self, Part, There},
    crew::Crew,
    files::{self, Piece},
    intake::{self, Intake},
    looks::Looks,
    names::Family,
    open::Failure,
    spots::Spots,
    stored,
    tail::Limits,
    units::{self, Journal},
};
use crate::io::deadline::{self, Ended};
use crate::{
    io::gap::Gap,
    log::options::{LogOptions, Moments},
    syntax::time::Time,
};
use anyhow::{anyhow, bail};
use chrono::TimeDelta;
use std::{
    num::NonZeroUsize,
    path::Path,
    time::{Duration, Instant},
};

/// How far back a log is read.
const SPAN: TimeDelta = TimeDelta::hours(24);
/// How much of it is read.
const BYTES: u64 = 1 << 30;
/// The container that Rancher's RKE runs the kubelet in.
const CONTAINER: &str = "kubelet";
/// Files and directories where the kubelet's lines may be, below the root; the family is what is read there.
const FILES: [(&str, &str, Family<'_>); 4] = [
    ("var/log/kubelet.log", "var/log", Family::Of("kubelet.log")),
    ("var/log/kubelet/", "var/log/kubelet", Family::Any),
    ("var/log/messages", "var/log", Family::Of("messages")),
    ("var/log/syslog", "var/log", Family::Of("syslog")),
];

/// What the thread that reads files tells.
enum Message {
    Ahead(Option<Time>),
    Total(u64),
    Looks(Looks),
    Start(String, intake::Opening),
    Block(Vec<u8>),
    Looked(Vec<u8>, Spots),
    Read(ahead::Part),
    Skip,
    Gap(String, String),
    Note(String),
    Failed(Vec<Failure>),
}

/// How picking is bounded.
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

/// Returns how far back a log is read.
pub(super) fn oldest(moments: &Moments) -> Time {
    moments.now - SPAN
}

/// Reads the first place that holds lines of the kubelet. What was wrong with those before it is a note then, and
/// a gap if there is none.
pub(super) fn read(
    moments: &Moments,
    docker: DockerLog<'_>,
    places: &Places<'_>,
    args: &LogOptions,
    intake: &mut Intake<'_>,
) {
    let bounds = Bounds {
        started: Instant::now(),
        timeout: args.timeout,
        oldest: oldest(moments),
        threads: args.threads,
    };
    intake.not_before(bounds.oldest);
    let mut failures: Vec<Failure> = Vec::new();
    failures.extend(from_journal(moments, places, &bounds, intake).err());
    if intake.of_kubelet() == 0 && docker.asked {
        let read = from_container(docker, &bounds, intake);
        failures.extend(
            read.err()
                .map(|error| (format!("container {CONTAINER}"), error)),
        );
    }
    for (name, dir, family) in FILES {
        if intake.of_kubelet() == 0 {
            let name = places.root.join(name).display().to_string();
            let dir = places.root.join(dir);
            failures.extend(from_files(moments, &dir, &name, family, &bounds, intake));
        }
    }
    for (name, error) in failures {
        intake.gap(name, format!("{error:#}"));
    }
    settle(moments, &bounds, &mut intake.reading);
}

/// Decides what is missing, now that all places were looked at.
fn settle(moments: &Moments, bounds: &Bounds, reading: &mut Reading) {
    reading.sources.retain(|source| source.lines > 0);
    let (read, silent): (Vec<&Source>, Vec<&Source>) =
        reading.sources.iter().partition(|source| source.of_kubelet);
    if read.is_empty() {
        let silent: Vec<&str> = silent.iter().map(|source| source.name.as_str()).collect();
        let looked = match silent.is_empty() {
            true => String::new(),
            false => format!(
                " (the last 24 h of {} hold no line of it)",
                silent.join(", ")
            ),
        };
        reading.gaps.push(Gap::new(
            "the kubelet's log",
            format!(
                "none was found{looked}: name it with --log, --journal=UNIT or --log-container"
            ),
        ));
        return;
    }
    // What could not be read of places that hold nothing of the kubelet matters as little as they do.
    let (gaps, aside): (Vec<Gap>, Vec<Gap>) = std::mem::take(&mut reading.gaps)
        .into_iter()
        .partition(|gap| read.iter().any(|source| source.name == gap.what));
    reading.gaps = gaps;
    let aside = aside.into_iter().map(|gap| gap.to_string());
    reading.notes.extend(aside);
    if moments.since.is_some_and(|since| since < bounds.oldest) {
        reading.gaps.push(Gap::new("what was logged more than 24 h ago", "no more is read of a log that plegdoctor picks by itself: name it with --log, --journal or --log-container"));
    }
}

fn from_journal(
    moments: &Moments,
    places: &Places<'_>,
    bounds: &Bounds,
    intake: &mut Intake<'_>,
) -> Result<(), Failure> {
    let journal = Journal {
        program: places.journalctl,
        from: &[],
        unit: None,
        picked: true,
        now: moments.now,
        since: moments.since.max(Some(bounds.oldest)),
        asked: moments.since,
        until: moments.until,
        bytes: BYTES,
        timeout: bounds.timeout,
        // If journalctl hangs there must be time for the places after it.
        turn: bounds.started + bounds.timeout / 2,
        deadline: bounds.deadline(),
    };
    units::read(&journal, intake)
}

fn from_container(
    docker: DockerLog<'_>,
    bounds: &Bounds,
    intake: &mut Intake<'_>,
) -> anyhow::Result<()> {
    let there = container::exists(docker, CONTAINER, bounds.left())?;
    let part = Part {
        picked: true,
        since: Some(bounds.oldest),
        bytes: Some(BYTES),
        timeout: bounds.left(),
    };
    let why = match there {
        There::Yes => return container::read(docker, CONTAINER, &part, intake),
        There::No => return Ok(()),
        There::Silent(why) => why,
    };
    let told = why.as_deref().unwrap_or("Docker does not listen");
    match (stored::read(docker, CONTAINER, &part, told, intake)?, why) {
        (false, Some(why)) => bail!("{why}"),
        _ => Ok(()),
    }
}

/// Reads a file and its rotations, or a directory's, in a thread that can be left behind.
fn from_files(
    moments: &Moments,
    dir: &Path,
    name: &str,
    family: Family<'static>,
    bounds: &Bounds,
    intake: &mut Intake<'_>,
) -> Vec<Failure> {
    let hints = intake::hints(moments);
    let (now, left) = (Instant::now(), bounds.left());
    let limits = Limits {
        oldest: bounds.oldest,
        bytes: BYTES,
        turn: now + left.mul_f64(0.5),
        hurry: now + left.mul_f64(0.75),
        deadline: bounds.deadline(),
    };
    let dir = dir.to_owned();
    let crew = Crew {
        threads: bounds.threads,
        wishes: intake.wishes.clone(),
        // What is this far back is mostly old, and time is short.
        aside: None,
    };
    let (mut failures, mut begun) = (Vec::new(), None);
    let ended = deadline::pump(
        bounds.deadline(),
        move |to| {
            let mut emit = |piece: Piece<'_>| to.send(Message::from(piece)).is_ok();
            let read = files::read_tail(&dir, family, hints, &crew, &limits, &mut emit);
            let failures = read.unwrap_or_else(|error| vec![(dir.display().to_string(), error)]);
            drop(to.send(Message::Failed(failures)));
        },
        &mut |message| {
            match message {
                Message::Total(bytes) => intake.gauge.expect(bytes),
                Message::Start(name, from) => {
                    intake.start(&name, true, from);
                    begun = Some(name);
                }
                Message::Ahead(ahead) => intake.expect(ahead),
                Message::Looks(looks) => intake.looks(looks),
                Message::Block(block) => intake.block(&block),
                Message::Looked(block, spots) => intake.looked_at(&block, &spots),
                Message::Read(part) => intake.read(part),
                Message::Skip => intake.skip(),
                Message::Gap(name, why) => intake.gap(name, why),
                Message::Note(note) => intake.reading.notes.push(note),
                Message::Failed(all) => failures = all,
            }
            intake.goes_on()
        },
    );
    intake.end();
    match ended {
        Ok(Ended::Whole | Ended::Enough) => {}
        Ok(Ended::Late) => failures.push((
            begun.unwrap_or_else(|| name.to_owned()),
            anyhow!(
                "time ran out ({:?}) before its end was read: name it with --log, or give it more time with --log-timeout",
                bounds.timeout
            ),
        )),
        Err(error) => failures.push((name.to_owned(), error.into())),
    }
    failures
}

impl From<Piece<'_>> for Message {
    fn from(piece: Piece<'_>) -> Self {
        match piece {
            Piece::Total(bytes) => Self::Total(bytes),
            Piece::Looks(looks) => Self::Looks(looks),
            Piece::Start(name, from) => Self::Start(name.to_owned(), from),
            Piece::Ahead(ahead) => Self::Ahead(ahead),
            Piece::Block(block) => Self::Block(block.to_vec()),
            Piece::Looked(block, spots) => Self::Looked(block.to_vec(), spots.clone()),
            Piece::Read(part) => Self::Read(part),
            Piece::Skip => Self::Skip,
            Piece::Gap(name, why) => Self::Gap(name.to_owned(), why),
            Piece::Note(note) => Self::Note(note),
        }
    }
}
