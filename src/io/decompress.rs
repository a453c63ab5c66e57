//! Decompresses logs as a stream: gzip, zstd, xz and bzip2, detected by their first bytes, never by a name. Members,
//! frames and streams that follow each other are one log, of whatever format each is. Memory is limited to a window of
//! at most `MAX_WINDOW`: a terabyte of text costs time only.

mod codec;

use codec::{Codec, Step};
use std::io::Read;
use std::{fmt, io};

/// Memory for windows and dictionaries, of all layers together, in bytes.
pub(crate) const MAX_WINDOW: u64 = 128 << 20;
/// Compressed bytes that are read at a time.
const INPUT: usize = 64 << 10;
/// Bytes that show the format, and the size of its window.
pub(crate) const MAGIC: usize = 18;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Compression {
    /// The format of what begins with `head`, if it is compressed.
    pub(crate) fn detect(head: &[u8]) -> Option<Self> {
        let whole = |magic: &[u8]| head.starts_with(magic);
        match head {
            _ if whole(b"\x1f\x8b") => Some(Self::Gzip),
            _ if whole(b"\x28\xb5\x2f\xfd") || is_skippable(head) => Some(Self::Zstd),
            _ if whole(b"\xfd7zXZ\0") => Some(Self::Xz),
            // A line of text may begin with BZh, too.
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] => [&b"1AY&SY"[..], b"\x17rE8P\x90"]
                .iter()
                .any(|magic| rest.starts_with(magic) || (rest.len() < 6 && magic.starts_with(rest)))
                .then_some(Self::Bzip2),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }

    /// The command that decompresses it to standard output, whatever memory that takes.
    fn command(self) -> &'static str {
        match self {
            Self::Gzip => "gzip -dc",
            Self::Zstd => "zstd -dc --long=31",
            Self::Xz => "xz -dc",
            Self::Bzip2 => "bzip2 -dc",
        }
    }
}

/// Whether it is a frame of zstd's tools without text. lz4 has the same ones.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Why decompression ended early.
#[derive(Debug)]
enum Fault {
    CutShort(Compression),
    Damaged(Compression, String),
    /// It needs more memory (how much, if known) than is allowed.
    Window(Compression, Option<u64>, u64),
    /// Something that is not compressed follows.
    Trailing(Compression),
}

/// A fault in full: where, why, and the cure.
#[derive(Debug)]
struct DecodeError {
    fault: Fault,
    done: u64,
    file: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.done;
        match &self.fault {
            Fault::CutShort(kind) => write!(
                f,
                "it is cut short ({}): only its first {done} bytes, decompressed, are there",
                kind.name()
            ),
            Fault::Damaged(kind, words) => write!(
                f,
                "it is damaged ({}: {words}): only its first {done} bytes, decompressed, could be read",
                kind.name()
            ),
            Fault::Window(kind, size, room) => {
                let room = format!("{} MiB", room >> 20);
                let size = size.map(|size| format!("{} MiB", size.div_ceil(1 << 20)));
                let much = match size {
                    Some(size) => format!("{size} of memory (limit {room})"),
                    None => format!("more than {room} of memory, the limit"),
                };
                write!(
                    f,
                    "decompressing it ({}) takes {much}: {} {} | plegdoctor diagnose --log -",
                    kind.name(),
                    kind.command(),
                    self.file
                )
            }
            Fault::Trailing(kind) => write!(
                f,
                "what follows its first {done} bytes, decompressed, is not compressed ({}) and was not read",
                kind.name()
            ),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Whether `error` explains in full why decompression ended.
pub(crate) fn is_explained(error: &io::Error) -> bool {
    error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<DecodeError>())
        .is_some()
}

/// Reads compressed bytes as text. The text before a fault comes first.
pub(crate) struct Decoder<R> {
    from: R,
    /// Compressed bytes; those from `at` on are to come.
    input: Vec<u8>,
    at: usize,
    ended: bool,
    /// Of the current member, or the last one.
    codec: Option<Codec>,
    kind: Option<Compression>,
    inside: bool,
    /// Memory that is allowed, and in use, in bytes.
    room: u64,
    memory: u64,
    done: u64,
    fault: Option<Fault>,
    file: String,
}

impl<R: Read> Decoder<R> {
    /// Reads `from` with at most `room` bytes of memory for windows; `file` is its name in a command.
    pub(crate) fn new(from: R, room: u64, file: &str) -> Self {
        Self {
            from,
            input: Vec::with_capacity(INPUT),
            at: 0,
            ended: false,
            codec: None,
            kind: None,
            inside: false,
            room,
            memory: 0,
            done: 0,
            fault: None,
            file: file.to_owned(),
        }
    }

    /// Memory of its windows, as far as it is known by now, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }
    fn fill(&mut self, least: usize) -> io::Result<()> {
        while !self.ended && self.input.len() - self.at < least {
            self.input.drain(..self.at);
            self.at = 0;
            let kept = self.input.len();
            self.input.resize(INPUT, 0);
            let read = self.from.read(&mut self.input[kept..]);
            self.input
                .truncate(kept + read.as_ref().map_or(0, |read| *read));
            match read {
                Ok(read) => self.ended = read == 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
    fn begin(&mut self) -> io::Result<bool> {
        self.fill(MAGIC)?;
        // Tapes and some tools pad with zeros, as gzip and xz allow.
        while self.kind.is_some() && self.input[self.at..].first() == Some(&0) {
            self.at += 1;
            self.fill(MAGIC)?;
        }
        let head = &self.input[self.at..];
        if head.is_empty() {
            return Ok(false);
        }
        let Some(kind) = Compression::detect(head) else {
            self.fault = Some(Fault::Trailing(self.kind.unwrap_or(Compression::Gzip)));
            return Ok(false);
        };
        match Codec::begin(kind, head, self.room, self.codec.take()) {
            Ok((codec, memory)) => {
                self.codec = Some(codec);
                self.memory = self.memory.max(memory);
                (self.kind, self.inside) = (Some(kind), true);
                Ok(true)
            }
            Err(fault) => {
                self.fault = Some(fault);
                Ok(false)
            }
        }
    }

    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.fault.is_none() {
            if !self.inside && !self.begin()? {
                break;
            }
            self.fill(1)?;
            let (Some(codec), Some(kind)) = (&mut self.codec, self.kind) else {
                break;
            };
            let Step { read, wrote, end } = codec.step(&self.input[self.at..], out, self.room);
            self.at += read;
            self.memory = self.memory.max(codec.memory());
            match end {
                Ok(end) => self.inside = !end,
                Err(fault) => self.fault = Some(fault),
            }
            if self.inside && read == 0 && wrote == 0 && self.ended && self.at == self.input.len() {
                self.fault.get_or_insert(Fault::CutShort(kind));
            }
            if wrote > 0 {
                return Ok(wrote);
            }
        }
        Ok(0)
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let wrote = self.decode(out)?;
        self.done += wrote as u64;
        match self.fault.take() {
            Some(fault) if wrote == 0 => {
                // The fault is returned once; then it is at its end.
                (self.inside, self.ended) = (false, true);
                self.input.clear();
                self.at = 0;
                Err(io::Error::other(DecodeError {
                    fault,
                    done: self.done,
                    file: self.file.clone(),
                }))
            }
            fault => {
                self.fault = fault;
                Ok(wrote)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
