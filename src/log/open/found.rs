//! What paths name, each log once, in the order of their times: files, pipes, directories and archives.

use super::{Log, Opened, Origin, TarStream, explain_open, open_file, open_stdin};
use crate::io::decompress::{Decoder, MAX_WINDOW};
use crate::kubelet::parser::Hints;
use crate::log::archive_entries::{Contents, LogEntry};
use crate::log::rotation::Family;
use crate::log::tar_reader::TarReader;
use crate::log::{Failure, archive_entries, rotation};
use anyhow::{Context as _, anyhow, bail};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

/// Files that are kept open while they wait to be read; the usual limit is 1024 descriptors.
const MAX_OPEN: usize = 256;
/// Logs that are read: each takes a KiB while it waits.
const MAX_LOGS: usize = 8192;
/// Logs for each of which a compressed archive is decompressed from its beginning; more are read in its own order.
const MAX_COMPRESSED: usize = 16;

#[derive(Default)]
pub(in crate::log) struct Found {
    /// Logs, each once.
    pub(in crate::log) logs: Vec<Log>,
    /// What looks like a log and cannot be read.
    pub(in crate::log) failures: Vec<Failure>,
    pub(in crate::log) notes: Vec<String>,
    /// Logs beyond `MAX_LOGS`.
    left_out: usize,
    /// Device and inode of each pipe that was opened. To open one again takes from it what is to be read.
    pipes: BTreeSet<(u64, u64)>,
}

impl Found {
    /// Opens what `path` names: a file, a pipe, the kubelet's logs in a directory, or (`-`) standard input.
    pub(in crate::log) fn open(&mut self, path: &Path, hints: Hints) {
        if pipe_id(path).is_some_and(|id| !self.pipes.insert(id)) {
            return;
        }
        let is_stdin = path.as_os_str() == "-";
        let opened = if is_stdin {
            open_stdin(hints).and_then(|opened| self.add_opened(opened, hints))
        } else if path.is_dir() {
            self.open_directory(path, hints)
        } else {
            open_file(path, hints).and_then(|opened| self.add_opened(opened, hints))
        };
        if let Err(error) = opened {
            let name = if is_stdin {
                "standard input".to_owned()
            } else {
                path.display().to_string()
            };
            self.failures.push((name, error));
        }
    }

    fn open_directory(&mut self, path: &Path, hints: Hints) -> anyhow::Result<()> {
        self.open_family(path, Family::Any, hints)?;
        // Another directory may have given the rest.
        let inside = |name: &str| Path::new(name).starts_with(path);
        let any = self.logs.iter().any(|log| inside(&log.name))
            || self.failures.iter().any(|(name, _)| inside(name));
        if !any {
            bail!(
                "no log of the kubelet is there (kubelet*.log, kubelet.INFO, messages, syslog or their rotations): name a file with --log"
            );
        }
        Ok(())
    }

    /// Opens the logs of `family` in the directory `dir`. Only regular files: to read a pipe takes what is in it
    /// from its reader.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub(in crate::log) fn open_family(
        &mut self,
        dir: &Path,
        family: Family<'_>,
        hints: Hints,
    ) -> anyhow::Result<()> {
        let mut all = BTreeSet::new();
        for entry in fs::read_dir(dir).map_err(|error| explain_open(&error))? {
            // A name that is no UTF-8 is none of those looked for.
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            // What has no metadata fails again, with the reason, when it is opened.
            if fs::metadata(dir.join(&name)).map_or(true, |metadata| metadata.is_file()) {
                all.insert(name);
            }
        }
        let names: Vec<&str> = all.iter().map(String::as_str).collect();
        // Links last, so that klog's kubelet.INFO gives way to the file that it points to.
        let is_link = |name: &&str| {
            fs::symlink_metadata(dir.join(name)).is_ok_and(|metadata| metadata.is_symlink())
        };
        let (links, files): (Vec<&str>, Vec<&str>) = rotation::choose(family, &names)
            .into_iter()
            .partition(is_link);
        for name in files.into_iter().chain(links) {
            let path = dir.join(name);
            let opened = open_file(&path, hints).and_then(|log| self.add_opened(log, hints));
            if let Err(error) = opened {
                self.failures.push((path.display().to_string(), error));
            }
        }
        Ok(())
    }

    /// Sorts the logs by their first times; one without a time stays after the one before it.
    pub(in crate::log) fn sort(&mut self) {
        if self.left_out > 0 {
            let why = anyhow!(
                "{} logs beyond the first {MAX_LOGS} were skipped: name fewer",
                std::mem::take(&mut self.left_out)
            );
            self.failures.push(("the logs".to_owned(), why));
        }
        let mut before = None;
        let mut dated: Vec<_> = Vec::new();
        for log in self.logs.drain(..) {
            before = log.first.or(before);
            dated.push((before, log));
        }
        dated.sort_by_key(|(first, _)| *first);
        self.logs.extend(dated.into_iter().map(|(_, log)| log));
    }

    fn add_opened(&mut self, opened: Opened, hints: Hints) -> anyhow::Result<()> {
        match opened {
            Opened::Log(log) => self.add(log),
            Opened::Archive(log) => self.add_archive(log, hints)?,
        }
        Ok(())
    }

    fn add(&mut self, mut log: Log) {
        if self.logs.iter().any(|other| other.id == log.id) {
            return;
        }
        if self.logs.len() >= MAX_LOGS {
            self.left_out += 1;
            return;
        }
        // A shared file takes no descriptor of its own.
        let own = log.file.as_ref().map(Arc::strong_count) == Some(1);
        if own && log.path.is_some() && !log.is_stream() && self.logs.len() >= MAX_OPEN {
            log.close();
        }
        self.logs.push(log);
    }

    /// Adds the logs in an archive. What is not compressed is read from its place in the archive like any file.
    ///
    /// # Errors
    /// It holds none, or cannot be read.
    fn add_archive(&mut self, mut archive: Log, hints: Hints) -> anyhow::Result<()> {
        let contents = archive.list(hints)?;
        let none = contents.seen.none();
        if let Some(why) = contents
            .error
            .as_ref()
            .filter(|_| none.is_some())
            .or(none.as_ref())
        {
            bail!("{why}");
        }
        for why in contents.error.into_iter().chain(contents.seen.left_out()) {
            self.failures.push((archive.name.clone(), anyhow!("{why}")));
        }
        let compressed = matches!(archive.origin, Origin::Compressed(..));
        if compressed && contents.logs.len() > MAX_COMPRESSED {
            archive.first = contents.logs.iter().filter_map(|log| log.first).min();
            archive.origin = Origin::Archive(Some(TarStream {
                reader: archive.raw_reader()?.context("it was closed")?,
                memory: contents.memory,
                chosen: Some(contents.logs.iter().map(|log| log.entry.start).collect()),
            }));
            self.add(archive);
            return Ok(());
        }
        for entry in contents.logs {
            let name = format!("{}:{}", archive.name, entry.entry.path);
            let log = match &entry.refused {
                Some(why) => Err(anyhow!("{why}")),
                None => archive.entry(name.clone(), &entry, contents.memory),
            };
            match log {
                Ok(log) => self.add(log),
                Err(error) => self.failures.push((name, error)),
            }
        }
        Ok(())
    }
}

impl Log {
    fn list(&mut self, hints: Hints) -> anyhow::Result<Contents> {
        match (&self.origin, self.span) {
            (&Origin::Compressed(start, end), _) => {
                let decoder = Decoder::new(self.range((start, end))?, MAX_WINDOW, "FILE");
                Ok(archive_entries::list(TarReader::new(decoder), hints))
            }
            (_, Some(span)) => {
                let range = self.range(span)?;
                Ok(archive_entries::list(TarReader::new(range), hints))
            }
            _ => bail!("it is no file"),
        }
    }

    /// A file in the archive that this is, as a log.
    fn entry(&mut self, name: String, log: &LogEntry, memory: u64) -> anyhow::Result<Self> {
        let base = self.span.map_or(0, |(start, _)| start);
        let start = base.saturating_add(log.entry.start);
        let end = start.saturating_add(log.entry.size);
        let (origin, span) = match self.origin {
            Origin::Compressed(from, to) => {
                let origin = Origin::CompressedArchive {
                    archive: (from, to),
                    start,
                    end,
                    compressed: log.compressed,
                    memory,
                };
                (origin, None)
            }
            _ if log.compressed => (Origin::Compressed(start, end), None),
            _ => (Origin::Plain, Some((start, end))),
        };
        Ok(Self {
            name,
            path: self.path.clone(),
            file: Some(Arc::clone(self.file()?)),
            id: (self.id.0, self.id.1, start.max(1)),
            begin: span.map_or(0, |(start, _)| start),
            span,
            first: log.first,
            fingerprint: (0, Vec::new()),
            origin,
            format: log.format,
            skip: 0,
        })
    }
}

/// Device and inode of what `path` names, if it is a pipe or another thing without a beginning.
fn pipe_id(path: &Path) -> Option<(u64, u64)> {
    let metadata = if path.as_os_str() == "-" {
        File::from(io::stdin().as_fd().try_clone_to_owned().ok()?).metadata()
    } else {
        fs::metadata(path)
    };
    let pipe = metadata.ok().filter(|it| !it.is_file() && !it.is_dir());
    pipe.map(|it| (it.dev(), it.ino()))
}
