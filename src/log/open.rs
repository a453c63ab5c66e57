//! Opens logs and looks at their beginnings: what kind of file it is, and when its first line was logged.

use super::names::{self, Family};
use crate::{
    event::Time,
    parser::{Hints, Parser},
};
use anyhow::{Context as _, anyhow, bail};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
};

/// How much of a log's beginning is looked at for its kind and its first time.
const HEAD: u64 = 64 << 10;
/// How many files are kept open while they wait to be read; the usual limit is 1024 descriptors.
const OPEN: usize = 256;

/// A log that was opened and looked at.
pub(super) struct Log {
    /// As the user gave it, or below the directory that the user gave.
    pub(super) name: String,
    /// Where to open it again; `None` for standard input.
    path: Option<PathBuf>,
    /// Open, unless too many are.
    file: Option<File>,
    /// Device and inode.
    id: (u64, u64),
    /// Where reading starts and ends; `None` for a stream.
    pub(super) span: Option<(u64, u64)>,
    /// What was read of a stream already.
    pub(super) head: Vec<u8>,
    /// When its first line was logged.
    pub(super) first: Option<Time>,
}

/// What could not be read, and why.
pub(super) type Failure = (String, anyhow::Error);

/// What was found to read.
#[derive(Default)]
pub(super) struct Found {
    /// Logs, each once.
    pub(super) logs: Vec<Log>,
    /// What looks like a log and cannot be read.
    pub(super) failures: Vec<Failure>,
    /// Paths of compressed rotations, oldest first.
    pub(super) compressed: Vec<String>,
}

impl Log {
    /// Returns how many bytes are to be read of it; `None` for a stream.
    pub(super) fn length(&self) -> Option<u64> {
        self.span.map(|(start, end)| end - start)
    }

    /// Returns the open file, opening it again if it had to be closed.
    pub(super) fn file(&mut self) -> anyhow::Result<&mut File> {
        if self.file.is_none() {
            let path = self.path.as_deref().context("it was closed")?;
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if (metadata.dev(), metadata.ino()) != self.id {
                bail!("it was rotated while it waited to be read: run plegdoctor again");
            }
            self.file = Some(file);
        }
        self.file.as_mut().context("it was closed")
    }
}

impl Found {
    /// Opens what `path` names: a file, a pipe, the kubelet's logs in a directory, or (`-`) standard input.
    pub(super) fn open(&mut self, path: &Path, hints: Hints) {
        let opened = if path.as_os_str() == "-" {
            open_stdin(hints).map(|log| self.add(log))
        } else if path.is_dir() {
            self.open_family(path, Family::Any, hints).and_then(|()| {
                // Another directory may have given the rest.
                let inside = |name: &str| Path::new(name).starts_with(path);
                let any = self.logs.iter().any(|log| inside(&log.name))
                    || self.compressed.iter().any(|name| inside(name))
                    || self.failures.iter().any(|(name, _)| inside(name));
                if any {
                    return Ok(());
                }
                bail!("no log of the kubelet is there (kubelet*.log, kubelet.INFO, messages, syslog or their rotations): name a file with --log")
            })
        } else {
            open_file(path, hints).map(|log| self.add(log))
        };
        if let Err(error) = opened {
            let name = if path.as_os_str() == "-" {
                "standard input".to_owned()
            } else {
                path.display().to_string()
            };
            self.failures.push((name, error));
        }
    }

    /// Opens the logs of `family` in the directory `dir`. Only regular files: to read a pipe takes what is in it
    /// from its reader.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub(super) fn open_family(
        &mut self,
        dir: &Path,
        family: Family<'_>,
        hints: Hints,
    ) -> anyhow::Result<()> {
        let mut all = BTreeSet::new();
        for entry in fs::read_dir(dir).map_err(|error| explain(&error))? {
            // A name that is no UTF-8 is none of those looked for.
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            // What cannot be looked at fails again, and tells why, when it is opened.
            if fs::metadata(dir.join(&name)).map_or(true, |metadata| metadata.is_file()) {
                all.insert(name);
            }
        }
        let chosen = names::choose(family, &all.iter().map(String::as_str).collect::<Vec<_>>());
        // Links last, so that klog's kubelet.INFO gives way to the file that it points to.
        let (links, files): (Vec<&str>, Vec<&str>) = chosen.into_iter().partition(|name| {
            fs::symlink_metadata(dir.join(name)).is_ok_and(|metadata| metadata.is_symlink())
        });
        for name in files.into_iter().chain(links) {
            let path = dir.join(name);
            if names::is_compressed(name) {
                self.compressed.push(path.display().to_string());
                continue;
            }
            match open_file(&path, hints) {
                Ok(log) => self.add(log),
                Err(error) => self.failures.push((path.display().to_string(), error)),
            }
        }
        Ok(())
    }

    /// Orders the logs by their first times; one that tells none stays after the one before it.
    pub(super) fn order(&mut self) {
        let mut before = None;
        for log in &mut self.logs {
            log.first = log.first.or(before);
            before = log.first;
        }
        self.logs.sort_by_key(|log| log.first);
    }

    /// Turns compressed rotations into one failure that names the cure.
    pub(super) fn fail_compressed(&mut self) {
        let Some(newest) = self.compressed.last().cloned() else {
            return;
        };
        let others = match self.compressed.len() - 1 {
            0 => String::new(),
            others => format!(", like {others} older ones"),
        };
        let why = anyhow!("it is compressed{others}: zcat {newest} | plegdoctor diagnose --log -");
        self.failures.push((newest, why));
    }

    fn add(&mut self, mut log: Log) {
        if self.logs.iter().any(|other| other.id == log.id) {
            return;
        }
        if log.span.is_some() && log.path.is_some() && self.logs.len() >= OPEN {
            log.file = None;
        }
        self.logs.push(log);
    }
}

fn open_file(path: &Path, hints: Hints) -> anyhow::Result<Log> {
    let file = File::open(path).map_err(|error| explain(&error))?;
    look(path.display().to_string(), Some(path), file, hints)
}

/// Opens standard input, through a descriptor of its own.
fn open_stdin(hints: Hints) -> anyhow::Result<Log> {
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if file.metadata()?.is_dir() {
        bail!("it is a directory: name it with --log DIR");
    }
    look("standard input".to_owned(), None, file, hints)
}

fn look(name: String, path: Option<&Path>, mut file: File, hints: Hints) -> anyhow::Result<Log> {
    let metadata = file.metadata()?;
    // Of standard input somebody may have read a part.
    let start = match metadata.is_file() {
        true => file.stream_position()?,
        false => 0,
    };
    let mut head = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut head)?;
    if let Some((kind, cure)) = not_text(&head) {
        let given = if path.is_some() { &name } else { "FILE" };
        bail!(
            "it is {kind}: {} | plegdoctor diagnose --log -",
            cure.replace("{}", given)
        );
    }
    let first = first_time(&name, &head, hints);
    let span = metadata
        .is_file()
        .then(|| (start, metadata.len().max(start)));
    if span.is_some() {
        file.seek(SeekFrom::Start(start))?;
        head = Vec::new();
    }
    Ok(Log {
        name,
        path: path.map(Path::to_owned),
        file: Some(file),
        id: (metadata.dev(), metadata.ino()),
        span,
        head,
        first,
    })
}

/// Returns the first time that the lines in `bytes` tell.
pub(super) fn first_time(name: &str, bytes: &[u8], hints: Hints) -> Option<Time> {
    let mut parser = Parser::new(name, hints);
    let mut events = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        parser.line(line, &mut events);
        events.clear();
        if parser.told().oldest.is_some() {
            return parser.told().oldest;
        }
    }
    parser.finish(&mut events);
    parser.told().oldest
}

/// Returns what kind of file begins with `head`, if it is no text, and the command that makes it one.
fn not_text(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const KINDS: [(&[u8], &str, &str); 8] = [
        (b"\x1f\x8b", "compressed (gzip)", "zcat {}"),
        (b"\x28\xb5\x2f\xfd", "compressed (zstd)", "zstdcat {}"),
        (b"\xfd7zXZ\0", "compressed (xz)", "xzcat {}"),
        (b"BZh", "compressed (bzip2)", "bzcat {}"),
        (b"PK\x03\x04", "a zip archive", "unzip -p {}"),
        (
            b"LPKSHHRH",
            "journald's own form",
            "journalctl --file={} -o short-iso",
        ),
        (b"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 {}"),
        (b"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 {}"),
    ];
    KINDS
        .iter()
        .find(|(magic, ..)| head.starts_with(magic))
        .map(|&(_, kind, cure)| (kind, cure))
}

/// Returns the system's words with what to do about it.
pub(super) fn explain(error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            anyhow!("{error}: name a log that is there, or none to let plegdoctor look for it")
        }
        io::ErrorKind::PermissionDenied => anyhow!("{error}: run plegdoctor as root"),
        _ => anyhow!("{error}"),
    }
}
