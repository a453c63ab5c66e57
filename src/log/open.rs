//! Opens logs and inspects their beginnings: what kind of file it is, and when its first line was logged. A log is
//! either plain, and can be read from anywhere in its span, or comes out of a reader, from its beginning on.

mod found;

pub(super) use found::Found;

use super::file_kind::explain_open;
use super::file_range::{FileRange, Prefixed};
use super::rewrap::Rewrap;
use super::sniff::{LineFormat, read_head};
use super::tar_reader::is_tar;
use super::tar_stream::TarStream;
use super::{file_kind, sniff};
use crate::io::decompress::{Compression, Decoder, MAX_WINDOW};
use crate::kubelet::parser::Hints;
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use std::fs::{File, Metadata};
use std::io;
use std::io::{Read, Seek as _, SeekFrom};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a log's beginning that show whether it is still the same.
const FINGERPRINT: usize = 512;

pub(super) struct Log {
    /// As the user gave it, or below the directory that the user gave.
    pub(super) name: String,
    /// Where to open it again; `None` for standard input.
    path: Option<PathBuf>,
    /// Open, unless too many are; shared by the logs of an archive.
    file: Option<Arc<File>>,
    /// Device, inode, and where it begins in an archive.
    id: (u64, u64, u64),
    pub(super) begin: u64,
    /// Where reading starts and ends; `None` for what comes out of a reader.
    pub(super) span: Option<(u64, u64)>,
    pub(super) first: Option<Time>,
    /// Its bytes at this place of the file when it was opened.
    fingerprint: (u64, Vec<u8>),
    origin: Origin,
    pub(super) format: LineFormat,
    /// Bytes left out at the beginning of what comes out of a reader.
    pub(super) skip: u64,
}

/// What a log comes out of.
enum Origin {
    Plain,
    /// Compressed, between these bytes of its file.
    Compressed(u64, u64),
    /// A pipe, decompressed.
    Pipe(Option<Reader>),
    /// A file in a compressed archive.
    CompressedArchive {
        archive: (u64, u64),
        start: u64,
        end: u64,
        compressed: bool,
        memory: u64,
    },
    /// An archive that is read in its own order.
    Archive(Option<TarStream>),
}

type Reader = Box<dyn Read + Send>;

impl Log {
    fn new(name: String, path: Option<&Path>, metadata: &Metadata) -> Self {
        Self {
            name,
            path: path.map(Path::to_owned),
            file: None,
            id: (metadata.dev(), metadata.ino(), 0),
            begin: 0,
            span: None,
            first: None,
            fingerprint: (0, Vec::new()),
            origin: Origin::Plain,
            format: LineFormat::default(),
            skip: 0,
        }
    }

    /// Bytes to be read; `None` where they are not known before.
    pub(super) fn length(&self) -> Option<u64> {
        let plain = matches!(self.origin, Origin::Plain) && self.format.wrapped.is_none();
        self.span.filter(|_| plain).map(|(start, end)| end - start)
    }

    /// The open file, opened again if it had to be closed.
    pub(super) fn file(&mut self) -> anyhow::Result<&Arc<File>> {
        if self.file.is_none() {
            let path = self.path.as_deref().context("it was closed")?;
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if (metadata.dev(), metadata.ino()) != (self.id.0, self.id.1) {
                bail!("it was rotated before it was read: run plegdoctor again");
            }
            self.file = Some(Arc::new(file));
        }
        self.file.as_ref().context("it was closed")
    }

    fn range(&mut self, (start, end): (u64, u64)) -> anyhow::Result<FileRange> {
        Ok(FileRange::new(self.file()?.try_clone()?, start, end))
    }
    pub(super) fn is_closed(&self) -> bool {
        self.file.is_none()
    }

    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// Whether the file was truncated since it was opened, as rotation by copy does, and is as long again: what was read
    /// of it is then of both.
    pub(super) fn is_rewritten(&self) -> bool {
        let (Some((_, end)), Some(file)) = (self.span, &self.file) else {
            return false;
        };
        let (start, before) = &self.fingerprint;
        let mut now = vec![0; before.len()];
        let read = file.read_exact_at(&mut now, *start);
        let long = file.metadata().is_ok_and(|it| it.len() >= end);
        long && read.is_ok() && now != *before
    }

    /// Reads it from its beginning on, its lines rejoined if they are wrapped; `None` for a plain log, which is read
    /// from its file, and for an archive.
    pub(super) fn reader(&mut self) -> anyhow::Result<Option<Reader>> {
        let Some(width) = self.format.wrapped else {
            return self.raw_reader();
        };
        let rows: Reader = match (self.raw_reader()?, self.span) {
            (Some(rows), _) => rows,
            (None, Some(span)) => Box::new(self.range(span)?),
            (None, None) => return Ok(None),
        };
        Ok(Some(Box::new(Rewrap::new(rows, width))))
    }

    fn raw_reader(&mut self) -> anyhow::Result<Option<Reader>> {
        Ok(Some(match &mut self.origin {
            Origin::Plain | Origin::Archive(_) => return Ok(None),
            Origin::Pipe(reader) => reader.take().context("it was read already")?,
            &mut Origin::Compressed(start, end) => {
                let command_name = self.command_name().to_owned();
                let range = self.range((start, end))?;
                Box::new(Decoder::new(range, MAX_WINDOW, &command_name))
            }
            &mut Origin::CompressedArchive {
                archive,
                start,
                end,
                compressed,
                memory,
            } => {
                let mut text = Decoder::new(self.range(archive)?, MAX_WINDOW, "FILE");
                if io::copy(&mut (&mut text).take(start), &mut io::sink())? < start {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                let part = text.take(end - start);
                if compressed {
                    let room = MAX_WINDOW.saturating_sub(memory);
                    Box::new(Decoder::new(part, room, "FILE"))
                } else {
                    Box::new(part)
                }
            }
        }))
    }

    /// The archive that is read in its own order, if this is one.
    pub(super) fn archive(&mut self) -> Option<TarStream> {
        match &mut self.origin {
            Origin::Archive(archive) => archive.take(),
            _ => None,
        }
    }
    fn command_name(&self) -> &str {
        match self.path.as_deref() {
            Some(path) if path.as_os_str() == self.name.as_str() => &self.name,
            _ => "FILE",
        }
    }

    /// Whether it can be read only once.
    fn is_stream(&self) -> bool {
        matches!(self.origin, Origin::Pipe(_) | Origin::Archive(_))
    }
}

enum Opened {
    Log(Log),
    /// An archive of logs, in a file.
    Archive(Log),
}

fn open_file(path: &Path, hints: Hints) -> anyhow::Result<Opened> {
    let file = File::open(path).map_err(|error| explain_open(&error))?;
    identify(path.display().to_string(), Some(path), file, hints)
}

/// Opens standard input, through a descriptor of its own.
fn open_stdin(hints: Hints) -> anyhow::Result<Opened> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if file.metadata()?.is_dir() {
        bail!("it is a directory: name it with --log DIR");
    }
    identify("standard input".to_owned(), None, file, hints)
}

fn identify(
    name: String,
    path: Option<&Path>,
    mut file: File,
    hints: Hints,
) -> anyhow::Result<Opened> {
    let metadata = file.metadata()?;
    let mut log = Log::new(name, path, &metadata);
    if !metadata.is_file() {
        return log.open_pipe(file, hints).map(Opened::Log);
    }
    // A part of standard input may have been read.
    let start = file.stream_position()?;
    let mut head = Vec::new();
    (&mut file).take(sniff::HEAD).read_to_end(&mut head)?;
    let end = metadata.len().max(start);
    file.seek(SeekFrom::Start(start))?;
    log.file = Some(Arc::new(file));
    if Compression::detect(&head).is_some() {
        log.origin = Origin::Compressed(start, end);
        let mut reader = log.raw_reader()?.context("it was closed")?;
        let (text, error) = read_head(&mut reader);
        if let Some(error) = error.filter(|_| text.is_empty()) {
            return Err(error.into());
        }
        if is_tar(&text) {
            return Ok(Opened::Archive(log));
        }
        file_kind::require_text_inside(&text)?;
        log.look_at_head(&text, hints);
        return Ok(Opened::Log(log));
    }
    log.span = Some((start, end));
    if is_tar(&head) {
        return Ok(Opened::Archive(log));
    }
    file_kind::require_text(&head, log.command_name())?;
    log.fingerprint = (start, head[..head.len().min(FINGERPRINT)].to_owned());
    log.look_at_head(&head, hints);
    Ok(Opened::Log(log))
}

impl Log {
    fn look_at_head(&mut self, head: &[u8], hints: Hints) {
        self.first = sniff::first_time(&self.name, head, hints);
        self.format = LineFormat::detect(head);
    }

    /// # Errors
    /// It is no text; with the cure.
    fn open_pipe(mut self, mut pipe: File, hints: Hints) -> anyhow::Result<Self> {
        let mut head = Vec::new();
        (&mut pipe).take(sniff::HEAD).read_to_end(&mut head)?;
        let (text, error, rest, memory): (_, _, Reader, _) = if Compression::detect(&head).is_some()
        {
            let whole = io::Cursor::new(head).chain(pipe);
            let mut decoder = Decoder::new(whole, MAX_WINDOW, self.command_name());
            let (text, error) = read_head(&mut decoder);
            if let Some(error) = error.as_ref().filter(|_| text.is_empty()) {
                bail!("{error}");
            }
            if !is_tar(&text) {
                file_kind::require_text_inside(&text)?;
            }
            let memory = decoder.memory();
            (text, error, Box::new(decoder), memory)
        } else {
            if !is_tar(&head) {
                file_kind::require_text(&head, "-")?;
            }
            (head, None, Box::new(pipe), 0)
        };
        let is_tar = is_tar(&text);
        if !is_tar {
            self.look_at_head(&text, hints);
        }
        let reader: Reader = Box::new(Prefixed::new(text, error, rest));
        self.origin = if is_tar {
            Origin::Archive(Some(TarStream {
                reader,
                memory,
                chosen: None,
            }))
        } else {
            Origin::Pipe(Some(reader))
        };
        Ok(self)
    }
}
