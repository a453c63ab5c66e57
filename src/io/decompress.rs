//! Logs that are compressed, as a stream of their text: gzip, zstd, xz and bzip2, told by their first bytes, never by
//! a name. Members, frames and streams that follow each other are one log, of whatever kind each is. Nothing is kept
//! but a window of at most `MOST`: what unpacks to a terabyte costs time, and no memory.

mod codec;

use codec::{Codec, Step};
use std::{
    fmt,
    io::{self, Read},
};

/// Most memory for windows and dictionaries, of all layers together.
pub(crate) const MOST: u64 = 128 << 20;
/// How much of the compressed bytes is read at a time.
const INPUT: usize = 64 << 10;
/// How many bytes tell what begins, and how large a window it wants.
pub(crate) const MAGIC: usize = 18;

/// How a log is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Gzip,
    Zstd,
    Xz,
    Bzip2,
}

impl Kind {
    /// Returns what the bytes begin, if it is compressed.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
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

    /// Returns whether unpacking it takes no more than some MiB, whatever it holds: 32 KiB of window, or 4 MiB of bzip2's
    /// blocks.
    pub(crate) fn is_small(self) -> bool {
        matches!(self, Self::Gzip | Self::Bzip2)
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }

    /// Returns the command that unpacks it to standard output, whatever memory that takes.
    fn cure(self) -> &'static str {
        match self {
            Self::Gzip => "gzip -dc",
            Self::Zstd => "zstd -dc --long=31",
            Self::Xz => "xz -dc",
            Self::Bzip2 => "bzip2 -dc",
        }
    }
}

/// Whether it is a frame that zstd's tools put around others, which holds no text. lz4 has the same ones.
fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Why unpacking ended before the end.
#[derive(Debug)]
enum Trouble {
    /// What is compressed ends in the middle.
    Cut(Kind),
    /// It is not what it says it is.
    Damaged(Kind, String),
    /// It wants more memory, how much if that is known, than is allowed.
    Window(Kind, Option<u64>, u64),
    /// After its end comes something else.
    Tail(Kind),
}

/// Trouble, in whole words: where, why, and what may help.
#[derive(Debug)]
struct Why {
    trouble: Trouble,
    /// Bytes unpacked before.
    done: u64,
    /// What to call it in a command.
    given: String,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.done;
        match &self.trouble {
            Trouble::Cut(kind) => write!(
                f,
                "it is cut short ({}): what comes after its first {done} bytes, unpacked, is missing",
                kind.name()
            ),
            Trouble::Damaged(kind, words) => write!(
                f,
                "it is damaged ({}: {words}): what comes after its first {done} bytes, unpacked, could not be read",
                kind.name()
            ),
            Trouble::Window(kind, size, room) => {
                let room = format!("{} MiB", room >> 20);
                let size = size.map(|size| format!("{} MiB", size.div_ceil(1 << 20)));
                let much = match size {
                    Some(size) => format!("{size} of memory, and {room} is the most that is used"),
                    None => format!("more than {room} of memory, the most that is used"),
                };
                write!(
                    f,
                    "to unpack it ({}) takes {much}: {} {} | plegdoctor diagnose --log -",
                    kind.name(),
                    kind.cure(),
                    self.given
                )
            }
            Trouble::Tail(kind) => write!(
                f,
                "after its first {done} bytes, unpacked, follows what is not compressed ({}), and was not read",
                kind.name()
            ),
        }
    }
}

impl std::error::Error for Why {}

/// Returns whether `error` says what became of unpacking, in whole words.
pub(crate) fn is_told(error: &io::Error) -> bool {
    error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Why>())
        .is_some()
}

/// Reads what is compressed as what it holds. What could be unpacked before trouble comes out first.
pub(crate) struct Unpack<R> {
    from: R,
    /// Compressed bytes, of which those from `at` on are to come.
    input: Vec<u8>,
    at: usize,
    /// Whether `from` came to its end.
    ended: bool,
    /// What unpacks the member that has begun.
    codec: Option<Codec>,
    /// How the last member was compressed, and whether it goes on.
    kind: Option<Kind>,
    inside: bool,
    /// How much memory is allowed, and how much is in use.
    room: u64,
    need: u64,
    done: u64,
    trouble: Option<Trouble>,
    given: String,
}

impl<R: Read> Unpack<R> {
    /// Returns a reader of what `from` holds compressed, that takes at most `room` bytes of memory for windows; `given`
    /// is what to call it in a command.
    pub(crate) fn new(from: R, room: u64, given: &str) -> Self {
        Self {
            from,
            input: Vec::with_capacity(INPUT),
            at: 0,
            ended: false,
            codec: None,
            kind: None,
            inside: false,
            room,
            need: 0,
            done: 0,
            trouble: None,
            given: given.to_owned(),
        }
    }

    /// Returns how much memory its windows take, as far as it is known by now.
    pub(crate) fn need(&self) -> u64 {
        self.need
    }

    /// Has at least `least` bytes of input ready, unless the end comes first.
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

    /// Begins the next member. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        self.fill(MAGIC)?;
        // Tapes and some tools fill up with zeros, as gzip and xz allow.
        while self.kind.is_some() && self.input[self.at..].first() == Some(&0) {
            self.at += 1;
            self.fill(MAGIC)?;
        }
        let head = &self.input[self.at..];
        if head.is_empty() {
            return Ok(false);
        }
        let Some(kind) = Kind::of(head) else {
            self.trouble = Some(Trouble::Tail(self.kind.unwrap_or(Kind::Gzip)));
            return Ok(false);
        };
        match Codec::begin(kind, head, self.room, self.codec.take()) {
            Ok((codec, need)) => {
                self.codec = Some(codec);
                self.need = self.need.max(need);
                (self.kind, self.inside) = (Some(kind), true);
                Ok(true)
            }
            Err(trouble) => {
                self.trouble = Some(trouble);
                Ok(false)
            }
        }
    }

    fn unpack(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.trouble.is_none() {
            if !self.inside && !self.begin()? {
                break;
            }
            self.fill(1)?;
            let (Some(codec), Some(kind)) = (&mut self.codec, self.kind) else {
                break;
            };
            let Step { read, wrote, end } = codec.step(&self.input[self.at..], out, self.room);
            self.at += read;
            self.need = self.need.max(codec.need());
            match end {
                Ok(end) => self.inside = !end,
                Err(trouble) => self.trouble = Some(trouble),
            }
            if self.inside && read == 0 && wrote == 0 && self.ended && self.at == self.input.len() {
                self.trouble.get_or_insert(Trouble::Cut(kind));
            }
            if wrote > 0 {
                return Ok(wrote);
            }
        }
        Ok(0)
    }
}

impl<R: Read> Read for Unpack<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        let wrote = self.unpack(out)?;
        self.done += wrote as u64;
        match self.trouble.take() {
            Some(trouble) if wrote == 0 => {
                // Once is enough: then it is at its end.
                (self.inside, self.ended) = (false, true);
                self.input.clear();
                self.at = 0;
                Err(io::Error::other(Why {
                    trouble,
                    done: self.done,
                    given: self.given.clone(),
                }))
            }
            trouble => {
                self.trouble = trouble;
                Ok(wrote)
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
