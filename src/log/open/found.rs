//! What paths name, each log once, in the order of their times: files, pipes, directories and archives.

use super::{Failure, Log, Looked, explain, open_file, open_stdin};
use crate::{
    kubelet::parser::Hints,
    log::names::{self, Family},
};
use anyhow::{anyhow, bail};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io,
    os::{fd::AsFd as _, unix::fs::MetadataExt as _},
    path::Path,
    sync::Arc,
};

/// How many files are kept open while they wait to be read; the usual limit is 1024 descriptors.
const OPEN: usize = 256;

/// Most logs that are read: each takes a KiB while it waits.
const MOST: usize = 8192;

/// What was found to read.
#[derive(Default)]
pub(in crate::log) struct Found {
    /// Logs, each once.
    pub(in crate::log) logs: Vec<Log>,
    /// What looks like a log and cannot be read.
    pub(in crate::log) failures: Vec<Failure>,
    /// What is to be known of those that can.
    pub(in crate::log) notes: Vec<String>,
    /// How many logs found no room.
    left: usize,
    /// Device and inode of each pipe that was opened. To look at one again takes from it what is to be read.
    pipes: BTreeSet<(u64, u64)>,
}

impl Found {
    /// Opens what `path` names: a file, a pipe, the kubelet's logs in a directory, or (`-`) standard input.
    pub(in crate::log) fn open(&mut self, path: &Path, hints: Hints) {
        if pipe(path).is_some_and(|id| !self.pipes.insert(id)) {
            return;
        }
        let opened = if path.as_os_str() == "-" {
            open_stdin(hints).and_then(|log| self.take(log, hints))
        } else if path.is_dir() {
            self.open_family(path, Family::Any, hints).and_then(|()| {
                // Another directory may have given the rest.
                let inside = |name: &str| Path::new(name).starts_with(path);
                let any = self.logs.iter().any(|log| inside(&log.name))
                    || self.failures.iter().any(|(name, _)| inside(name));
                if any {
                    return Ok(());
                }
                bail!("no log of the kubelet is there (kubelet*.log, kubelet.INFO, messages, syslog or their rotations): name a file with --log")
            })
        } else {
            open_file(path, hints).and_then(|log| self.take(log, hints))
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
    pub(in crate::log) fn open_family(
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
            if let Err(error) = open_file(&path, hints).and_then(|log| self.take(log, hints)) {
                self.failures.push((path.display().to_string(), error));
            }
        }
        Ok(())
    }

    /// Orders the logs by their first times; one that tells none stays after the one before it. Those of a compressed
    /// archive stay in its order where theirs would unpack it too often.
    pub(in crate::log) fn order(&mut self) {
        if self.left > 0 {
            let why = anyhow!(
                "{} logs more than the {MOST} that can be read at once were left out: name fewer",
                std::mem::take(&mut self.left)
            );
            self.failures.push(("the logs".to_owned(), why));
        }
        let mut before = None;
        for log in &mut self.logs {
            log.place = log.first.or(before);
            before = log.place;
        }
        self.logs.sort_by_key(|log| log.place);
        if self.spare_turns() {
            self.logs.sort_by_key(|log| log.place);
        }
    }

    /// Takes in a log, or those of an archive.
    fn take(&mut self, looked: Looked, hints: Hints) -> anyhow::Result<()> {
        match looked {
            Looked::Log(log) => self.add(log),
            Looked::Archive(log) => self.unfold(log, hints)?,
        }
        Ok(())
    }

    pub(super) fn add(&mut self, mut log: Log) {
        if self.logs.iter().any(|other| other.id == log.id) {
            return;
        }
        if self.logs.len() >= MOST {
            self.left += 1;
            return;
        }
        // What is shared takes no descriptor of its own.
        let own = log.file.as_ref().map(Arc::strong_count) == Some(1);
        if own && log.path.is_some() && !log.is_stream() && self.logs.len() >= OPEN {
            log.file = None;
        }
        self.logs.push(log);
    }
}

/// Returns which pipe, or other thing without a beginning, `path` names, if it is one.
fn pipe(path: &Path) -> Option<(u64, u64)> {
    let metadata = match path.as_os_str() == "-" {
        true => File::from(io::stdin().as_fd().try_clone_to_owned().ok()?).metadata(),
        false => fs::metadata(path),
    };
    let pipe = metadata.ok().filter(|it| !it.is_file() && !it.is_dir());
    pipe.map(|it| (it.dev(), it.ino()))
}
