//! Reads a capture into memory, within bounds. Nothing is unpacked to a disk: so there is nothing that a path could
//! lead out of, that a link could point at, or that would be left behind.
//!
//! A capture comes from another machine, and is taken for hostile: plain files with plain relative names, each once,
//! or it is refused as a whole.

use super::manifest::Manifest;
use super::{PARTS, manifest};
use crate::io::files::Recorded;
use anyhow::{Context as _, bail};
use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Component, Path};
use std::{fs, io};

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Most bytes of all files together, and of the archive when it is expanded.
    pub(super) total: u64,
    pub(super) file: u64,
    pub(super) files: usize,
}

/// What no capture of ours exceeds: 512 MiB of logs, and the rest.
pub(super) const LIMITS: Limits = Limits {
    total: 1 << 30,
    file: 512 << 20,
    files: 500_000,
};
/// How deep folders may lie in each other; ours go to `host/proc/1/task/1/stat`.
const DEPTH: usize = 32;
/// Longest name with its folders; and how much of one that is refused is shown.
const NAME: usize = 4096;
const SHOWN: usize = 200;
/// What tells a log that no manifest names: one at the top, with one of these names or endings.
const LOGS: (&[&str], &[&str]) = (
    &["messages", "syslog", "journal", "kubelet"],
    &[".log", ".txt"],
);

/// A capture.
#[derive(Debug, Default)]
pub struct Capture {
    /// What it tells of itself; a case has none.
    pub manifest: Option<Manifest>,
    files: Recorded,
}

impl Capture {
    /// Reads the capture at `path`, a folder or a `.tar.gz`.
    ///
    /// # Errors
    /// It cannot be read, or is none that is read here. In one line.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        Self::open_within(path, LIMITS).with_context(|| format!("can't read {}", path.display()))
    }

    pub(super) fn open_within(path: &Path, limits: Limits) -> anyhow::Result<Self> {
        let metadata = fs::metadata(path)?;
        let mut loader = Loader {
            files: Recorded::new(),
            left: limits.total,
            limits,
        };
        if metadata.is_dir() {
            loader.folder(path, "", 0)?;
        } else if metadata.is_file() {
            loader.archive(File::open(path)?)?;
        } else {
            bail!("it is neither a folder nor a file");
        }
        Self::of(loader.files)
    }

    /// Returns the capture that these files are.
    fn of(mut files: Recorded) -> anyhow::Result<Self> {
        let manifest = files
            .remove(manifest::NAME)
            .map(|bytes| Manifest::parse(&bytes));
        let capture = Self {
            manifest: manifest.transpose()?,
            files,
        };
        let known = |name: &String| PARTS.iter().any(|part| is_below(name, part)) || is_log(name);
        if capture.manifest.is_none() && !capture.files.keys().any(known) {
            bail!(
                "not a capture: it has no {}, docker/, host/ or log",
                manifest::NAME
            );
        }
        Ok(capture)
    }

    /// Returns a file.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// Takes out a part: its files, by their paths below its folder. Empty if it is not there.
    pub fn take(&mut self, part: &str) -> Recorded {
        let folder = format!("{part}/");
        let mut found = self.files.split_off(&folder);
        let after = found
            .keys()
            .find(|name| !name.starts_with(&folder))
            .cloned();
        if let Some(after) = after {
            self.files.append(&mut found.split_off(&after));
        }
        let below = |(name, bytes): (String, Vec<u8>)| (name[folder.len()..].to_owned(), bytes);
        found.into_iter().map(below).collect()
    }

    /// Returns the logs that no manifest names, by name.
    pub fn unnamed_logs(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files
            .iter()
            .filter(|(name, _)| is_log(name))
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}

fn is_below(name: &str, part: &str) -> bool {
    name.strip_prefix(part)
        .is_some_and(|rest| rest.starts_with('/'))
}

fn is_log(name: &str) -> bool {
    let (starts, ends) = LOGS;
    !name.contains('/')
        && (starts.iter().any(|start| name.starts_with(start))
            || ends.iter().any(|end| name.ends_with(end)))
}

struct Loader {
    files: Recorded,
    left: u64,
    limits: Limits,
}

impl Loader {
    fn archive(&mut self, mut file: File) -> anyhow::Result<()> {
        let mut magic = [0; 2];
        match file.read(&mut magic)? {
            0 => bail!("it is empty"),
            2 if magic == [0x1f, 0x8b] => {}
            _ => bail!("not a capture: neither a folder nor a .tar.gz"),
        }
        let whole = io::Cursor::new(magic).chain(file);
        // One byte more than is allowed, so that too much can be told from cut short.
        let most = self.limits.total.saturating_add(1);
        let mut expanded = GzDecoder::new(BufReader::new(whole)).take(most);
        let read = self.entries(&mut expanded).and_then(|()| {
            // The sum at the end tells whether all came.
            let rest = io::copy(&mut expanded, &mut io::sink());
            rest.map_err(|error| broken(&error))
        });
        if expanded.limit() == 0 {
            bail!("it expands to more than {} MiB", self.limits.total >> 20);
        }
        read?;
        self.without_common_folder();
        Ok(())
    }

    fn entries(&mut self, expanded: &mut impl Read) -> anyhow::Result<()> {
        let mut archive = tar::Archive::new(expanded);
        for entry in archive.entries().map_err(|error| broken(&error))? {
            let mut entry = entry.map_err(|error| broken(&error))?;
            let name = entry.path_bytes().into_owned();
            let shown = String::from_utf8_lossy(&name[..name.len().min(SHOWN)]).into_owned();
            let name = plain(&name).with_context(|| format!("unexpected entry {shown:?}"))?;
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                continue;
            }
            if !kind.is_file() {
                bail!("unexpected link or device {shown:?}");
            }
            let size = entry.size();
            self.add(name, size, &mut entry)?;
        }
        Ok(())
    }

    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> anyhow::Result<()> {
        if depth > DEPTH {
            bail!("its folders are nested too deep");
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let Ok(own) = entry.file_name().into_string() else {
                bail!("unexpected entry {:?}", entry.file_name());
            };
            let name = format!("{prefix}{own}");
            // Of the entry itself: what a link points at is not looked at.
            let metadata = entry.path().symlink_metadata()?;
            if metadata.is_dir() {
                self.folder(&entry.path(), &format!("{name}/"), depth + 1)?;
            } else if metadata.is_file() {
                let mut file = File::open(entry.path()).with_context(|| name.clone())?;
                self.add(name, metadata.len(), &mut file)?;
            } else {
                bail!("unexpected link or device {name:?}");
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, size: u64, from: &mut impl Read) -> anyhow::Result<()> {
        if size > self.limits.file || size > self.left {
            bail!("{name:?} is too large ({size} bytes)");
        }
        if self.files.len() >= self.limits.files {
            bail!("it has more than {} files", self.limits.files);
        }
        let mut bytes = Vec::new();
        from.take(size)
            .read_to_end(&mut bytes)
            .map_err(|error| broken(&error))?;
        if bytes.len() as u64 != size {
            bail!(
                "it is truncated: {name:?} has {} of {size} bytes",
                bytes.len()
            );
        }
        self.left -= size;
        if self.files.contains_key(&name) {
            bail!("it has {name:?} twice");
        }
        self.files.insert(name, bytes);
        Ok(())
    }

    /// Takes away the folder that all files are in, if it is no part itself.
    fn without_common_folder(&mut self) {
        let Some(common) = self
            .files
            .keys()
            .next()
            .and_then(|name| Some(name.split_once('/')?.0.to_owned()))
        else {
            return;
        };
        let all = self.files.keys().all(|name| is_below(name, &common));
        if all && !PARTS.contains(&common.as_str()) {
            let files = std::mem::take(&mut self.files);
            let below =
                |(name, bytes): (String, Vec<u8>)| (name[common.len() + 1..].to_owned(), bytes);
            self.files = files.into_iter().map(below).collect();
        }
    }
}

/// Returns the name of an entry without `./`; `None` if it leads anywhere but below.
fn plain(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name)
        .ok()
        .filter(|name| name.len() <= NAME)?;
    let mut parts = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    (parts.len() <= DEPTH && !name.contains('\0')).then(|| parts.join("/"))
}

/// Returns what a failure to read on means.
fn broken(error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => anyhow::anyhow!("it is truncated"),
        _ => anyhow::anyhow!("it is damaged: {error}"),
    }
}

#[cfg(test)]
mod tests;
