//! Goes on with a log that is written to: a file, whatever becomes of it, a journal, or a pipe.
//!
//! What is there already is read first. An event comes out soon after its line: where nothing more comes for a moment,
//! the last message is taken for whole, and what waits for its year and zone is dated by the hints. One log at a time;
//! a container's is left to `docker logs --follow`.

mod between;
mod file;
mod journal;

use super::{
    Sink, archive,
    intake::{Intake, Opening},
    open,
};
use crate::io::decompress;
use crate::{
    io::child::{LAST_BREATH, Running},
    log::options::{LogOptions, Moments},
    syntax::time::Time,
};
use anyhow::{Context as _, bail};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    os::fd::AsFd as _,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How many blocks wait for the parser.
const AHEAD: usize = 4;
/// How much is read at a time.
const BLOCK: usize = 256 << 10;
/// After so long without a byte, what waits for year and zone waits no longer.
const MOMENT: Duration = Duration::from_millis(100);
/// After so long without a byte, a message goes on no more.
const SILENCE: Duration = Duration::from_millis(400);
/// So long at most anything waits for year and zone in a log that is never silent.
const LONGEST: Duration = Duration::from_secs(1);

/// What goes along with following, besides the events.
pub struct Along<'a> {
    /// Returns the present, by which a log that begins is dated.
    pub now: &'a dyn Fn() -> Time,
    /// Returns whether to go on; asked several times a second.
    pub go_on: &'a dyn Fn() -> bool,
    /// Learns what could not be seen, or is to be known, as it happens.
    pub tell: &'a mut dyn FnMut(&str),
}

/// What comes of a log.
enum Message {
    /// It begins, perhaps again.
    Start(Opening),
    /// Its next bytes.
    Block(Vec<u8>),
    /// Something of it was not seen, or is to be known.
    Told(String),
    /// It cannot be read at all.
    Failed(anyhow::Error),
}

/// Follows the one log that `args` name, and hands its events to `sink`, until `along` or `sink` want no more, or a
/// pipe or journalctl ends.
///
/// # Errors
/// Not one log is named, or it cannot be read; or journalctl fails.
pub fn follow(
    args: &LogOptions,
    moments: &Moments,
    along: &mut Along<'_>,
    sink: &mut dyn Sink,
) -> anyhow::Result<()> {
    let (to, from) = sync_channel(AHEAD);
    // Who looks at a file again and again ends once this is let go.
    let leash = Arc::new(());
    let (name, mut running) = match (args.files.as_slice(), &args.journal) {
        ([path], None) => (start_file(path, &leash, to)?, None),
        ([], Some(unit)) if args.journal_from.is_empty() => {
            let (name, running) =
                journal::start(OsStr::new("journalctl"), unit, moments.since, to)?;
            (name, Some(running))
        }
        _ => bail!(
            "--follow goes on with one log: name it with --log FILE or --journal=UNIT; a container's with `docker logs --follow NAME 2>&1 | plegdoctor events --follow --log -`"
        ),
    };
    let mut intake = Intake::new(moments, sink);
    let dated = args.now_given;
    let followed = take_all(&name, dated, &from, along, &mut intake);
    intake.end();
    tell(&name, along, &mut intake);
    let ended = followed.with_context(|| format!("can't read {name}"))?;
    match &mut running {
        Some(running) if ended => verdict(running).with_context(|| format!("can't read {name}")),
        _ => Ok(()),
    }
}

/// Takes what comes; returns whether it came to its own end.
fn take_all(
    name: &str,
    dated: bool,
    from: &Receiver<Message>,
    along: &mut Along<'_>,
    intake: &mut Intake<'_>,
) -> anyhow::Result<bool> {
    let (mut last, mut settled) = (Instant::now(), Instant::now());
    let (mut waits, mut first) = (false, true);
    while intake.goes_on() && (along.go_on)() {
        match from.recv_timeout(if waits { MOMENT } else { SILENCE }) {
            Ok(Message::Start(opening)) => {
                if !dated {
                    intake.set_now((along.now)());
                }
                intake.start(name, false, opening);
            }
            Ok(Message::Block(block)) => {
                if std::mem::take(&mut first) {
                    refuse(&block)?;
                }
                intake.block(&block);
                (last, waits) = (Instant::now(), true);
                if settled.elapsed() > LONGEST {
                    intake.settle(false);
                    settled = Instant::now();
                }
            }
            Ok(Message::Told(words)) => (along.tell)(&format!("{name}: {words}")),
            Ok(Message::Failed(error)) => return Err(error),
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
            Err(RecvTimeoutError::Timeout) if waits => {
                let silent = last.elapsed() >= SILENCE;
                intake.settle(silent);
                waits = !silent;
                settled = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        tell(name, along, intake);
    }
    Ok(false)
}

/// Refuses what is no text, by its beginning.
///
/// # Errors
/// It is; with the cure.
fn refuse(head: &[u8]) -> anyhow::Result<()> {
    let form = match decompress::Kind::of(head) {
        Some(kind) => format!("compressed ({})", kind.name()),
        None if archive::is_tar(head) => "an archive".to_owned(),
        None => return open::refuse(head, "FILE"),
    };
    bail!("it is {form}, and only text is followed: leave out --follow")
}

/// Tells what the intake has put down since the last time.
fn tell(name: &str, along: &mut Along<'_>, intake: &mut Intake<'_>) {
    let reading = &mut intake.reading;
    reading.sources.clear();
    for gap in reading.gaps.drain(..) {
        (along.tell)(&format!("{name}: {}", gap.why));
    }
    for note in reading.notes.drain(..) {
        (along.tell)(&note);
    }
}

/// # Errors
/// journalctl failed.
fn verdict(running: &mut Running) -> anyhow::Result<()> {
    match running.wait(LAST_BREATH) {
        Some(status) if !status.success() => bail!("journalctl failed ({status})"),
        _ => Ok(()),
    }
}

/// Starts to read the file or pipe at `path`, or standard input; returns its name.
///
/// # Errors
/// It is nothing that can be followed, or cannot be looked at.
fn start_file(path: &Path, leash: &Arc<()>, to: SyncSender<Message>) -> anyhow::Result<String> {
    let leash = Arc::downgrade(leash);
    let owned = path.to_owned();
    if path.as_os_str() == "-" {
        let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        if stdin.metadata()?.is_dir() {
            bail!("standard input is a directory: name a file in it with --log FILE");
        }
        begin(move || stream(Ok(stdin), &to))?;
        return Ok("standard input".to_owned());
    }
    let name = path.display().to_string();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            bail!("{name} is a directory: name a file in it with --log FILE")
        }
        // A pipe is open once it has a writer, which may take its time.
        Ok(metadata) if !metadata.is_file() => begin(move || stream(File::open(owned), &to))?,
        Ok(_) => {
            // What may not be read now is an error; what becomes of it later is waited for.
            let opened = File::open(path).map_err(|error| open::explain(&error));
            opened.with_context(|| format!("can't read {name}"))?;
            begin(move || file::follow(&owned, &leash, &to))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            begin(move || file::follow(&owned, &leash, &to))?;
        }
        Err(error) => {
            return Err(open::explain(&error)).with_context(|| format!("can't read {name}"));
        }
    }
    Ok(name)
}

/// Starts a thread that reads.
fn begin(read: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(read)
        .map(drop)
}

/// Sends what a pipe gives, to its end.
fn stream(opened: io::Result<File>, to: &SyncSender<Message>) {
    let sent = opened.and_then(|pipe| {
        // Nobody may be listening any more; there is nothing to do then.
        drop(to.send(Message::Start(Opening::Start)));
        pass_on(pipe, to)
    });
    if let Err(error) = sent {
        drop(to.send(Message::Failed(open::explain(&error))));
    }
}

/// Sends what `from` gives, block by block, until it ends or nobody listens.
fn pass_on(mut from: impl io::Read, to: &SyncSender<Message>) -> io::Result<()> {
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
