//! Files that had a log's name between two polls only, and were rotated since.

use crate::io::decompress::{Compression, MAGIC};
use crate::log::rotation;
use crate::log::rotation::Family;
use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub(super) type FileId = (u64, u64);

/// The log's rotations when it was opened: inodes and, where the file system has them, times of creation. The inode of a
/// removed file may be reused at once.
#[derive(Debug, Default)]
pub(super) struct KnownRotations(BTreeSet<(FileId, Option<SystemTime>)>);

struct Rotation {
    path: PathBuf,
    id: FileId,
    born: Option<SystemTime>,
    written: (i64, i64),
}

#[derive(Debug, Default)]
pub(super) struct Missed {
    pub(super) files: Vec<File>,
    /// How many cannot be opened.
    pub(super) lost: usize,
}

impl KnownRotations {
    pub(super) fn list(path: &Path) -> Self {
        let all = rotations(path).into_iter();
        Self(all.map(|it| (it.id, it.born)).collect())
    }

    /// The rotations of `path` since, besides `own`: the log as it was, which begins with `head`, and as it is now.
    pub(super) fn missed(&self, path: &Path, own: [FileId; 2], head: &[u8]) -> Missed {
        let mut missed = Missed::default();
        for it in rotations(path) {
            if own.contains(&it.id) || self.0.contains(&(it.id, it.born)) {
                continue;
            }
            let Ok(file) = File::open(it.path) else {
                missed.lost += 1;
                continue;
            };
            // A copy of what was read is no other log. A compressed one is older, mostly: the last rotation is compressed
            // while the log is written to.
            let mut begin = vec![0; head.len().max(MAGIC)];
            let read = file.read_at(&mut begin, 0).unwrap_or(0);
            let is_copy = !head.is_empty() && begin[..read].starts_with(head);
            if read > 0 && !is_copy && Compression::detect(&begin[..read]).is_none() {
                missed.files.push(file);
            }
        }
        missed
    }
}

/// The rotations of the log at `path`, in the order in which they were last written to.
fn rotations(path: &Path) -> Vec<Rotation> {
    let (Some(dir), Some(base)) = (path.parent(), path.file_name().and_then(|it| it.to_str()))
    else {
        return Vec::new();
    };
    let dir = if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let all: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut found: Vec<_> = rotation::choose(Family::Of(base), &all)
        .into_iter()
        .filter(|name| *name != base)
        .filter_map(|name| {
            let path = dir.join(name);
            // To open a pipe would take its bytes.
            let about = fs::symlink_metadata(&path)
                .ok()
                .filter(fs::Metadata::is_file)?;
            Some(Rotation {
                path,
                id: (about.dev(), about.ino()),
                born: about.created().ok(),
                written: (about.mtime(), about.mtime_nsec()),
            })
        })
        .collect();
    found.sort_by_key(|it| it.written);
    found
}
