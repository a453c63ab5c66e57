//! Streams files, pipes and directories, in the order of their first lines' times. A file is read to the size
//! that it had when it was opened. What plegdoctor picked by itself is limited: see `tail`.

use super::{
    UNKNOWN,
    feed::{self, Feed},
    intake::Opening,
    names::Family,
    open::{Failure, Found, Log},
    tail::{self, Limits},
    tape,
};
use crate::{event::Time, parser::Hints};
use std::{
    io::{self, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
    time::Instant,
};

/// How much is read at a time.
pub(super) const BLOCK: usize = 256 << 10;

/// What streaming tells, in order.
pub(super) enum Piece<'a> {
    /// When the earliest of the logs begins that come after the next one; `None`: none comes.
    Ahead(Option<Time>),
    /// A log begins.
    Start(&'a str, Opening),
    /// Its next bytes.
    Block(&'a [u8]),
    /// Its next bytes are from the middle of a later line.
    Skip,
    /// Something of it was not seen.
    Gap(&'a str, String),
    /// Something about it that the reader should know.
    Note(String),
}

/// Takes the pieces; `false` ends the reading.
pub(super) type Emit<'a> = dyn FnMut(Piece<'_>) -> bool + 'a;

/// Streams what `paths` name (`-`: standard input), in whole. Returns what could not be read.
pub(super) fn read(paths: &[PathBuf], hints: Hints, emit: &mut Emit<'_>) -> Vec<Failure> {
    let mut found = Found::default();
    for path in paths {
        found.open(path, hints);
    }
    found.order();
    stream_all(found, hints, None, emit)
}

/// Streams the newest part of a directory's `family`, as far as `limits` allow. Returns what could not be read.
///
/// # Errors
/// The directory is there and cannot be listed.
pub(super) fn read_tail(
    dir: &Path,
    family: Family<'_>,
    hints: Hints,
    limits: &Limits,
    emit: &mut Emit<'_>,
) -> anyhow::Result<Vec<Failure>> {
    let mut found = Found::default();
    if !dir.exists() {
        return Ok(found.failures);
    }
    found.open_family(dir, family, hints)?;
    found.order();
    tail::shorten(&mut found.logs, hints, limits, emit);
    Ok(stream_all(found, hints, Some(limits), emit))
}

fn stream_all(
    mut found: Found,
    hints: Hints,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> Vec<Failure> {
    for note in found.notes {
        emit(Piece::Note(note));
    }
    let mut logs = found.logs.into_iter();
    while let Some(mut log) = logs.next() {
        emit(Piece::Ahead(earliest(logs.as_slice())));
        let streamed = stream_any(&mut log, logs.len() > 0, hints, limits, emit);
        match streamed {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => found.failures.push((log.name, error)),
        }
    }
    found.failures
}

/// Returns when the earliest of these logs begins, or a time before all others if that is not known.
fn earliest(logs: &[Log]) -> Option<Time> {
    let first = |log: &Log| log.first.unwrap_or(UNKNOWN);
    logs.iter().map(first).min()
}

/// Streams one log, whatever it comes out of; `others` come after it. Returns whether to go on.
fn stream_any(
    log: &mut Log,
    others: bool,
    hints: Hints,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> anyhow::Result<bool> {
    if let Some(pipe) = log.tape() {
        return tape::stream(&log.name, pipe, hints, emit);
    }
    let Some(mut reader) = log.reader()? else {
        return stream_plain(log, limits, emit);
    };
    let feed = Feed {
        name: &log.name,
        skip: log.skip,
        limits,
        others,
    };
    Ok(feed::stream(&feed, &mut reader, emit))
}

/// Streams one log that is what is in its file or pipe, and says if that was written anew meanwhile.
fn stream_plain(
    log: &mut Log,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> anyhow::Result<bool> {
    let mut said = false;
    let go_on = stream(log, limits, &mut |piece| {
        said |= matches!(piece, Piece::Gap(..));
        emit(piece)
    })?;
    if go_on && !said && log.is_rewritten() {
        let why = "it was truncated and written anew while it was read: lines of before may be missing; its rotation may hold them";
        return Ok(emit(Piece::Gap(&log.name, why.to_owned())));
    }
    Ok(go_on)
}

/// Streams one log: a regular file within its span, a stream to its end. Returns whether to go on.
fn stream(log: &mut Log, limits: Option<&Limits>, emit: &mut Emit<'_>) -> anyhow::Result<bool> {
    let name = log.name.clone();
    let (head, span, begin) = (std::mem::take(&mut log.head), log.span, log.begin);
    let file = log.file()?;
    // From the middle: one byte earlier, so that a line that starts just there is not taken for a torn one.
    let (from, start) = match span {
        Some((start, _)) if start > begin => (Opening::Middle, start - 1),
        _ => (Opening::Start, begin),
    };
    if span.is_some() {
        file.seek(SeekFrom::Start(start))?;
    }
    if !emit(Piece::Start(&name, from)) || !emit(Piece::Block(&head)) {
        return Ok(false);
    }
    let end = span.map_or(u64::MAX, |(_, end)| end);
    let mut at = start;
    let mut block = vec![0; BLOCK];
    let (began, mut hurried) = (Instant::now(), false);
    while at < end {
        if let Some(skipped) = limits
            .filter(|_| !hurried)
            .and_then(|limits| limits.hurry(began, Instant::now(), at - start, end - at))
        {
            hurried = true;
            at += skipped;
            file.seek(SeekFrom::Start(at))?;
            emit(Piece::Gap(&name, tail::skipped(skipped)));
            emit(Piece::Skip);
        }
        let room = usize::try_from(end - at).map_or(BLOCK, |left| left.min(BLOCK));
        let read = match file.read(&mut block[..room]) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let why = format!("reading it failed after {at} bytes: {error}");
                return Ok(emit(Piece::Gap(&name, why)));
            }
        };
        if read == 0 && span.is_some() {
            let why = format!("it was cut short to {at} bytes while it was read; it had {end}");
            return Ok(emit(Piece::Gap(&name, why)));
        }
        if read == 0 {
            break;
        }
        at += read as u64;
        if !emit(Piece::Block(&block[..read])) {
            return Ok(false);
        }
    }
    Ok(true)
}
