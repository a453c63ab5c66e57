//! Follows a log that is written to: a file through rotation and truncation, a journal, or a pipe.
//!
//! What is there already is read first. An event comes soon after its line: where nothing more comes for a moment, the
//! last message counts as whole, and what waits for its year and zone is dated by the hints. One log at a time; a
//! container's is left to `docker logs --follow`.

mod file;
mod journal;
mod rotated;

use super::{ReadFrom, Sink, file_kind, ingest::Ingest, tar_reader::is_tar, workers::BLOCK};
use crate::io::child::{LAST_BREATH, Running};
use crate::io::decompress::Compression;
use crate::log::options::{LogOptions, Moments};
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Blocks that may wait for the parser.
const MAX_AHEAD: usize = 4;
/// Silence after which nothing waits for year and zone any longer.
const DATE_TIMEOUT: Duration = Duration::from_millis(100);
/// Silence after which a message is complete.
const MESSAGE_TIMEOUT: Duration = Duration::from_millis(400);
/// How long anything waits for year and zone in a log that is never silent.
const MAX_DATE_WAIT: Duration = Duration::from_secs(1);

/// What following needs besides a sink of events.
pub struct FollowHooks<'a> {
    /// Returns the current time, by which a log that begins is dated.
    pub now: &'a dyn Fn() -> Time,
    /// Returns whether to continue; called several times a second.
    pub keep_going: &'a dyn Fn() -> bool,
    /// Takes gaps and notes, as they come.
    pub warn: &'a mut dyn FnMut(&str),
}

enum Message {
    /// The log begins, perhaps again.
    Start(ReadFrom),
    Block(Vec<u8>),
    /// A gap or a note.
    Warning(String),
    /// The log cannot be read at all.
    Failed(anyhow::Error),
}

/// Follows the one log that `options` name, and hands its events to `sink`, until `hooks` or `sink` end it, or a pipe or
/// journalctl ends.
///
/// # Errors
/// Not one log is named, or it cannot be read; or journalctl fails.
pub fn follow(
    options: &LogOptions,
    moments: &Moments,
    hooks: &mut FollowHooks<'_>,
    sink: &mut dyn Sink,
) -> anyhow::Result<()> {
    let (to, from) = sync_channel(MAX_AHEAD);
    // A thread that polls a file ends once this is dropped.
    let alive = Arc::new(());
    let (name, mut running) = match (options.files.as_slice(), &options.journal) {
        ([path], None) => (start_file(path, &alive, to)?, None),
        ([], Some(unit)) if options.journal_from.is_empty() => {
            let (name, running) =
                journal::start(OsStr::new("journalctl"), unit, moments.since, to)?;
            (name, Some(running))
        }
        _ => bail!(
            "--follow takes one log: --log FILE or --journal=UNIT; for a container use `docker logs --follow NAME 2>&1 | plegdoctor events --follow --log -`"
        ),
    };
    let mut ingest = Ingest::new(moments, sink);
    let dated = options.now_given;
    let followed = ingest_all(&name, dated, &from, hooks, &mut ingest);
    ingest.end();
    warn(&name, hooks, &mut ingest);
    let ended = followed.with_context(|| format!("can't read {name}"))?;
    match &mut running {
        Some(running) if ended => {
            check_status(running).with_context(|| format!("can't read {name}"))
        }
        _ => Ok(()),
    }
}

/// Returns whether the log came to its own end.
fn ingest_all(
    name: &str,
    dated: bool,
    from: &Receiver<Message>,
    hooks: &mut FollowHooks<'_>,
    ingest: &mut Ingest<'_>,
) -> anyhow::Result<bool> {
    let (mut last, mut settled) = (Instant::now(), Instant::now());
    let (mut waits, mut first) = (false, true);
    while ingest.wants_more() && (hooks.keep_going)() {
        match from.recv_timeout(if waits { DATE_TIMEOUT } else { MESSAGE_TIMEOUT }) {
            Ok(Message::Start(opening)) => {
                if !dated {
                    ingest.set_now((hooks.now)());
                }
                ingest.start(name, false, opening);
            }
            Ok(Message::Block(block)) => {
                if std::mem::take(&mut first) {
                    require_text(&block)?;
                }
                ingest.block(&block);
                (last, waits) = (Instant::now(), true);
                if settled.elapsed() > MAX_DATE_WAIT {
                    ingest.settle(false);
                    settled = Instant::now();
                }
            }
            Ok(Message::Warning(text)) => (hooks.warn)(&format!("{name}: {text}")),
            Ok(Message::Failed(error)) => return Err(error),
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) if waits => {
                let silent = last.elapsed() >= MESSAGE_TIMEOUT;
                ingest.settle(silent);
                waits = !silent;
                settled = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        warn(name, hooks, ingest);
    }
    Ok(false)
}

/// # Errors
/// `head` begins no text; with the cure.
fn require_text(head: &[u8]) -> anyhow::Result<()> {
    let kind = match Compression::detect(head) {
        Some(compression) => format!("compressed ({})", compression.name()),
        None if is_tar(head) => "an archive".to_owned(),
        None => return file_kind::require_text(head, "FILE"),
    };
    bail!("it is {kind}, and --follow takes only text: leave out --follow")
}

/// Passes on the new gaps and notes.
fn warn(name: &str, hooks: &mut FollowHooks<'_>, ingest: &mut Ingest<'_>) {
    let reading = &mut ingest.reading;
    reading.sources.clear();
    for gap in reading.gaps.drain(..) {
        (hooks.warn)(&format!("{name}: {}", gap.why));
    }
    for note in reading.notes.drain(..) {
        (hooks.warn)(&note);
    }
}

/// # Errors
/// journalctl failed.
fn check_status(running: &mut Running) -> anyhow::Result<()> {
    match running.wait(LAST_BREATH) {
        Some(status) if !status.success() => bail!("journalctl failed ({status})"),
        _ => Ok(()),
    }
}

/// Starts to read the file or pipe at `path`, or standard input; returns its name.
///
/// # Errors
/// It is nothing that can be followed, or cannot be opened.
fn start_file(path: &Path, alive: &Arc<()>, to: SyncSender<Message>) -> anyhow::Result<String> {
    let alive = Arc::downgrade(alive);
    let owned = path.to_owned();
    if path.as_os_str() == "-" {
        let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        if stdin.metadata()?.is_dir() {
            bail!("standard input is a directory: name a file in it with --log FILE");
        }
        spawn(move || send_pipe(Ok(stdin), &to))?;
        return Ok("standard input".to_owned());
    }
    let name = path.display().to_string();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            bail!("{name} is a directory: name a file in it with --log FILE")
        }
        // A pipe is open once it has a writer, which may take its time.
        Ok(metadata) if !metadata.is_file() => spawn(move || send_pipe(File::open(owned), &to))?,
        Ok(_) => {
            // A file that cannot be read now is an error; a later one is waited for.
            let opened = File::open(path).map_err(|error| file_kind::explain_open(&error));
            opened.with_context(|| format!("can't read {name}"))?;
            spawn(move || file::follow(&owned, &alive, &to))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            spawn(move || file::follow(&owned, &alive, &to))?;
        }
        Err(error) => {
            return Err(file_kind::explain_open(&error))
                .with_context(|| format!("can't read {name}"));
        }
    }
    Ok(name)
}

fn spawn(read: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(read)
        .map(drop)
}

fn send_pipe(opened: io::Result<File>, to: &SyncSender<Message>) {
    let sent = opened.and_then(|pipe| {
        // The receiver may be gone.
        drop(to.send(Message::Start(ReadFrom::Start)));
        send_blocks(pipe, to)
    });
    if let Err(error) = sent {
        drop(to.send(Message::Failed(file_kind::explain_open(&error))));
    }
}

/// Sends blocks of `from` until it ends, or the receiver is gone.
fn send_blocks(mut from: impl io::Read, to: &SyncSender<Message>) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    loop {
        match from.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                if to.send(Message::Block(block[..read].to_vec())).is_err() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
