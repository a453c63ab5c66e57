//! An archive whose logs are read as they come, in its own order: it comes through a pipe, or is compressed and holds too
//! many to decompress it once for each.

use super::archive_entries::{LogEntry, Seen};
use super::rewrap::Rewrap;
use super::stream::{Emit, Piece, ReaderLog};
use super::tar_reader::{TarReader, TarSource};
use super::{Hints, UNKNOWN_TIME, archive_entries};
use anyhow::bail;
use std::collections::BTreeSet;
use std::io;
use std::io::Read;

pub(super) struct TarStream {
    pub(super) reader: Box<dyn Read + Send>,
    pub(super) memory: u64,
    /// Where its chosen logs begin, if they were listed.
    pub(super) chosen: Option<BTreeSet<u64>>,
}

impl Read for TarStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reader.read(out)
    }
}

impl TarSource for TarStream {
    fn memory(&self) -> u64 {
        self.memory
    }
}

/// Streams the logs of the archive `name`. Returns whether to continue.
///
/// # Errors
/// It holds none.
pub(super) fn stream(
    name: &str,
    mut archive: TarStream,
    hints: Hints,
    emit: &mut Emit<'_>,
) -> anyhow::Result<bool> {
    let chosen = archive.chosen.take();
    let cure = match chosen {
        Some(_) => "unpack it and name the directory with --log",
        None => "name the archive with --log",
    };
    let (mut newest, mut unordered) = (None, false);
    let mut seen = Seen::default();
    let mut each = |log: LogEntry, text: &mut dyn Read| {
        let skipped = |chosen: &BTreeSet<u64>| !chosen.contains(&log.entry.start);
        if chosen.as_ref().is_some_and(skipped) {
            return true;
        }
        unordered |= log.first.is_some() && log.first < newest;
        newest = newest.max(log.first);
        stream_log(name, log, text, emit)
    };
    let ended =
        archive_entries::each_log(&mut TarReader::new(archive), hints, &mut seen, &mut each);
    let (listed, unordered) = (chosen.is_some(), unordered);
    // What is wrong with a listed one was reported already.
    if listed {
        if matches!(ended, Ok(false)) {
            return Ok(false);
        }
    } else {
        match ended {
            Ok(false) => return Ok(false),
            Err(why) if seen.none().is_some() => bail!("{why}"),
            Err(why) => drop(emit(Piece::Gap(name.into(), why))),
            Ok(true) => {
                if let Some(why) = seen.none() {
                    bail!("{why}");
                }
            }
        }
        for why in seen.left_out() {
            emit(Piece::Gap(name.into(), why));
        }
    }
    if unordered {
        let note = format!(
            "{name}: its logs were read in the archive's order, which is not that of their times: {cure}"
        );
        return Ok(emit(Piece::Note(note)));
    }
    Ok(true)
}

fn stream_log(archive: &str, log: LogEntry, text: &mut dyn Read, emit: &mut Emit<'_>) -> bool {
    let name = format!("{archive}:{}", log.entry.path);
    if let Some(why) = log.refused {
        return emit(Piece::Gap(name.into(), why));
    }
    let wrapped = log.format.wrapped;
    let log = ReaderLog {
        name: &name,
        skip: 0,
        hurry: None,
        format: log.format,
        // What comes after it is not known.
        next: Some(UNKNOWN_TIME),
    };
    match wrapped {
        Some(width) => log.stream(&mut Rewrap::new(text, width), emit),
        None => log.stream(text, emit),
    }
}
