//! A container's log, from its file: the child's part, which streams it, and ours, which takes it.

use super::helper::{child, containers, errno, say, settings};
use super::{DataRoot, LAST_BREATH};
use crate::io::child::Running;
use crate::io::deadline::Ended;
use crate::io::decompress::{Decoder, MAX_WINDOW};
use crate::io::{child as process, deadline};
use crate::syntax::id::ContainerId;
use anyhow::{Context as _, bail};
use rustix::{fs::OFlags, io::Errno};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::io::{Read as _, Seek as _, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Most rotations of a log.
const ROTATIONS: usize = 100;
/// Most bytes of the line that stands before a log's bytes.
const HEAD: usize = 64 << 10;
/// How much is unpacked at a time.
const BLOCK: usize = 256 << 10;

/// What reading a container's log came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Bytes read.
    pub bytes: u64,
    /// Older ones that were left out.
    pub left: u64,
    /// Compressed rotations that could not be unpacked to their end, each with the reason.
    pub broken: Vec<String>,
    /// Older compressed rotations that were left out, since what is newer is enough.
    pub older: usize,
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
    place: &DataRoot,
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
    let ended = deadline::read_until_deadline(
        Instant::now() + patience,
        move |to| deadline::send_blocks(stdout, to),
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
    (log.left, log.broken, log.older) = (head.left, head.broken, head.older);
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
    /// Compressed rotations that could not be unpacked to their end, each with the reason.
    broken: Vec<String>,
    /// How many older compressed ones were left out.
    older: usize,
    /// Why nothing follows.
    error: Option<String>,
}

/// Writes the end of a container's log, `most` bytes of it: the file of that name in the container's folder, after its
/// rotations (`.1` is the newest of them).
///
/// # Errors
/// What `out` says, or a file that breaks off.
pub fn write_log(
    place: &DataRoot,
    id: &str,
    file: &str,
    most: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    process::detach();
    tell(place, id, file, most, out)
}

/// As `write_log`, within any process.
fn tell(place: &DataRoot, id: &str, file: &str, most: u64, out: &mut dyn Write) -> io::Result<()> {
    let opened = containers(place, &settings(place))
        .map_err(|(_, error)| error)
        .and_then(|(_, folder)| rotations(&folder, id, file));
    let mut files = match opened {
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
    let (mut broken, mut older, mut all) = (Vec::new(), 0, 0_u64);
    // The newest first: of the compressed ones only unpacking tells how much they hold.
    for part in files.iter_mut().rev() {
        match &part.packed {
            Some(_) if all >= most => older += 1,
            Some(name) => {
                let (bytes, trouble) = measure(&part.file)?;
                part.bytes = bytes;
                broken.extend(trouble.map(|why| format!("{name}: {why}")));
            }
            None => {}
        }
        all += part.bytes;
    }
    let left = all.saturating_sub(most);
    let head = Head {
        bytes: all - left,
        left,
        broken,
        older,
        error: None,
    };
    say(out, &head)?;
    let mut skip = left;
    for mut part in files {
        let here = skip.min(part.bytes);
        skip -= here;
        let end = part.bytes - here;
        if part.packed.is_some() {
            let mut text = unpack(&part.file)?;
            io::copy(&mut (&mut text).take(here), &mut io::sink())?;
            io::copy(&mut text.take(end), out)?;
        } else {
            part.file.seek(SeekFrom::Start(here))?;
            io::copy(&mut part.file.take(end), out)?;
        }
    }
    out.flush()
}

/// An open file of a log.
struct Part {
    file: File,
    /// How much text it holds.
    bytes: u64,
    /// Its name, if it is compressed.
    packed: Option<String>,
}

/// Returns how much a compressed file holds, and why it is not more.
fn measure(file: &File) -> io::Result<(u64, Option<String>)> {
    let mut text = unpack(file)?;
    let mut bytes = 0;
    let mut block = vec![0; BLOCK];
    loop {
        match text.read(&mut block) {
            Ok(0) => return Ok((bytes, None)),
            Ok(read) => bytes += read as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok((bytes, Some(error.to_string()))),
        }
    }
}

fn unpack(mut file: &File) -> io::Result<Decoder<&File>> {
    file.rewind()?;
    Ok(Decoder::new(file, MAX_WINDOW, "FILE"))
}

/// Opens a log and its rotations, the oldest first.
fn rotations(containers: &OwnedFd, id: &str, file: &str) -> Result<Vec<Part>, Errno> {
    if file.contains('/') || !ContainerId::parse(id).is_some_and(|id| id.is_whole()) {
        return Err(Errno::INVAL);
    }
    let folder = child(containers, id, OFlags::DIRECTORY)?;
    let open = |name: &str| child(&folder, name, OFlags::empty()).and_then(sized);
    let mut files = vec![open(file)?];
    for number in 1..=ROTATIONS {
        let name = format!("{file}.{number}");
        let packed = format!("{name}.gz");
        match open(&name) {
            Ok(part) => files.push(part),
            Err(_) => match open(&packed) {
                Ok(part) => files.push(Part {
                    bytes: 0,
                    packed: Some(packed),
                    ..part
                }),
                Err(_) => break,
            },
        }
    }
    files.reverse();
    Ok(files)
}

fn sized(file: OwnedFd) -> Result<Part, Errno> {
    let file = File::from(file);
    let metadata = file.metadata().map_err(|error| errno(&error))?;
    match metadata.is_file() {
        true => Ok(Part {
            file,
            bytes: metadata.len(),
            packed: None,
        }),
        false => Err(Errno::INVAL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::{fs, os::unix::fs::symlink};

    const ID: &str = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";

    /// Returns what is said of the log `x` in a container's folder of these files.
    fn told<T: AsRef<[u8]>>(files: &[(&str, T)], file: &str, most: u64) -> (Head, String) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("containers").join(ID);
        fs::create_dir_all(&folder).unwrap();
        fs::write(root.path().join("secret"), "secret").unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
        symlink("../../secret", folder.join("link")).unwrap();
        let mut said = Vec::new();
        tell(&DataRoot::named(root.path()), ID, file, most, &mut said).unwrap();
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

    fn gz(text: &str) -> Vec<u8> {
        let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
        gz.write_all(text.as_bytes()).unwrap();
        gz.finish().unwrap()
    }

    #[test]
    fn compressed_rotations_are_unpacked_and_a_gap_in_their_numbers_ends_them() {
        let files = [
            ("x", b"e\n".to_vec()),
            ("x.1", b"d\n".to_vec()),
            ("x.2.gz", gz("b\nc\n")),
            ("x.3.gz", gz("a\n")),
            ("x.5", b"?".to_vec()),
        ];
        let (head, text) = told(&files, "x", 100);
        assert_eq!((head.bytes, head.left, head.older), (10, 0, 0));
        assert_eq!(text, "a\nb\nc\nd\ne\n");
        // What is enough is enough: the third is not even unpacked.
        let (head, text) = told(&files, "x", 6);
        assert_eq!((head.bytes, head.left, head.older), (6, 2, 1));
        assert_eq!(text, "c\nd\ne\n");
    }

    #[test]
    fn a_compressed_rotation_that_breaks_off_counts_up_to_there() {
        let (packed, end) = (gz("a\nb\n"), b"c\n".to_vec());
        let cut = packed[..packed.len() - 4].to_vec();
        let (head, text) = told(&[("x", end), ("x.1.gz", cut)], "x", 100);
        assert_eq!((head.bytes, text.as_str()), (6, "a\nb\nc\n"));
        assert!(
            head.broken[0].starts_with("x.1.gz: it is cut short (gzip)"),
            "{head:?}"
        );
    }

    #[test]
    fn no_way_leads_out_of_the_containers_folder() {
        for file in ["link", "../../secret", "missing", "."] {
            let (head, text) = told(&[("x", "a\n")], file, 100);
            assert!(head.error.is_some() && text.is_empty(), "{file}: {head:?}");
        }
    }
}
