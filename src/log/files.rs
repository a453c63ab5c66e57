//! Streams files, pipes and directories, in the order of their first lines' times. A file is read to the size
//! that it had when it was opened. What plegdoctor picked by itself is limited: see `tail`.

use super::{
    crew::{self, Crew, Ended},
    intake::Opening,
    names::Family,
    open::{Failure, Found, Log},
    spots::Spots,
    tail::{self, Limits},
};
use crate::parser::Hints;
use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Instant,
};

/// How much is read of a stream at a time.
pub(super) const BLOCK: usize = 256 << 10;

/// What streaming tells, in order.
pub(super) enum Piece<'a> {
    /// How many bytes all that follows has.
    Total(u64),
    /// A log begins.
    Start(&'a str, Opening),
    /// Its next bytes.
    Block(&'a [u8]),
    /// Its next bytes, which somebody has looked at.
    Looked(&'a [u8], &'a Spots),
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
pub(super) fn read(
    paths: &[PathBuf],
    hints: Hints,
    crew: &Crew,
    emit: &mut Emit<'_>,
) -> Vec<Failure> {
    let mut found = Found::default();
    for path in paths {
        found.open(path, hints);
    }
    found.order();
    found.fail_compressed();
    stream_all(found, crew, None, emit)
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
    found.order();
    let older_too = tail::shorten(&mut found.logs, hints, limits, emit);
    match (found.logs.first(), found.compressed.last()) {
        (Some(oldest), Some(compressed)) if older_too => {
            let why = format!(
                "what is older is compressed and was not read: zcat {compressed} | plegdoctor diagnose --log -"
            );
            emit(Piece::Gap(&oldest.name, why));
        }
        (None, Some(_)) => found.fail_compressed(),
        _ => {}
    }
    Ok(stream_all(found, crew, Some(limits), emit))
}

fn stream_all(
    mut found: Found,
    crew: &Crew,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> Vec<Failure> {
    // Of a pipe nobody knows.
    if let Some(total) = found.logs.iter().map(Log::length).sum::<Option<u64>>() {
        emit(Piece::Total(total));
    }
    for mut log in found.logs {
        match stream(&mut log, crew, limits, emit) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => found.failures.push((log.name, error)),
        }
    }
    found.failures
}

/// Streams one log: a regular file within its span, a stream to its end. Returns whether to go on.
fn stream(
    log: &mut Log,
    crew: &Crew,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> anyhow::Result<bool> {
    let name = log.name.clone();
    let Some(span) = log.span else {
        let head = std::mem::take(&mut log.head);
        let go_on = emit(Piece::Start(&name, Opening::Start)) && emit(Piece::Block(&head));
        return Ok(go_on && stream_on(&name, log.file()?, head.len() as u64, emit));
    };
    // From the middle: one byte earlier, so that a line that starts just there is not taken for a torn one.
    let (from, start) = match span.0 {
        0 => (Opening::Start, 0),
        start => (Opening::Middle, start - 1),
    };
    let file = log.file()?;
    Ok(emit(Piece::Start(&name, from))
        && stream_span(&name, file, (start, span.1), crew, limits, emit))
}

/// Streams what comes after the first `at` bytes of a pipe.
fn stream_on(name: &str, file: &mut File, mut at: u64, emit: &mut Emit<'_>) -> bool {
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block) {
            Ok(0) => return true,
            Ok(read) => {
                at += read as u64;
                if !emit(Piece::Block(&block[..read])) {
                    return false;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let why = format!("reading it failed after {at} bytes: {error}");
                return emit(Piece::Gap(name, why));
            }
        }
    }
}

/// Streams a part of a file; where time runs out, its end in any case.
fn stream_span(
    name: &str,
    file: &File,
    (start, end): (u64, u64),
    crew: &Crew,
    limits: Option<&Limits>,
    emit: &mut Emit<'_>,
) -> bool {
    let began = Instant::now();
    let late = |at: u64| limits?.hurry(began, Instant::now(), at - start, end - at);
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
