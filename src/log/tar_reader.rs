//! Reads a tar archive from its beginning to its end, once, and gives its regular files. Nothing is written to a disk, and
//! no name in it is ever opened: links, devices and names that lead elsewhere lead nowhere. An archive may be hostile: no
//! name, and no list of attributes, takes more memory than a small bound.

use super::file_range::FileRange;
use crate::io::decompress::Decoder;
use std::io::{self, Read};
use tar::{EntryType, Header, PaxExtensions};

const BLOCK: usize = 512;
const MAX_NAME: u64 = 4096;
/// Longest list of an entry's attributes that is read, in bytes.
const MAX_ATTRIBUTES: u64 = 64 << 10;
/// Longest name that is shown, in characters.
const MAX_SHOWN: usize = 240;

/// The bytes of an archive, forward only.
pub(super) trait TarSource: Read {
    /// Skips bytes; returns how many, fewer only at the end.
    fn skip(&mut self, bytes: u64) -> io::Result<u64>
    where
        Self: Sized,
    {
        io::copy(&mut self.by_ref().take(bytes), &mut io::sink())
    }

    fn memory(&self) -> u64 {
        0
    }
}

impl TarSource for FileRange {
    fn skip(&mut self, bytes: u64) -> io::Result<u64> {
        Ok(Self::skip(self, bytes))
    }
}

impl<R: Read> TarSource for Decoder<R> {
    fn memory(&self) -> u64 {
        Self::memory(self)
    }
}

/// A regular file in an archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TarEntry {
    /// Its path in the archive, without control characters.
    pub(super) path: String,
    /// The byte of the archive where it begins.
    pub(super) start: u64,
    pub(super) size: u64,
    /// Whether the archive left out its holes, so that its bytes are not its text.
    pub(super) sparse: bool,
}

pub(super) struct TarReader<R> {
    from: R,
    at: u64,
    /// Bytes left of the current entry, its padding, and its path.
    left: u64,
    padding: u64,
    path: String,
    error: Option<io::Error>,
}

/// Whether the bytes begin an archive: a header holds its own checksum.
pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK)
        .is_some_and(|block| block[0] != 0 && has_checksum(block))
}

fn has_checksum(block: &[u8]) -> bool {
    // The checksum's own eight bytes count as blanks.
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
        .is_ok_and(|header| header == sum)
}

/// Whether such an entry has a header only, whatever its size: some programs store that of a link's target, or of the
/// directory itself.
fn is_header_only(kind: EntryType) -> bool {
    kind.is_hard_link()
        || kind.is_symlink()
        || kind.is_dir()
        || kind.is_character_special()
        || kind.is_block_special()
        || kind.is_fifo()
}

impl<R: TarSource> TarReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            at: 0,
            left: 0,
            padding: 0,
            path: String::new(),
            error: None,
        }
    }

    /// The bytes of the archive that were read so far.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn memory(&self) -> u64 {
        self.from.memory()
    }

    /// Advances to the next regular file, whose bytes can be read then; `None` at the end.
    ///
    /// # Errors
    /// The archive is cut short or damaged; in words.
    pub(super) fn next(&mut self) -> Result<Option<TarEntry>, String> {
        let (mut long, mut attributes) = (None, Attributes::default());
        loop {
            self.skip_rest()?;
            let Some(block) = self.read_header()? else {
                return Ok(None);
            };
            let header = Header::from_byte_slice(&block);
            let kind = header.entry_type();
            let size = if is_header_only(kind) {
                0
            } else {
                header.entry_size().map_err(|_| self.damaged())?
            };
            self.enter(size)?;
            if kind.is_gnu_longname() {
                long = Some(self.read_list(size.min(MAX_NAME))?);
            } else if kind.is_pax_local_extensions() {
                // A longer list is ignored: such a name is a trick.
                let list = self.read_list(size.min(MAX_ATTRIBUTES))?;
                if size <= MAX_ATTRIBUTES {
                    attributes = Attributes::read(&list);
                }
            } else if kind.is_file() || kind.is_contiguous() || kind.is_gnu_sparse() {
                let name = attributes.path.take().or(long.take());
                let name = name.unwrap_or_else(|| header.path_bytes().into_owned());
                let sparse = kind.is_gnu_sparse() || attributes.sparse;
                if kind.is_gnu_sparse() && header.as_gnu().is_some_and(tar::GnuHeader::is_extended)
                {
                    self.skip_sparse_maps()?;
                }
                let size = attributes.size.unwrap_or(size);
                self.enter(size)?;
                // Old archives mark a directory so.
                if name.ends_with(b"/") {
                    (long, attributes) = (None, Attributes::default());
                    continue;
                }
                let path = sanitize(&name);
                self.path.clone_from(&path);
                return Ok(Some(TarEntry {
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

    fn enter(&mut self, size: u64) -> Result<(), String> {
        let padded = size.checked_next_multiple_of(BLOCK as u64);
        self.padding = padded.ok_or_else(|| self.damaged())? - size;
        self.left = size;
        Ok(())
    }

    fn skip_rest(&mut self) -> Result<(), String> {
        if let Some(error) = self.error.take() {
            return Err(error.to_string());
        }
        let left = std::mem::take(&mut self.left).saturating_add(std::mem::take(&mut self.padding));
        let skipped = self.from.skip(left);
        self.at += skipped.as_ref().copied().unwrap_or_default();
        match skipped {
            Ok(skipped) if skipped < left => Err(self.cut()),
            Ok(_) => {
                self.path.clear();
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Reads the next header; `None` at the end. After an archive's blocks of zeros another may follow; and only at the
    /// end of compressed bytes their checksum is verified.
    fn read_header(&mut self) -> Result<Option<[u8; BLOCK]>, String> {
        let mut end = None;
        loop {
            let mut block = [0; BLOCK];
            let read = self.fill(&mut block)?;
            let zeros = block[..read].iter().all(|byte| *byte == 0);
            // An archive is whole, too, without the blocks of zeros that it should end with.
            if read == 0 || (read < BLOCK && zeros && end.is_some()) {
                return Ok(None);
            }
            if read == BLOCK && zeros {
                end.get_or_insert(self.at);
                continue;
            }
            return match (read == BLOCK && has_checksum(&block), end) {
                (true, _) => Ok(Some(block)),
                (false, Some(end)) => Err(format!(
                    "what follows its end at byte {end} is no archive and was not read"
                )),
                (false, None) if read < BLOCK => Err(self.cut()),
                (false, None) => Err(self.damaged()),
            };
        }
    }

    fn skip_sparse_maps(&mut self) -> Result<(), String> {
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

    fn read_list(&mut self, bytes: u64) -> Result<Vec<u8>, String> {
        let mut taken = Vec::new();
        let read = self.by_ref().take(bytes).read_to_end(&mut taken);
        match read {
            Ok(read) if (read as u64) < bytes && self.error.is_none() => Err(self.cut()),
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
        match self.path.as_str() {
            "" => format!("it is cut short after {} bytes", self.at),
            path => format!(
                "it is cut short after {} bytes, in {path}: the rest is missing",
                self.at
            ),
        }
    }

    fn damaged(&self) -> String {
        format!(
            "it is damaged after {} bytes: the rest was not read",
            self.at
        )
    }
}

/// Reads the current entry's bytes. An error ends them, and is returned by `next`.
impl<R: TarSource> Read for TarReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let room = out.len().min(left);
        if room == 0 || self.error.is_some() {
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
                self.error = Some(error);
                Ok(0)
            }
        }
    }
}

/// An entry's attributes beside its header (POSIX pax).
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
                    let most = value.len().min(MAX_NAME as usize);
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

/// A name without characters that control or deceive a terminal, and not too long.
fn sanitize(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let name = name.trim_start_matches("./");
    let hostile = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
    };
    // The end of a long one says more.
    let left = name.chars().count().saturating_sub(MAX_SHOWN);
    let shown = name.chars().skip(left);
    let safe = shown.map(|c| if hostile(c) { '\u{fffd}' } else { c });
    match left {
        0 => safe.collect(),
        _ => std::iter::once('…').chain(safe).collect(),
    }
}

#[cfg(test)]
mod tests;
