//! Streams files, pipes and directories, in the order of their first lines' times. A file is read to the size
//! that it had when it was opened. What plegdoctor picked by itself is limited: see `tail`.

use super::{
    UNKNOWN,
    ahead::{self, Ahead},
    crew::{self, Crew, Ended},
    feed::{self, Feed},
    intake::Opening,
    looks::Looks,
    names::Family,
    open::{Failure, Found, Log},
    spots::Spots,
    tail::{self, Limits},
    tape,
    window::{self, Part, Section, Window},
};
use crate::{kubelet::parser::Hints, syntax::time::Time};
use anyhow::Context as _;
use std::{
    collections::VecDeque,
    fs::File,
    path::{Path, PathBuf},
    thread,
    time::Instant,
};

/// What streaming tells, in order.
pub(super) enum Piece<'a> {
    /// When the earliest of the logs begins that come after the next one; `None`: none comes.
    Ahead(Option<Time>),
    /// How many bytes all that follows has.
    Total(u64),
    /// What is to be known of the log that begins next.
    Looks(Looks),
    /// A log begins.
    Start(&'a str, Opening),
    /// Its next bytes.
    Block(&'a [u8]),
    /// Its next bytes, which somebody has looked at.
    Looked(&'a [u8], &'a Spots),
    /// What its next bytes say, which somebody has read.
    Read(ahead::Part),
    /// Its next bytes are from the middle of a later line.
    Skip,
    /// Something of it was not seen.
    Gap(&'a str, String),
    /// Something about it that the reader should know.
    Note(String),
}

/// Takes the pieces; `false` ends the reading.
pub(super) type Emit<'a> = dyn FnMut(Piece<'_>) -> bool + 'a;

/// A log of which only a part is read.
pub(super) struct Narrowed {
    /// What it is called.
    pub(super) name: String,
    /// How long it is.
    pub(super) size: u64,
    /// The part.
    pub(super) section: Section,
}

/// Streams what `paths` name (`-`: standard input): of a plain file what the `window` needs, of all others the whole.
/// Tells `narrowed` of which log only a part is read. Returns what could not be read.
pub(super) fn read(
    paths: &[PathBuf],
    window: Window,
    hints: Hints,
    crew: &Crew,
    narrowed: &mut Vec<Narrowed>,
    emit: &mut Emit<'_>,
) -> Vec<Failure> {
    let mut found = Found::default();
    for path in paths {
        found.open(path, hints);
    }
    found.order();
    for log in &mut found.logs {
        match narrow(log, window, hints) {
            Ok(Part::Only(section)) => {
                let size = log.span.map_or(0, |(start, end)| end - start);
                log.span = Some((section.bytes.start, section.bytes.end));
                narrowed.push(Narrowed {
                    name: log.name.clone(),
                    size,
                    section,
                });
            }
            Ok(Part::Whole(None)) => {}
            Ok(Part::Whole(Some(why))) => {
                let name = &log.name;
                found.notes.push(format!(
                    "{name}: all of it was read for the time asked for, since {why}"
                ));
            }
            // Reading it tells what is wrong with it.
            Err(_) => {}
        }
    }
    stream_all(found, hints, crew, None, emit)
}

/// Finds the part of a log that the window needs.
fn narrow(log: &mut Log, window: Window, hints: Hints) -> anyhow::Result<Part> {
    let Some((start, end)) = log.span.filter(|(start, end)| window.narrows(end - start)) else {
        return Ok(Part::Whole(None));
    };
    if log.looks.broken.is_some() {
        return Ok(Part::Whole(Some("its lines are broken".to_owned())));
    }
    let waits = log.is_closed();
    let part = window::find(log.file()?, start..end, window, hints);
    if waits {
        log.close();
    }
    Ok(part?)
}

/// Streams the newest part of a directory's `family`, as far as `limits` allow. Returns what could not be read.
///
/// # Errors
/// The directory is there and cannot be listed.
pub(super) fn read_tail(
    dir: &Path,
    family: Family<'_>,
    hints: Hints,
    crew: &Crew,
    limits: &Limits,
    emit: &mut Emit<'_>,
) -> anyhow::Result<Vec<Failure>> {
    let mut found = Found::default();
    if !dir.exists() {
        return Ok(found.failures);
    }
    found.open_family(dir, family, hints)?;
    // What the node itself wrote came through no terminal.
    let logs = found.logs.iter_mut();
    logs.for_each(|log| log.looks = Looks::default());
    found.order();
    tail::shorten(&mut found.logs, hints, limits, emit);
    Ok(stream_all(found, hints, crew, Some(limits), emit))
}

fn stream_all(
    mut found: Found,
    hints: Hints,
    crew: &Crew,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> Vec<Failure> {
    for note in found.notes {
        emit(Piece::Note(note));
    }
    // Of a pipe nobody knows, nor of what is unpacked.
    if let Some(total) = found.logs.iter().map(Log::length).sum::<Option<u64>>() {
        emit(Piece::Total(total));
    }
    let mut logs = VecDeque::from(found.logs);
    thread::scope(|scope| {
        // Of the first of `logs`, and let go before the threads are waited for: they end once nobody listens.
        let mut begun: VecDeque<Ahead> = VecDeque::new();
        while let Some(mut log) = logs.pop_front() {
            emit(Piece::Ahead(earliest(&logs)));
            emit(Piece::Looks(log.looks));
            let own = begun.pop_front();
            // One thread is this log's own. A plain one has all of them.
            let free = match own.is_some() || log.unpacks_small() {
                true => crew.threads.get() - 1,
                false => 0,
            };
            while begun.len() < free
                && let Some(aside) = &crew.aside
                && let Some(next) = logs.get_mut(begun.len())
                && let Some(ahead) = Ahead::start(scope, next, aside)
            {
                begun.push_back(ahead);
            }
            let means = Means {
                hints,
                crew,
                limits,
                others: !logs.is_empty(),
            };
            let streamed = match own {
                Some(ahead) => Ok(ahead.stream(emit)),
                None => stream_any(&mut log, &means, emit),
            };
            match streamed {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => found.failures.push((log.name, error)),
            }
        }
    });
    found.failures
}

/// Returns when the earliest of these logs begins, or a time before all others if that is not known.
fn earliest(logs: &VecDeque<Log>) -> Option<Time> {
    let first = |log: &Log| log.first.unwrap_or(UNKNOWN);
    logs.iter().map(first).min()
}

/// What it takes to stream a log, besides itself.
struct Means<'a> {
    hints: Hints,
    crew: &'a Crew,
    limits: Option<&'a Limits>,
    /// Whether others come after it.
    others: bool,
}

/// Streams one log, whatever it comes out of. Returns whether to go on.
fn stream_any(log: &mut Log, means: &Means<'_>, emit: &mut Emit<'_>) -> anyhow::Result<bool> {
    if let Some(pipe) = log.tape() {
        return tape::stream(&log.name, pipe, means.hints, emit);
    }
    let mut said = false;
    let mut heard = |piece: Piece<'_>| {
        said |= matches!(piece, Piece::Gap(..));
        emit(piece)
    };
    let go_on = match log.reader()? {
        None => stream(log, means, &mut heard)?,
        Some(mut reader) => {
            let feed = Feed {
                name: &log.name,
                skip: log.skip,
                limits: means.limits,
                others: means.others,
            };
            feed::stream(&feed, &mut reader, &mut heard)
        }
    };
    if go_on && !said && log.is_rewritten() {
        let why = "it was truncated and written anew while it was read: lines of before may be missing; its rotation may hold them";
        return Ok(emit(Piece::Gap(&log.name, why.to_owned())));
    }
    Ok(go_on)
}

/// Streams one plain file within its span. Returns whether to go on.
fn stream(log: &mut Log, means: &Means<'_>, emit: &mut Emit<'_>) -> anyhow::Result<bool> {
    let name = log.name.clone();
    let span = log.span.context("nothing tells how long it is")?;
    // From the middle: one byte earlier, so that a line that starts just there is not taken for a torn one.
    let (from, start) = match span.0 > log.begin {
        true => (Opening::Middle, span.0 - 1),
        false => (Opening::Start, span.0),
    };
    let file = log.file()?;
    Ok(emit(Piece::Start(&name, from)) && stream_span(&name, file, (start, span.1), means, emit))
}

/// Streams a part of a file; where time runs out, its end in any case.
fn stream_span(
    name: &str,
    file: &File,
    (start, end): (u64, u64),
    means: &Means<'_>,
    emit: &mut Emit<'_>,
) -> bool {
    let (began, crew) = (Instant::now(), means.crew);
    let late = |at: u64| {
        means
            .limits?
            .hurry(began, Instant::now(), at - start, end - at)
    };
    let (mut at, mut skip) = (start, late(start));
    let mut ended = Ended::Enough;
    if skip.is_none() {
        ended = crew::read(file, (start, end), crew, &mut |block, spots| {
            at += block.len() as u64;
            let go_on = emit(Piece::Looked(block, spots));
            skip = late(at);
            go_on && skip.is_none()
        });
    }
    if let Some(skipped) = skip {
        let go_on = emit(Piece::Gap(name, tail::skipped(skipped))) && emit(Piece::Skip);
        if !go_on {
            return false;
        }
        ended = crew::read(file, (at + skipped, end), crew, &mut |block, spots| {
            emit(Piece::Looked(block, spots))
        });
    }
    let why = match ended {
        Ended::Whole => return true,
        Ended::Enough => return false,
        Ended::Short(at) => {
            format!("it was cut short to {at} bytes while it was read; it had {end}")
        }
        Ended::Failed(at, error) => format!("reading it failed after {at} bytes: {error}"),
    };
    emit(Piece::Gap(name, why))
}
