//! Files that had a log's name between two looks, and have another one by now: rotation was faster than the looks.

use super::super::names::{self, Family};
use crate::io::decompress;
use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Device and inode.
pub(super) type Id = (u64, u64);

/// The log's rotations, as they were when it was last seen whole: which files, and, where the file system tells, since
/// when they are there. The number of one that was removed may be given to a new one at once.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeSet<(Id, Option<SystemTime>)>);

/// A file beside the log.
struct Beside {
    path: PathBuf,
    id: Id,
    born: Option<SystemTime>,
    written: (i64, i64),
}

/// What came and went since.
#[derive(Debug, Default)]
pub(super) struct Missed {
    /// What can be read, in the order in which it was written.
    pub(super) files: Vec<File>,
    /// How many cannot.
    pub(super) lost: usize,
}

impl Known {
    /// Looks at the files beside `path`.
    pub(super) fn look(path: &Path) -> Self {
        let all = rotations(path).into_iter();
        Self(all.map(|it| (it.id, it.born)).collect())
    }

    /// Returns what was written beside `path` since, besides `own`: the log as it was, which begins with `head`, and as
    /// it is now.
    pub(super) fn missed(&self, path: &Path, own: [Id; 2], head: &[u8]) -> Missed {
        let mut missed = Missed::default();
        for it in rotations(path) {
            if own.contains(&it.id) || self.0.contains(&(it.id, it.born)) {
                continue;
            }
            let Ok(file) = File::open(it.path) else {
                missed.lost += 1;
                continue;
            };
            // A copy of what was read is no other log. One that is compressed already is of before, mostly: the last
            // rotation is compressed while the log is written to.
            let mut begin = vec![0; head.len().max(decompress::MAGIC)];
            let read = file.read_at(&mut begin, 0).unwrap_or(0);
            let is_copy = !head.is_empty() && begin[..read].starts_with(head);
            if read > 0 && !is_copy && decompress::Kind::of(&begin[..read]).is_none() {
                missed.files.push(file);
            }
        }
        missed
    }
}

/// Returns the rotations of the log at `path`, in the order in which they were last written to.
fn rotations(path: &Path) -> Vec<Beside> {
    let (Some(dir), Some(base)) = (path.parent(), path.file_name().and_then(|it| it.to_str()))
    else {
        return Vec::new();
    };
    let dir = match dir.as_os_str().is_empty() {
        true => Path::new("."),
        false => dir,
    };
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let all: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut found: Vec<_> = names::choose(Family::Of(base), &all)
        .into_iter()
        .filter(|name| *name != base)
        .filter_map(|name| {
            let path = dir.join(name);
            // To open a pipe would take from it what is in it.
            let about = fs::symlink_metadata(&path)
                .ok()
                .filter(fs::Metadata::is_file)?;
            Some(Beside {
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
