//! The pieces of a stream of logs, and logs that come out of a reader: their size is not known before their end.

use super::{ReadFrom, ingest::Ingest, line_index::LineIndex, sniff::LineFormat, workers::BLOCK};
use crate::{io::decompress, syntax::time::Time};
use std::borrow::Cow;
use std::io;
use std::io::Read;
use std::time::Instant;

/// A piece of the stream of logs, in order.
pub(super) enum Piece<'a> {
    /// The bytes of all that follows.
    Total(u64),
    /// A log begins.
    Start {
        name: Cow<'a, str>,
        from: ReadFrom,
        format: LineFormat,
        /// When the earliest of the logs after it begins; `None`: none follows.
        next: Option<Time>,
    },
    /// Its next bytes.
    Block(Cow<'a, [u8]>),
    /// Its next bytes, scanned.
    Scanned(Cow<'a, [u8]>, Cow<'a, LineIndex>),
    /// Its next bytes are from the middle of a later line.
    Skip,
    Gap(Cow<'a, str>, String),
    Note(String),
}

/// Takes pieces; `false` ends the reading.
pub(super) type Emit<'a> = dyn FnMut(Piece<'_>) -> bool + 'a;

impl Piece<'_> {
    /// Hands it to `ingest`; returns whether more is wanted.
    pub(super) fn ingest(self, is_picked: bool, ingest: &mut Ingest<'_>) -> bool {
        match self {
            Piece::Total(bytes) => ingest.progress.expect(bytes),
            Piece::Start {
                name,
                from,
                format,
                next,
            } => {
                ingest.expect(next, format);
                ingest.start(&name, is_picked, from);
            }
            Piece::Block(block) => ingest.block(&block),
            Piece::Scanned(block, index) => ingest.scanned_block(&block, &index),
            Piece::Skip => ingest.skip(),
            Piece::Gap(name, why) => ingest.gap(name, why),
            Piece::Note(note) => ingest.note(note),
        }
        ingest.wants_more()
    }

    pub(super) fn into_owned(self) -> Piece<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Piece::Total(bytes) => Piece::Total(bytes),
            Piece::Start {
                name,
                from,
                format,
                next,
            } => Piece::Start {
                name: owned(name),
                from,
                format,
                next,
            },
            Piece::Block(block) => Piece::Block(Cow::Owned(block.into_owned())),
            Piece::Scanned(block, index) => Piece::Scanned(
                Cow::Owned(block.into_owned()),
                Cow::Owned(index.into_owned()),
            ),
            Piece::Skip => Piece::Skip,
            Piece::Gap(name, why) => Piece::Gap(owned(name), why),
            Piece::Note(note) => Piece::Note(note),
        }
    }
}

pub(super) struct ReaderLog<'a> {
    pub(super) name: &'a str,
    /// Bytes that are left out at its beginning.
    pub(super) skip: u64,
    /// When it gives way to the logs after it.
    pub(super) hurry: Option<Instant>,
    pub(super) format: LineFormat,
    pub(super) next: Option<Time>,
}

impl ReaderLog<'_> {
    /// Streams it to its end, or for as long as there is time. Returns whether to continue.
    pub(super) fn stream(&self, reader: &mut dyn Read, emit: &mut Emit<'_>) -> bool {
        let name = self.name;
        let from = match self.skip {
            0 => ReadFrom::Start,
            _ => ReadFrom::Middle,
        };
        let start = Piece::Start {
            name: name.into(),
            from,
            format: self.format,
            next: self.next,
        };
        if !emit(start) {
            return false;
        }
        // One byte earlier, so that a line that starts just there is not taken for a torn one.
        let mut skip = self.skip.saturating_sub(1);
        let mut block = vec![0; BLOCK];
        let mut done = 0_u64;
        loop {
            if self.hurry.is_some_and(|hurry| Instant::now() >= hurry) {
                let why = format!(
                    "read its first {done} bytes, decompressed, until time ran out: name it with --log, or raise --log-timeout"
                );
                return emit(Piece::Gap(name.into(), why));
            }
            let read = match reader.read(&mut block) {
                Ok(0) => return true,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return emit(Piece::Gap(name.into(), explain(&error, done))),
            };
            done += read as u64;
            let from = usize::try_from(skip).map_or(read, |skip| skip.min(read));
            skip -= from as u64;
            if from < read && !emit(Piece::Block(block[from..read].into())) {
                return false;
            }
        }
    }
}

fn explain(error: &io::Error, done: u64) -> String {
    if decompress::is_explained(error) {
        error.to_string()
    } else {
        format!("reading it failed after {done} bytes of text: {error}")
    }
}
