//! A container's log, from its file: the child's part, which streams it, and ours, which takes it.

use super::{
    LAST_BREATH, Place,
    inside::{child, containers, errno, say, settings},
};
use crate::{
    child::{self as process, Running},
    id::ContainerId,
    log::pump::{self, Ended},
};
use anyhow::{Context as _, bail};
use rustix::{fs::OFlags, io::Errno};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

/// Most rotations of a log.
const ROTATIONS: usize = 100;
/// Most bytes of the line that stands before a log's bytes.
const HEAD: usize = 64 << 10;

/// What reading a container's log came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Bytes read.
    pub bytes: u64,
    /// Older ones that were left out.
    pub left: u64,
    /// Rotations that are compressed, and were left out.
    pub compressed: Vec<String>,
    /// Whether its end came.
    pub ended: bool,
    /// A child that the kernel does not let die.
    pub survivor: Option<u32>,
}

/// Streams the last `bytes` of a container's log to `take`, from its first whole line on, for no longer than `patience`.
///
/// # Errors
/// It can't be opened, or nothing came in time.
pub fn read_log(
    place: &Place,
    id: &ContainerId,
    file: &str,
    bytes: u64,
    patience: Duration,
    take: &mut dyn FnMut(&[u8]),
) -> anyhow::Result<Log> {
    let mut command = process::reader();
    command.arg("log").args(place.words());
    command.args(["--", id.as_str(), file, &bytes.to_string()]);
    let mut running =
        Running::start(&mut command).context("the child that reads it can't be run")?;
    let stdout = running
        .child
        .stdout
        .take()
        .context("the child has no voice")?;
    let (mut log, mut told) = (Log::default(), None::<Head>);
    let (mut first, mut torn) = (Vec::new(), false);
    // From the middle on, the first line is none.
    let mut hand_on = |block: &[u8], torn: &mut bool| match memchr::memchr(b'\n', block) {
        Some(end) if *torn => {
            *torn = false;
            take(&block[end + 1..]);
        }
        _ if *torn => {}
        _ => take(block),
    };
    let ended = pump::pump(
        Instant::now() + patience,
        move |to| pump::send_blocks(stdout, to),
        &mut |block: io::Result<Vec<u8>>| {
            let block = block.unwrap_or_default();
            if told.is_some() {
                log.bytes += block.len() as u64;
                hand_on(&block, &mut torn);
                return true;
            }
            first.extend(block);
            let Some(end) = memchr::memchr(b'\n', &first) else {
                return first.len() < HEAD;
            };
            let Ok(head) = serde_json::from_slice::<Head>(&first[..end]) else {
                return false;
            };
            torn = head.left > 0;
            told = Some(head);
            log.bytes = (first.len() - end - 1) as u64;
            hand_on(&first[end + 1..], &mut torn);
            true
        },
    );
    log.survivor = running.kill(LAST_BREATH);
    let Some(head) = told else {
        match ended? {
            Ended::Late => {
                bail!("nothing came of it in time: the disk or file system that it is on may hang")
            }
            _ => bail!("the child that reads it broke off"),
        }
    };
    if let Some(error) = head.error {
        bail!("{error}");
    }
    (log.left, log.compressed) = (head.left, head.compressed);
    log.ended = log.bytes >= head.bytes;
    Ok(log)
}

/// What stands before a log's bytes: one line.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// How many bytes follow.
    bytes: u64,
    /// How many before them were left out.
    left: u64,
    /// Rotations that are compressed, which were left out.
    compressed: Vec<String>,
    /// Why nothing follows.
    error: Option<String>,
}

/// Writes the end of a container's log, `most` bytes of it: the file of that name in the container's folder, after its
/// rotations (`.1` is the newest of them).
///
/// # Errors
/// What `out` says, or a file that breaks off.
pub fn write_log(
    place: &Place,
    id: &str,
    file: &str,
    most: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    process::detach();
    tell(place, id, file, most, out)
}

/// As `write_log`, within any process.
fn tell(place: &Place, id: &str, file: &str, most: u64, out: &mut dyn Write) -> io::Result<()> {
    let opened = containers(place, &settings(place))
        .map_err(|(_, error)| error)
        .and_then(|(_, folder)| rotations(&folder, id, file));
    let (files, compressed) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let error = Some(error.to_string());
            let head = Head {
                error,
                ..Head::default()
            };
            return say(out, &head);
        }
    };
    let all: u64 = files.iter().map(|(_, bytes)| bytes).sum();
    let left = all.saturating_sub(most);
    let head = Head {
        bytes: all - left,
        left,
        compressed,
        error: None,
    };
    say(out, &head)?;
    let mut skip = left;
    for (mut file, bytes) in files {
        let here = skip.min(bytes);
        skip -= here;
        file.seek(SeekFrom::Start(here))?;
        io::copy(&mut file.take(bytes - here), out)?;
    }
    out.flush()
}

/// An open file and its size.
type Part = (File, u64);

/// Opens a log and its rotations, the oldest first; returns them with their sizes, and the names of those that are
/// compressed.
fn rotations(
    containers: &OwnedFd,
    id: &str,
    file: &str,
) -> Result<(Vec<Part>, Vec<String>), Errno> {
    if file.contains('/') || !ContainerId::parse(id).is_some_and(|id| id.is_whole()) {
        return Err(Errno::INVAL);
    }
    let folder = child(containers, id, OFlags::DIRECTORY)?;
    let (mut files, mut compressed) = (
        vec![sized(child(&folder, file, OFlags::empty())?)?],
        Vec::new(),
    );
    for number in 1..=ROTATIONS {
        let name = format!("{file}.{number}");
        let packed = format!("{name}.gz");
        match child(&folder, &name, OFlags::empty()).and_then(sized) {
            Ok(file) => files.push(file),
            Err(_) if child(&folder, &packed, OFlags::empty()).is_ok() => compressed.push(packed),
            Err(_) => break,
        }
    }
    files.reverse();
    Ok((files, compressed))
}

fn sized(file: OwnedFd) -> Result<Part, Errno> {
    let file = File::from(file);
    let metadata = file.metadata().map_err(|error| errno(&error))?;
    match metadata.is_file() {
        true => Ok((file, metadata.len())),
        false => Err(Errno::INVAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    const ID: &str = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";

    /// Returns what is said of the log `x` in a container's folder of these files.
    fn told(files: &[(&str, &str)], file: &str, most: u64) -> (Head, String) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("containers").join(ID);
        fs::create_dir_all(&folder).unwrap();
        fs::write(root.path().join("secret"), "secret").unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        symlink("../../secret", folder.join("link")).unwrap();
        let mut said = Vec::new();
        tell(&Place::named(root.path()), ID, file, most, &mut said).unwrap();
        let said = String::from_utf8(said).unwrap();
        let (head, text) = said.split_once('\n').unwrap();
        (serde_json::from_str(head).unwrap(), text.to_owned())
    }

    #[test]
    fn rotations_come_first_the_oldest_at_the_head_and_the_end_counts_most() {
        let files = [("x", "e\nf\n"), ("x.1", "c\nd\n"), ("x.2", "a\nb\n")];
        let (head, text) = told(&files, "x", 100);
        assert_eq!((head.bytes, head.left), (12, 0));
        assert_eq!(text, "a\nb\nc\nd\ne\nf\n");
        let (head, text) = told(&files, "x", 7);
        assert_eq!((head.bytes, head.left), (7, 5));
        assert_eq!(text, "\nd\ne\nf\n");
    }

    #[test]
    fn compressed_rotations_are_told_and_a_gap_in_their_numbers_ends_them() {
        let files = [("x", "c\n"), ("x.1", "b\n"), ("x.2.gz", "?"), ("x.4", "?")];
        let (head, text) = told(&files, "x", 100);
        assert_eq!(head.compressed, ["x.2.gz"]);
        assert_eq!(text, "b\nc\n");
    }

    #[test]
    fn no_way_leads_out_of_the_containers_folder() {
        for file in ["link", "../../secret", "missing", "."] {
            let (head, text) = told(&[("x", "a\n")], file, 100);
            assert!(head.error.is_some() && text.is_empty(), "{file}: {head:?}");
        }
    }
}
