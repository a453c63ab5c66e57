//! Writes a capture: a `.tar.gz` for its owner alone, which is either whole or not there.

use super::{Recording, manifest};
use anyhow::{Context as _, bail};
use flate2::{Compression, write::GzEncoder};
use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

const BLOCK: usize = 64 << 10;

/// A capture that is being written, under another name beside its own; gone with this unless it was finished.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    part: PathBuf,
    file: Option<File>,
}

impl Archive {
    /// Begins one that is to be `path`.
    ///
    /// # Errors
    /// There is such a file, or none can be written there.
    pub fn create(path: &Path) -> anyhow::Result<Self> {
        let Some(name) = path.file_name() else {
            bail!("{} is not a file name", path.display());
        };
        // Even a link that leads nowhere is something.
        if path.symlink_metadata().is_ok() {
            bail!("{} already exists: name another file", path.display());
        }
        let part = part(path, name, std::process::id());
        let file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)
            .with_context(|| format!("can't write {}", path.display()))?;
        Ok(Self {
            path: path.to_owned(),
            part,
            file: Some(file),
        })
    }

    /// Writes all, and gives the file its name. Returns its length.
    ///
    /// # Errors
    /// It can't be written, or somebody else took the name.
    pub fn write(self, kept: Recording) -> anyhow::Result<u64> {
        self.fill(|file| pack(file, kept).map(drop))
    }

    /// Takes what `fill` writes for the whole of it, and gives the file its name. Returns its length.
    ///
    /// # Errors
    /// As `write`.
    pub(super) fn fill(
        mut self,
        fill: impl FnOnce(&File) -> io::Result<()>,
    ) -> anyhow::Result<u64> {
        let file = self.file.take().context("it was written already")?;
        let failed = || format!("can't write {}", self.path.display());
        fill(&file).with_context(failed)?;
        file.sync_all().with_context(failed)?;
        let length = file.metadata().with_context(failed)?.len();
        rename(&self.part, &self.path).with_context(failed)?;
        Ok(length)
    }
}

/// Returns what the file is called until it is whole, where process `pid` writes it.
pub(super) fn part(path: &Path, name: &OsStr, pid: u32) -> PathBuf {
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".{pid}.part"));
    path.with_file_name(part)
}

impl Drop for Archive {
    fn drop(&mut self) {
        // After it got its own name there is none by this one.
        let _ = fs::remove_file(&self.part);
    }
}

/// Renames, but never onto another file.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A kernel or a file system that does not know the flag.
        Err(Errno::INVAL | Errno::NOSYS) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
        renamed => renamed.map_err(io::Error::from),
    }
}

/// Packs all into `out`, and returns that.
pub(super) fn pack<W: Write>(out: W, kept: Recording) -> io::Result<W> {
    let Recording {
        manifest,
        files,
        logs,
        ..
    } = kept;
    let out = BufWriter::with_capacity(BLOCK, out);
    let gz = GzEncoder::new(out, Compression::default());
    let mut tar = Tar {
        builder: tar::Builder::new(gz),
        folder: folder(&manifest),
        time: manifest.moment().map_or(0, |now| now.timestamp()),
    };
    let json = serde_json::to_vec_pretty(&manifest)?;
    tar.add(manifest::NAME, json.len() as u64, &json[..])?;
    for (name, pieces) in logs {
        let length = pieces.iter().map(crate::io::packed::Packed::length).sum();
        let mut all: Box<dyn Read> = Box::new(io::empty());
        for piece in pieces {
            all = Box::new(all.chain(piece.unpack()?));
        }
        tar.add(&name, length, all)?;
    }
    for (name, bytes) in &files {
        tar.add(name, bytes.len() as u64, &bytes[..])?;
    }
    let gz = tar.builder.into_inner()?;
    let mut out = gz.finish()?;
    out.flush()?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

struct Tar<W: Write> {
    builder: tar::Builder<W>,
    folder: String,
    time: i64,
}

impl<W: Write> Tar<W> {
    fn add(&mut self, name: &str, length: u64, bytes: impl Read) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(length);
        header.set_mode(0o600);
        header.set_mtime(u64::try_from(self.time).unwrap_or(0));
        let path = format!("{}/{name}", self.folder);
        self.builder.append_data(&mut header, path, bytes)
    }
}

/// Returns the one folder that all files are in, so that unpacking litters nothing.
fn folder(manifest: &manifest::Manifest) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let node = manifest.node.as_deref().unwrap_or("node");
    let node: String = node.chars().filter(|c| plain(*c)).take(100).collect();
    let time = manifest
        .moment()
        .map(|now| now.format("%Y%m%dT%H%M%S").to_string());
    format!("plegdoctor-{node}-{}", time.unwrap_or_default())
}
