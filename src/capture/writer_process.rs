//! Has a capture written by a child of our own: a write to a dead disk sleeps in the kernel, and would keep us from
//! ending. Whatever becomes of the disk, this ends in time.
//!
//! The child begins the file at once, takes what it is fed in pieces, each with its length before it, and gives the
//! file its name when the empty one comes. Where the pieces end before that, we were ended: nothing stays then.

use super::{Archive, Recording, write};
use crate::io::child::{self, Running};
use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};
use std::{io, thread};

const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take nothing, or sync, without a word; and how long it may take for all.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(60);
const TOTAL_TIMEOUT: Duration = Duration::from_secs(600);
/// How long it may take to end once there is no more for it to do.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// What the child says, a line each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Said {
    /// The file is begun.
    Begun,
    /// A piece is in it.
    Taken,
    /// It is whole, and has that many bytes.
    Whole(u64),
    /// It can't be written, in words.
    Failed(String),
}

/// A capture that is being written; gone with this unless it was finished.
#[derive(Debug)]
pub struct CaptureWriter {
    path: PathBuf,
    by: By,
}

#[derive(Debug)]
enum By {
    Child(Writer),
    /// We, where no child can be run: a node may be out of tasks just now.
    Ourselves(Archive),
}

#[derive(Debug)]
struct Writer {
    running: Running,
    /// Takes what is to be packed for it; without it, it is fed no more.
    pack: Option<SyncSender<Recording>>,
    said: Receiver<Said>,
}

impl CaptureWriter {
    /// Begins one that is to be `path`.
    ///
    /// # Errors
    /// There is such a file, or none can be written there, or not in time.
    pub fn begin(path: &Path) -> anyhow::Result<Self> {
        let by = match Writer::start(path) {
            Ok(mut writer) => {
                writer.wait_for_begin(path)?;
                By::Child(writer)
            }
            Err(_) => By::Ourselves(Archive::create(path)?),
        };
        Ok(Self {
            path: path.to_owned(),
            by,
        })
    }

    /// Writes all, and gives the file its name. Returns its length.
    ///
    /// # Errors
    /// It can't be written, or not in time, or somebody else took the name.
    pub fn write(self, kept: Recording) -> anyhow::Result<u64> {
        match self.by {
            By::Child(mut writer) => writer.write(kept, &self.path),
            By::Ourselves(archive) => archive.write(kept),
        }
    }
}

impl Writer {
    /// Starts the child, and all that feeds it and listens to it.
    fn start(path: &Path) -> io::Result<Self> {
        let mut command = child::reader();
        command.args(["capture", "--"]).arg(path);
        let mut running = Running::start_fed(&mut command)?;
        let pipes = running.child.stdin.take().zip(running.child.stdout.take());
        let (feed, stdout) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        let (tell, said) = channel();
        let (pack, packed) = sync_channel(1);
        let spawn = |name: &str| thread::Builder::new().name(name.to_owned());
        let started = spawn("capture")
            .spawn(move || listen(stdout, &tell))
            .and_then(|_| {
                spawn("pack").spawn(move || {
                    // What goes wrong here the child sees: it is fed no more.
                    if let Ok(kept) = packed.recv() {
                        drop(write::pack(Pieces(feed), kept).and_then(Pieces::end));
                    }
                })
            });
        if let Err(error) = started {
            // Fed no more, it takes away what it began.
            running.wait(EXIT_TIMEOUT);
            return Err(error);
        }
        Ok(Self {
            running,
            pack: Some(pack),
            said,
        })
    }

    fn wait_for_begin(&mut self, path: &Path) -> anyhow::Result<()> {
        match self.said.recv_timeout(BEGIN_TIMEOUT) {
            Ok(Said::Failed(words)) => bail!(words),
            Ok(_) => Ok(()),
            Err(error) => Err(self.given_up(path, error, BEGIN_TIMEOUT)),
        }
    }

    fn write(&mut self, kept: Recording, path: &Path) -> anyhow::Result<u64> {
        let pack = self.pack.take().context("it was written already")?;
        // If nobody takes it, nothing comes of it: that is told below.
        drop(pack.send(kept));
        let until = Instant::now() + TOTAL_TIMEOUT;
        loop {
            let left = until
                .saturating_duration_since(Instant::now())
                .min(PROGRESS_TIMEOUT);
            match self.said.recv_timeout(left) {
                Ok(Said::Begun | Said::Taken) => {}
                Ok(Said::Whole(length)) => return Ok(length),
                Ok(Said::Failed(words)) => bail!(words),
                Err(error) => return Err(self.given_up(path, error, left)),
            }
        }
    }

    /// Ends the child, from which nothing came; returns that in words.
    fn given_up(
        &mut self,
        path: &Path,
        error: RecvTimeoutError,
        waited: Duration,
    ) -> anyhow::Error {
        let name = path.display();
        if error == RecvTimeoutError::Disconnected {
            return anyhow::anyhow!("can't write {name}: its writer process ended early");
        }
        let part = path.file_name().unwrap_or_default();
        let part = write::part(path, part, self.running.child.id());
        let left = match self.running.end(EXIT_TIMEOUT) {
            Some(pid) => format!(
                "; process {pid}, plegdoctor's own child, is blocked in the kernel and exits once unblocked"
            ),
            None => String::new(),
        };
        anyhow::anyhow!(
            "can't write {name}: no progress for {} s, its disk or file system may hang ({} may be left there){left}",
            waited.as_secs(),
            part.display()
        )
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It then takes away what it began.
        self.pack = None;
        self.running.wait(EXIT_TIMEOUT);
    }
}

/// Passes on what the child says; what is no word of its own ends it.
fn listen(stdout: ChildStdout, to: &Sender<Said>) {
    for line in BufReader::new(stdout).lines() {
        let said = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let Some(said) = said else { return };
        if to.send(said).is_err() {
            return;
        }
    }
}

/// Writes pieces, each with its length before it.
struct Pieces<W: Write>(W);

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The empty piece is the end.
        if !bytes.is_empty() {
            let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
            self.0.write_all(&length.to_le_bytes())?;
            self.0.write_all(bytes)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> Pieces<W> {
    fn end(mut self) -> io::Result<()> {
        self.0.write_all(&0_u32.to_le_bytes())?;
        self.0.flush()
    }
}

/// The child's part: writes the capture `path` of the pieces that come, and says how that goes.
///
/// # Errors
/// What `out` says.
pub fn receive(path: &Path, from: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
    // Not detached: it outlives us for as long as it takes to take away what it began.
    let written = Archive::create(path).and_then(|archive| {
        say(out, &Said::Begun)?;
        archive.fill(|mut file| {
            pieces(from, &mut |piece| {
                io::copy(piece, &mut file)?;
                say(out, &Said::Taken)
            })
        })
    });
    match written {
        Ok(length) => say(out, &Said::Whole(length)),
        Err(error) => say(out, &Said::Failed(format!("{error:#}"))),
    }
}

fn say(out: &mut dyn Write, said: &Said) -> io::Result<()> {
    serde_json::to_writer(&mut *out, said)?;
    writeln!(out)?;
    out.flush()
}

/// Hands each piece to `take`, up to the empty one.
fn pieces(
    from: &mut dyn Read,
    take: &mut dyn FnMut(&mut dyn Read) -> io::Result<()>,
) -> io::Result<()> {
    loop {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        if length == 0 {
            return Ok(());
        }
        let mut piece = Read::take(&mut *from, length);
        take(&mut piece)?;
        if piece.limit() > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns what the child says of these bytes, and what becomes of the file.
    fn received(fed: &[u8]) -> (String, Option<Vec<u8>>) {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().join("x.tar.gz");
        let mut out = Vec::new();
        receive(&path, &mut io::Cursor::new(fed), &mut out).unwrap();
        let file = fs::read(&path).ok();
        let files = fs::read_dir(here.path()).unwrap().count();
        assert_eq!(files, usize::from(file.is_some()), "something is left");
        (String::from_utf8(out).unwrap(), file)
    }

    #[test]
    fn pieces_are_put_together_and_without_the_last_one_nothing_stays() {
        let mut fed = Pieces(Vec::new());
        fed.write_all(b"one").unwrap();
        fed.write_all(b"").unwrap();
        fed.write_all(&[7; 99_999]).unwrap();
        let mut fed = fed.0;
        let (said, file) = received(&fed);
        assert!(said.contains("failed") && file.is_none(), "{said}");
        fed.extend([0; 4]);
        let (said, file) = received(&fed);
        assert!(said.ends_with("{\"whole\":100002}\n"), "{said}");
        assert_eq!(file.unwrap(), [&b"one"[..], &[7; 99_999]].concat());
        for cut in [0, 3, 5, 7, 9, 50_000] {
            let (said, file) = received(&fed[..cut]);
            assert!(said.contains("failed") && file.is_none(), "{cut}: {said}");
        }
    }
}
