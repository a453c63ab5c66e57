//! Opens logs and looks at their beginnings: what kind of file it is, and when its first line was logged. A log is
//! either plain, and can be read from anywhere in its span, or comes out of a reader, from its beginning on.

use super::{
    archive,
    deck::{Deck, Part},
    looks::Looks,
    rows::Rejoin,
    section::{Ahead, Section},
};
use crate::io::decompress::{self, Unpack};
use crate::{
    kubelet::parser::{Hints, Parser},
    syntax::time::Time,
};
use anyhow::{Context as _, bail};
use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
    os::{
        fd::AsFd as _,
        unix::fs::{FileExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

mod found;
mod refuse;
mod unfold;

pub(super) use found::Found;
pub(super) use refuse::{explain, refuse};

/// How much of a log's beginning is looked at for its kind and its first time.
pub(super) const HEAD: u64 = 64 << 10;
/// How much of a log's beginning is kept to tell whether it is still the same.
const PRINT: usize = 512;
/// A log that was opened and looked at.
pub(super) struct Log {
    /// As the user gave it, or below the directory that the user gave.
    pub(super) name: String,
    /// Where to open it again; `None` for standard input.
    path: Option<PathBuf>,
    /// Open, unless too many are; shared by the logs of an archive.
    file: Option<Arc<File>>,
    /// Device and inode, and where it begins: in the file, the compressed archive within the archive that it is in, and
    /// there itself.
    id: (u64, u64, u64, u64),
    /// Where in its file it begins.
    pub(super) begin: u64,
    /// Where reading starts and ends; `None` for what comes out of a reader.
    pub(super) span: Option<(u64, u64)>,
    /// When its first line was logged, if its beginning tells.
    pub(super) first: Option<Time>,
    /// By when it is put among the others.
    place: Option<Time>,
    /// What stood at this place of the file, its beginning, when it was opened.
    print: (u64, Vec<u8>),
    /// What it comes out of.
    form: Form,
    /// What its beginning shows of how it came here.
    pub(super) looks: Looks,
    /// How many bytes of what comes out of a reader are to be left out at the beginning.
    pub(super) skip: u64,
}

/// What a log comes out of.
enum Form {
    /// It is what is in the file.
    Plain,
    /// Its file holds it compressed, between these places.
    Packed(u64, u64),
    /// It comes through a pipe, compressed or not.
    Piped(Option<Reader>),
    /// It is a part of a compressed archive, between these places of what that unpacks to.
    Part {
        deck: Arc<Mutex<Deck>>,
        start: u64,
        end: u64,
        packed: bool,
    },
    /// It is an archive that comes through a pipe.
    Tape(Option<Pipe>),
}

/// What comes through a pipe, unpacked.
pub(super) struct Pipe {
    reader: Reader,
    need: u64,
}

/// What gives a log's bytes, from its beginning on.
pub(super) type Reader = Box<dyn Read + Send>;

/// What could not be read, and why.
pub(super) type Failure = (String, anyhow::Error);

impl Log {
    /// Returns how many bytes are to be read of it; `None` for a stream, for what is unpacked and what is put together.
    pub(super) fn length(&self) -> Option<u64> {
        let plain = matches!(self.form, Form::Plain) && self.looks.broken.is_none();
        self.span.filter(|_| plain).map(|(start, end)| end - start)
    }

    /// Returns whether it is compressed, can be read beside others, and takes little memory by its first bytes.
    pub(super) fn unpacks_small(&mut self) -> bool {
        let Form::Packed(from, _) = self.form else {
            return false;
        };
        let mut magic = [0; decompress::MAGIC];
        let read = self.file().map(|file| file.read_at(&mut magic, from));
        let kind = decompress::Kind::of(&magic).filter(|_| matches!(read, Ok(Ok(_))));
        self.skip == 0 && kind.is_some_and(decompress::Kind::is_small)
    }

    /// Returns the open file, opening it again if it had to be closed.
    pub(super) fn file(&mut self) -> anyhow::Result<&File> {
        self.open()?;
        self.file.as_deref().context("it was closed")
    }

    /// As `file`, to be kept.
    fn shared(&mut self) -> anyhow::Result<Arc<File>> {
        self.open()?;
        self.file.clone().context("it was closed")
    }

    fn open(&mut self) -> anyhow::Result<()> {
        if self.file.is_none() {
            let path = self.path.as_deref().context("it was closed")?;
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if (metadata.dev(), metadata.ino()) != (self.id.0, self.id.1) {
                bail!("it was rotated while it waited to be read: run plegdoctor again");
            }
            self.file = Some(Arc::new(file));
        }
        Ok(())
    }

    /// Returns whether it is to be opened again when it is read.
    pub(super) fn is_closed(&self) -> bool {
        self.file.is_none()
    }

    /// Closes it until it is read.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// Returns whether the file was truncated since it was opened, as rotation by copy does, and is by now as long as
    /// it was: what was read of it is then of both.
    pub(super) fn is_rewritten(&mut self) -> bool {
        let (Some((_, end)), Some(file)) = (self.span, &self.file) else {
            return false;
        };
        let (start, print) = &self.print;
        let mut now = vec![0; print.len()];
        let read = file.read_exact_at(&mut now, *start);
        let long = file.metadata().is_ok_and(|it| it.len() >= end);
        long && read.is_ok() && now != *print
    }

    /// Returns what gives its bytes, its lines put together if they were broken; `None` for a plain one, which is read
    /// from its file.
    pub(super) fn reader(&mut self) -> anyhow::Result<Option<Reader>> {
        let Some(width) = self.looks.broken else {
            return self.rows();
        };
        let rows = match (self.rows()?, self.span) {
            (Some(rows), _) => rows,
            (None, Some((start, end))) => {
                Box::new(Section::new(self.file()?.try_clone()?, start, end))
            }
            (None, None) => return Ok(None),
        };
        Ok(Some(Box::new(Rejoin::new(rows, width))))
    }

    /// Returns what gives its bytes as they are; `None` for a plain one.
    fn rows(&mut self) -> anyhow::Result<Option<Reader>> {
        match &mut self.form {
            Form::Plain => Ok(None),
            Form::Packed(from, to) => {
                let (from, to) = (*from, *to);
                let given = self.given().to_owned();
                let section = Section::new(self.file()?.try_clone()?, from, to);
                Ok(Some(Box::new(Unpack::new(
                    section,
                    decompress::MOST,
                    &given,
                ))))
            }
            Form::Piped(reader) => Ok(Some(reader.take().context("it was read already")?)),
            Form::Part {
                deck,
                start,
                end,
                packed,
            } => {
                let part = Part::new(deck, *start, *end);
                let need = part.need();
                Ok(Some(match packed {
                    true => Box::new(Unpack::new(
                        part,
                        decompress::MOST.saturating_sub(need),
                        "FILE",
                    )),
                    false => Box::new(part),
                }))
            }
            Form::Tape(_) => Ok(None),
        }
    }

    /// Returns what an archive that comes through a pipe comes out of.
    pub(super) fn tape(&mut self) -> Option<Pipe> {
        match &mut self.form {
            Form::Tape(pipe) => pipe.take(),
            _ => None,
        }
    }

    /// Returns what to call it in a command.
    fn given(&self) -> &str {
        match self.path.as_deref() {
            Some(path) if path.as_os_str() == self.name.as_str() => &self.name,
            _ => "FILE",
        }
    }
}

fn open_file(path: &Path, hints: Hints) -> anyhow::Result<Looked> {
    let file = File::open(path).map_err(|error| explain(&error))?;
    look(path.display().to_string(), Some(path), file, hints)
}

/// Opens standard input, through a descriptor of its own.
fn open_stdin(hints: Hints) -> anyhow::Result<Looked> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if file.metadata()?.is_dir() {
        bail!("it is a directory: name it with --log DIR");
    }
    look("standard input".to_owned(), None, file, hints)
}

/// What a file or pipe turned out to be.
enum Looked {
    /// One log.
    Log(Log),
    /// An archive of logs, in a file.
    Archive(Log),
}

fn look(name: String, path: Option<&Path>, mut file: File, hints: Hints) -> anyhow::Result<Looked> {
    let metadata = file.metadata()?;
    // Of standard input somebody may have read a part.
    let start = match metadata.is_file() {
        true => file.stream_position()?,
        false => 0,
    };
    let mut head = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut head)?;
    let end = metadata.len().max(start);
    let mut log = Log {
        path: path.map(Path::to_owned),
        id: (metadata.dev(), metadata.ino(), 0, 0),
        begin: 0,
        span: None,
        first: None,
        place: None,
        print: (0, Vec::new()),
        form: Form::Plain,
        looks: Looks::default(),
        skip: 0,
        file: None,
        name,
    };
    let packed = decompress::Kind::of(&head).is_some();
    if !metadata.is_file() {
        return log.through_pipe(head, file, packed, hints).map(Looked::Log);
    }
    file.seek(SeekFrom::Start(start))?;
    log.file = Some(Arc::new(file));
    if !packed {
        log.span = Some((start, end));
        log.print = (start, head[..head.len().min(PRINT)].to_owned());
        return log.of_text(&head, hints);
    }
    log.form = Form::Packed(start, end);
    let mut reader = log.reader()?.context("it was closed")?;
    match beginning(&mut reader) {
        (text, Some(error)) if text.is_empty() => Err(error.into()),
        (text, _) => log.of_text(&text, hints),
    }
}

/// Returns the beginning of what a reader gives, and what ended it too early.
pub(super) fn beginning(reader: &mut dyn Read) -> (Vec<u8>, Option<io::Error>) {
    let mut head = Vec::new();
    let trouble = reader.take(HEAD).read_to_end(&mut head).err();
    (head, trouble)
}

impl Log {
    /// Judges a file by its beginning, unpacked.
    ///
    /// # Errors
    /// It is no text; with the cure.
    fn of_text(mut self, head: &[u8], hints: Hints) -> anyhow::Result<Looked> {
        if archive::is_tar(head) {
            return Ok(Looked::Archive(self));
        }
        self.refuse(head)?;
        self.look(head, hints);
        Ok(Looked::Log(self))
    }

    /// Takes note of what the beginning tells.
    fn look(&mut self, head: &[u8], hints: Hints) {
        self.first = first_time(&self.name, head, hints);
        self.looks = Looks::of(head, (head.len() as u64) < HEAD);
    }

    /// Takes in what comes through a pipe and begins with `head`.
    ///
    /// # Errors
    /// It is no text; with the cure.
    fn through_pipe(
        mut self,
        head: Vec<u8>,
        file: File,
        packed: bool,
        hints: Hints,
    ) -> anyhow::Result<Self> {
        if !packed {
            if archive::is_tar(&head) {
                let reader = Box::new(io::Cursor::new(head).chain(file));
                self.form = Form::Tape(Some(Pipe { reader, need: 0 }));
                return Ok(self);
            }
            self.refuse(&head)?;
            self.look(&head, hints);
            self.form = Form::Piped(Some(Box::new(Ahead::new(head, None, file))));
            return Ok(self);
        }
        let mut reader = Unpack::new(
            io::Cursor::new(head).chain(file),
            decompress::MOST,
            self.given(),
        );
        let (text, trouble) = beginning(&mut reader);
        if let Some(error) = trouble.as_ref().filter(|_| text.is_empty()) {
            bail!("{error}");
        }
        let need = reader.need();
        let is_tar = archive::is_tar(&text);
        if !is_tar {
            self.refuse(&text)?;
            self.look(&text, hints);
        }
        let reader: Reader = Box::new(Ahead::new(text, trouble, reader));
        self.form = match is_tar {
            true => Form::Tape(Some(Pipe { reader, need })),
            false => Form::Piped(Some(reader)),
        };
        Ok(self)
    }

    /// Refuses what is no text where it was compressed, and what is neither text nor compressed where it was not.
    fn refuse(&self, head: &[u8]) -> anyhow::Result<()> {
        let plain = matches!(self.form, Form::Plain) && self.file.is_some();
        if decompress::Kind::of(head).is_some() {
            bail!("it is compressed twice: unpack it once");
        }
        match plain {
            true => refuse(head, self.given()),
            false => refuse(head, "-").context("it is compressed, and what it holds is no text"),
        }
    }

    fn is_stream(&self) -> bool {
        match self.form {
            Form::Plain | Form::Packed(..) | Form::Part { .. } => false,
            Form::Piped(_) | Form::Tape(_) => true,
        }
    }
}

impl Pipe {
    /// Returns how much memory unpacking it takes.
    pub(super) fn need(&self) -> u64 {
        self.need
    }
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reader.read(out)
    }
}

/// Returns the first time that the lines in `bytes` tell.
pub(super) fn first_time(name: &str, bytes: &[u8], hints: Hints) -> Option<Time> {
    let mut parser = Parser::new(name, hints);
    let mut events = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        parser.line(line, &mut events);
        events.clear();
        if parser.source_info().oldest.is_some() {
            return parser.source_info().oldest;
        }
    }
    parser.finish(&mut events);
    parser.source_info().oldest
}
