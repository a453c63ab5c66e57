//! Walks a tar archive from its beginning to its end, once, and gives its regular files. Nothing is written to a disk,
//! and no name in it is ever opened: links, devices and names that lead elsewhere lead nowhere. An archive may be
//! hostile: no name, and no list of attributes, takes more memory than a small bound.

use super::section::{Ahead, Section};
use crate::io::decompress::Unpack;
use std::io::{self, Read};
use tar::{EntryType, Header, PaxExtensions};

/// The unit that an archive is made of.
const BLOCK: usize = 512;
/// Longest name that is kept of a member, in bytes.
const NAME: u64 = 4096;
/// Longest list of a member's attributes that is read.
const ATTRIBUTES: u64 = 64 << 10;
/// Longest name that is shown, in characters.
const SHOWN: usize = 240;

/// What an archive comes from, forward only.
pub(super) trait Forward: Read {
    /// Leaves out bytes; returns how many, fewer only at the end.
    fn skip(&mut self, bytes: u64) -> io::Result<u64>
    where
        Self: Sized,
    {
        io::copy(&mut self.by_ref().take(bytes), &mut io::sink())
    }

    /// Returns how much memory it takes for windows.
    fn need(&self) -> u64 {
        0
    }
}

impl Forward for Section {
    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        Ok(self.pass(bytes))
    }
}

impl<R: Read> Forward for Unpack<R> {
    fn need(&self) -> u64 {
        Self::need(self)
    }
}

impl<R: Read> Forward for Ahead<R> {}

/// An archive within another.
pub(super) struct Inner<'a> {
    text: Ahead<Box<dyn Forward + 'a>>,
    need: u64,
}

impl<'a> Inner<'a> {
    /// Returns what `text` gives, of which `head` was read already, with the memory that what is around it takes.
    pub(super) fn new(
        head: Vec<u8>,
        trouble: Option<io::Error>,
        text: Box<dyn Forward + 'a>,
        around: u64,
    ) -> Self {
        let need = around + text.need();
        let text = Ahead::new(head, trouble, text);
        Self { text, need }
    }
}

impl Read for Inner<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.text.read(out)
    }
}

impl Forward for Inner<'_> {
    fn need(&self) -> u64 {
        self.need
    }
}

/// A regular file in an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Its path in the archive, made harmless.
    pub(super) path: String,
    /// Where in the archive its bytes begin.
    pub(super) start: u64,
    /// How many there are.
    pub(super) size: u64,
    /// Whether holes were left out of its bytes, so that they are not its text.
    pub(super) sparse: bool,
}

/// The walk.
pub(super) struct Walker<R> {
    from: R,
    /// How far it came.
    at: u64,
    /// How much of the last member is left, how much fills it up, and what it was called.
    left: u64,
    pad: u64,
    inside: String,
    /// Why `from` gave no more.
    trouble: Option<io::Error>,
}

/// Returns whether the bytes begin an archive: their sum is in their midst.
pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK)
        .is_some_and(|block| block[0] != 0 && is_whole(block))
}

fn is_whole(block: &[u8]) -> bool {
    // The sum's own eight bytes count as blanks.
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| match at {
            148..156 => 32,
            _ => u32::from(*byte),
        })
        .sum();
    Header::from_byte_slice(block)
        .cksum()
        .is_ok_and(|told| told == sum)
}

/// Returns whether nothing but a header stands for such a member, whatever size that tells: some programs tell that of
/// a link's target, or of the folder itself.
fn is_bare(kind: EntryType) -> bool {
    kind.is_hard_link()
        || kind.is_symlink()
        || kind.is_dir()
        || kind.is_character_special()
        || kind.is_block_special()
        || kind.is_fifo()
}

impl<R: Forward> Walker<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            at: 0,
            left: 0,
            pad: 0,
            inside: String::new(),
            trouble: None,
        }
    }

    /// Returns how many of the archive's bytes were seen.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns how much memory the archive takes for windows.
    pub(super) fn need(&self) -> u64 {
        self.from.need()
    }

    /// Goes on to the next regular file, whose bytes can be read then; `None` at the end.
    ///
    /// # Errors
    /// The archive ends before its end, or makes no sense; in words.
    pub(super) fn next(&mut self) -> Result<Option<Member>, String> {
        let (mut long, mut attributes) = (None, Attributes::default());
        loop {
            self.leave()?;
            let Some(block) = self.block()? else {
                return Ok(None);
            };
            let header = Header::from_byte_slice(&block);
            let kind = header.entry_type();
            let size = match is_bare(kind) {
                true => 0,
                false => header.entry_size().map_err(|_| self.damaged())?,
            };
            self.enter(size)?;
            if kind.is_gnu_longname() {
                long = Some(self.list(size.min(NAME))?);
            } else if kind.is_pax_local_extensions() {
                // Of a longer list nothing is taken: such a name is a trick.
                let list = self.list(size.min(ATTRIBUTES))?;
                if size <= ATTRIBUTES {
                    attributes = Attributes::read(&list);
                }
            } else if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
                let name = attributes.path.take().or(long.take());
                let name = name.unwrap_or_else(|| header.path_bytes().into_owned());
                let sparse = kind.is_gnu_sparse() || attributes.sparse;
                if kind.is_gnu_sparse() && header.as_gnu().is_some_and(tar::GnuHeader::is_extended)
                {
                    self.maps()?;
                }
                let size = attributes.size.unwrap_or(size);
                self.enter(size)?;
                // Old archives have no other word for a folder.
                if name.ends_with(b"/") {
                    (long, attributes) = (None, Attributes::default());
                    continue;
                }
                let path = harmless(&name);
                self.inside.clone_from(&path);
                return Ok(Some(Member {
                    path,
                    start: self.at,
                    size,
                    sparse,
                }));
            } else if !kind.is_pax_global_extensions() && !kind.is_gnu_longlink() {
                (long, attributes) = (None, Attributes::default());
            }
        }
    }

    /// Enters what has that many bytes.
    fn enter(&mut self, size: u64) -> Result<(), String> {
        let padded = size.checked_next_multiple_of(BLOCK as u64);
        self.pad = padded.ok_or_else(|| self.damaged())? - size;
        self.left = size;
        Ok(())
    }

    /// Leaves what is left of the last member.
    fn leave(&mut self) -> Result<(), String> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble.to_string());
        }
        let left = std::mem::take(&mut self.left).saturating_add(std::mem::take(&mut self.pad));
        let skipped = self.from.skip(left);
        self.at += skipped.as_ref().copied().unwrap_or_default();
        match skipped {
            Ok(skipped) if skipped < left => Err(self.cut()),
            Ok(_) => {
                self.inside.clear();
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Reads the next header; `None` at the end. After the blocks of zeros that an archive ends with another may
    /// follow; and whether all of what is compressed came is told at its end.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, String> {
        let mut end = None;
        loop {
            let mut block = [0; BLOCK];
            let read = self.fill(&mut block)?;
            let zeros = block[..read].iter().all(|byte| *byte == 0);
            // Without the blocks of zeros that it should end with, an archive is whole, too.
            if read == 0 || (read < BLOCK && zeros && end.is_some()) {
                return Ok(None);
            }
            if read == BLOCK && zeros {
                end.get_or_insert(self.at);
                continue;
            }
            return match (read == BLOCK && is_whole(&block), end) {
                (true, _) => Ok(Some(block)),
                (false, Some(end)) => Err(format!(
                    "after its end, at byte {end}, follows what is no archive, and was not read"
                )),
                (false, None) if read < BLOCK => Err(self.cut()),
                (false, None) => Err(self.damaged()),
            };
        }
    }

    /// Passes by the maps of a file with holes.
    fn maps(&mut self) -> Result<(), String> {
        loop {
            let mut block = [0; BLOCK];
            if self.fill(&mut block)? < BLOCK {
                return Err(self.cut());
            }
            if block[BLOCK - 8] == 0 {
                return Ok(());
            }
        }
    }

    fn list(&mut self, bytes: u64) -> Result<Vec<u8>, String> {
        let mut taken = Vec::new();
        let read = self.by_ref().take(bytes).read_to_end(&mut taken);
        match read {
            Ok(read) if (read as u64) < bytes && self.trouble.is_none() => Err(self.cut()),
            Ok(_) => Ok(taken),
            Err(error) => Err(error.to_string()),
        }
    }

    fn fill(&mut self, block: &mut [u8; BLOCK]) -> Result<usize, String> {
        let mut read = 0;
        while read < BLOCK {
            match self.from.read(&mut block[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        self.at += read as u64;
        Ok(read)
    }

    fn cut(&self) -> String {
        match self.inside.as_str() {
            "" => format!("it is cut short after {} bytes", self.at),
            inside => format!(
                "it is cut short after {} bytes, in {inside}: what came after is missing",
                self.at
            ),
        }
    }

    fn damaged(&self) -> String {
        format!(
            "it is damaged after {} bytes: what is after them was not read",
            self.at
        )
    }
}

/// Reads the member's bytes. What is wrong with the archive ends them, and is told by `next`.
impl<R: Forward> Read for Walker<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let room = out.len().min(left);
        if room == 0 || self.trouble.is_some() {
            return Ok(0);
        }
        match self.from.read(&mut out[..room]) {
            Ok(read) => {
                self.at += read as u64;
                self.left -= read as u64;
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                self.trouble = Some(error);
                Ok(0)
            }
        }
    }
}

/// What an archive tells of a member beside its header (POSIX pax).
#[derive(Default)]
struct Attributes {
    path: Option<Vec<u8>>,
    size: Option<u64>,
    sparse: bool,
}

impl Attributes {
    fn read(list: &[u8]) -> Self {
        let mut attributes = Self::default();
        for attribute in PaxExtensions::new(list).flatten() {
            let value = attribute.value_bytes();
            match attribute.key_bytes() {
                b"path" => {
                    let most = value.len().min(NAME as usize);
                    attributes.path = Some(value[..most].to_owned());
                }
                b"size" => {
                    let number = std::str::from_utf8(value).ok();
                    attributes.size = number.and_then(|number| number.parse().ok());
                }
                key if key.starts_with(b"GNU.sparse.") => attributes.sparse = true,
                _ => {}
            }
        }
        attributes
    }
}

/// Returns a name without what could command or deceive a terminal, and not too long.
fn harmless(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let name = name.trim_start_matches("./");
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
    };
    // Of a long one the end says more.
    let left = name.chars().count().saturating_sub(SHOWN);
    let shown = name.chars().skip(left);
    let harmless = shown.map(|c| if hostile(c) { '\u{fffd}' } else { c });
    match left {
        0 => harmless.collect(),
        _ => std::iter::once('…').chain(harmless).collect(),
    }
}

#[cfg(test)]
mod tests;
