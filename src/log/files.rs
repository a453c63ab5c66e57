//! Streams files, pipes and directories, in the order of their first lines' times. A file is read to the size
//! that it had when it was opened. What plegdoctor found itself is limited: see `limits`.

use super::limits::Limits;
use super::open::{Found, Log};
use super::rotation::Family;
use super::sniff::LineFormat;
use super::stream::{Emit, Piece, ReaderLog};
use super::time_range::{Part, RangePart, TimeRange};
use super::workers::{Ended, ScanPool};
use super::{Failure, ReadFrom, UNKNOWN_TIME, limits, tar_stream, time_range};
use crate::{kubelet::parser::Hints, syntax::time::Time};
use anyhow::Context as _;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A log of which only a part is read.
pub(super) struct Narrowed {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) part: RangePart,
}

/// Streams what `paths` name (`-`: standard input): of a plain file what `range` needs, of all others the whole. Adds
/// to `narrowed` each log of which only a part is read. Returns what could not be read.
pub(super) fn read(
    paths: &[PathBuf],
    range: TimeRange,
    hints: Hints,
    pool: &ScanPool,
    narrowed: &mut Vec<Narrowed>,
    emit: &mut Emit<'_>,
) -> Vec<Failure> {
    let mut found = Found::default();
    for path in paths {
        found.open(path, hints);
    }
    found.sort();
    for log in &mut found.logs {
        match narrow(log, range, hints) {
            Ok(Part::Only(part)) => {
                let size = log.span.map_or(0, |(start, end)| end - start);
                log.span = Some((part.bytes.start, part.bytes.end));
                narrowed.push(Narrowed {
                    name: log.name.clone(),
                    size,
                    part,
                });
            }
            Ok(Part::Whole(None)) => {}
            Ok(Part::Whole(Some(why))) => {
                let name = &log.name;
                found.notes.push(format!(
                    "{name}: read in full despite --since/--until: {why}"
                ));
            }
            // The error comes again when it is read.
            Err(_) => {}
        }
    }
    stream_all(found, hints, pool, None, emit)
}

/// Finds the part of a log that `range` needs.
fn narrow(log: &mut Log, range: TimeRange, hints: Hints) -> anyhow::Result<Part> {
    let Some((start, end)) = log.span.filter(|(start, end)| range.narrows(end - start)) else {
        return Ok(Part::Whole(None));
    };
    if log.format.wrapped.is_some() {
        return Ok(Part::Whole(Some("its lines are wrapped".to_owned())));
    }
    let was_closed = log.is_closed();
    let part = time_range::find(log.file()?.as_ref(), start..end, range, hints);
    if was_closed {
        log.close();
    }
    Ok(part?)
}

/// Streams the newest part of a directory's `family`, as far as `limits` allow. Returns what could not be read.
///
/// # Errors
/// The directory is there and cannot be listed.
pub(super) fn read_newest(
    dir: &Path,
    family: Family<'_>,
    hints: Hints,
    pool: &ScanPool,
    limits: &Limits,
    emit: &mut Emit<'_>,
) -> anyhow::Result<Vec<Failure>> {
    let mut found = Found::default();
    if !dir.exists() {
        return Ok(found.failures);
    }
    found.open_family(dir, family, hints)?;
    // What the node itself wrote came through no terminal.
    for log in &mut found.logs {
        log.format = LineFormat::default();
    }
    found.sort();
    limits::shorten(&mut found, hints, limits);
    Ok(stream_all(found, hints, pool, Some(limits), emit))
}

fn stream_all(
    mut found: Found,
    hints: Hints,
    pool: &ScanPool,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> Vec<Failure> {
    for note in found.notes {
        emit(Piece::Note(note));
    }
    // The size of a pipe or of decompressed text is not known.
    if let Some(total) = found.logs.iter().map(Log::length).sum::<Option<u64>>() {
        emit(Piece::Total(total));
    }
    let mut logs = VecDeque::from(found.logs);
    while let Some(mut log) = logs.pop_front() {
        let first = |log: &Log| log.first.unwrap_or(UNKNOWN_TIME);
        let context = StreamContext {
            hints,
            pool,
            limits,
            next: logs.iter().map(first).min(),
        };
        match context.stream(&mut log, emit) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => found.failures.push((log.name, error)),
        }
    }
    found.failures
}

struct StreamContext<'a> {
    hints: Hints,
    pool: &'a ScanPool,
    limits: Option<&'a Limits>,
    /// When the earliest of the logs after this one begins; `None`: none follows.
    next: Option<Time>,
}

impl StreamContext<'_> {
    /// Streams one log, whatever it comes out of. Returns whether to continue.
    fn stream(&self, log: &mut Log, emit: &mut Emit<'_>) -> anyhow::Result<bool> {
        if let Some(archive) = log.archive() {
            return tar_stream::stream(&log.name, archive, self.hints, emit);
        }
        let mut has_gap = false;
        let mut watched = |piece: Piece<'_>| {
            has_gap |= matches!(piece, Piece::Gap(..));
            emit(piece)
        };
        let go_on = match log.reader()? {
            None => self.stream_plain(log, &mut watched)?,
            Some(mut reader) => {
                let hurry = self.limits.filter(|_| self.next.is_some());
                let log = ReaderLog {
                    name: &log.name,
                    skip: log.skip,
                    hurry: hurry.map(|limits| limits.hurry),
                    format: log.format,
                    next: self.next,
                };
                log.stream(&mut reader, &mut watched)
            }
        };
        if go_on && !has_gap && log.is_rewritten() {
            let why = "it was truncated and rewritten while it was read: earlier lines may be missing; its rotation may hold them";
            return Ok(emit(Piece::Gap((&log.name).into(), why.to_owned())));
        }
        Ok(go_on)
    }
    fn stream_plain(&self, log: &mut Log, emit: &mut Emit<'_>) -> anyhow::Result<bool> {
        let name = log.name.clone();
        let span = log.span.context("its size is unknown")?;
        // From the middle: one byte earlier, so that a line that starts just there is not taken for a torn one.
        let (from, start) = if span.0 > log.begin {
            (ReadFrom::Middle, span.0 - 1)
        } else {
            (ReadFrom::Start, span.0)
        };
        let format = log.format;
        let file = log.file()?;
        let begun = emit(Piece::Start {
            name: (&name).into(),
            from,
            format,
            next: self.next,
        });
        Ok(begun && self.stream_span(&name, file, (start, span.1), emit))
    }

    /// Streams a part of a file; where time runs out, its end in any case.
    fn stream_span(
        &self,
        name: &str,
        file: &File,
        (start, end): (u64, u64),
        emit: &mut Emit<'_>,
    ) -> bool {
        let began = Instant::now();
        let late = |at: u64| {
            self.limits?
                .bytes_to_skip(began, Instant::now(), at - start, end - at)
        };
        let (mut at, mut skip) = (start, late(start));
        let mut ended = Ended::Stopped;
        if skip.is_none() {
            ended = self.pool.read(file, (start, end), &mut |block, index| {
                at += block.len() as u64;
                let go_on = emit(Piece::Scanned(block.into(), Cow::Borrowed(index)));
                skip = late(at);
                go_on && skip.is_none()
            });
        }
        if let Some(skipped) = skip {
            let why = format!(
                "{skipped} bytes before its end were skipped, since time ran out: name it with --log, or raise --log-timeout"
            );
            if !emit(Piece::Gap(name.into(), why)) || !emit(Piece::Skip) {
                return false;
            }
            let rest = (at + skipped, end);
            ended = self.pool.read(file, rest, &mut |block, index| {
                emit(Piece::Scanned(block.into(), Cow::Borrowed(index)))
            });
        }
        let why = match ended {
            Ended::Complete => return true,
            Ended::Stopped => return false,
            Ended::Truncated(at) => {
                format!("it was truncated to {at} bytes while it was read; it had {end}")
            }
            Ended::Failed(at, error) => format!("reading it failed after {at} bytes: {error}"),
        };
        emit(Piece::Gap(name.into(), why))
    }
}
