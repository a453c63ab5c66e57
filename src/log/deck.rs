//! A compressed archive from which members are read in any order: it is unpacked from its beginning for each that lies
//! before the one read last. So logs are read in the order of their times without keeping any.

use super::section::Section;
use crate::io::decompress::{self, Unpack};
use std::{
    fs::File,
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

/// An archive in a compressed file.
pub(super) struct Deck {
    file: File,
    from: u64,
    to: u64,
    reader: Option<Unpack<Section>>,
    at: u64,
    /// How much memory it takes for windows.
    pub(super) need: u64,
}

/// A part of what it unpacks to.
pub(super) struct Part {
    deck: Arc<Mutex<Deck>>,
    at: u64,
    end: u64,
}

impl Deck {
    /// Returns the archive that the file holds compressed between these places.
    pub(super) fn new(file: File, from: u64, to: u64) -> Self {
        Self {
            file,
            from,
            to,
            reader: None,
            at: 0,
            need: 0,
        }
    }

    /// Returns a reader of it from its beginning on.
    pub(super) fn unpack(&self) -> io::Result<Unpack<Section>> {
        let section = Section::new(self.file.try_clone()?, self.from, self.to);
        Ok(Unpack::new(section, decompress::MOST, "FILE"))
    }

    fn read_at(&mut self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut reader = match self.reader.take() {
            Some(reader) if self.at <= at => reader,
            _ => {
                self.at = 0;
                self.unpack()?
            }
        };
        if self.at < at {
            let gap = at - self.at;
            self.at += io::copy(&mut (&mut reader).take(gap), &mut io::sink())?;
            if self.at < at {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let read = reader.read(out)?;
        self.at += read as u64;
        self.reader = Some(reader);
        Ok(read)
    }
}

impl Part {
    pub(super) fn new(deck: &Arc<Mutex<Deck>>, start: u64, end: u64) -> Self {
        Self {
            deck: Arc::clone(deck),
            at: start,
            end,
        }
    }

    /// Returns how much memory the archive takes for windows.
    pub(super) fn need(&self) -> u64 {
        self.deck
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .need
    }
}

impl Read for Part {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let room = out.len().min(left);
        if room == 0 {
            return Ok(0);
        }
        let mut deck = self.deck.lock().unwrap_or_else(PoisonError::into_inner);
        let read = deck.read_at(self.at, &mut out[..room])?;
        self.at += read as u64;
        Ok(read)
    }
}
