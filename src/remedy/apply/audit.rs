//! `--audit`: a JSON line before each removal or other action and one after it, so that a machine's history can be told later.
//!
//! The file is appended to, and an intent is on the disk before its action begins; where that takes too long or
//! fails, nothing is done. A thread of its own opens and writes, so that a dead NFS or a FIFO that nobody reads
//! can't hold us up; it is left behind if it hangs, and then a line that was given up may still arrive. A symbolic
//! link is followed, as by any program that appends: keep the file where only root may write. Lines are not
//! rotated, and not read back.

use crate::finding::action::Action;
use crate::finding::outcome::Outcome;
use crate::finding::plan::Target;
use crate::syntax::id::{ContainerId, PodName};
use crate::syntax::json::{JsonSchema as _, json_object};
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use chrono::{SecondsFormat, TimeDelta};
use rustix::{fs::OFlags, process::geteuid};
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::{Duration, Instant};
use std::{io, thread};

/// How long opening, or writing and syncing one line, may take. A sync on a busy disk takes a second or two.
const DEADLINE: Duration = Duration::from_secs(5);
/// Lines that are written and synced in one go, if so many wait.
const TOGETHER: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start: Time,
    began: Instant,
}

impl Clock {
    pub fn starting(now: Time) -> Self {
        Self {
            start: now,
            began: Instant::now(),
        }
    }

    pub fn now(&self) -> Time {
        TimeDelta::from_std(self.began.elapsed())
            .ok()
            .and_then(|passed| self.start.checked_add_signed(passed))
            .unwrap_or(self.start)
    }
}

#[derive(Debug)]
pub struct Audit {
    path: PathBuf,
    clock: Clock,
    lines: Sender<Line>,
    /// A write was given up: the thread may hang for ever, and nobody waits for it again.
    stuck: AtomicBool,
}

struct Line {
    text: Vec<u8>,
    done: SyncSender<Result<(), String>>,
}

#[derive(Default)]
pub(super) struct Entry<'a> {
    time: String,
    event: &'static str,
    action: &'static str,
    target: String,
    id: Option<&'a ContainerId>,
    name: &'a str,
    pod: Option<&'a PodName>,
    state: Option<&'a str>,
    pid: Option<u32>,
    outcome: Option<&'static str>,
    reason: Option<&'a str>,
    before: Option<&'a str>,
    after: Option<&'a str>,
    proof: Option<&'a str>,
}

json_object! {
    Entry<'_> as it, document "plegdoctor.audit/1",
    "One line of the file that `plegdoctor clean --audit FILE` and `plegdoctor diagnose --fix` append to" {
        time: String => {"format": "date-time"},
        /// intent: about to be done; result: what became of it
        event: &str = it.event => {"enum": ["intent", "result"]},
        /// What is done
        action: &str = it.action => {"enum": Action::json_schema()["enum"]},
        /// The target, in words
        target: String,
        /// The container that is removed, or that a process works on
        id: Option<&ContainerId> = it.id,
        /// The name of a container that is removed
        name: &str = it.name,
        pod: Option<&str> = it.pod.map(|pod| &*pod.name),
        /// The pod's namespace
        namespace: Option<&str> = it.pod.map(|pod| &*pod.namespace),
        /// The state of a container that is removed
        state: Option<&str> = it.state => {"enum": ["dead", "removing", "exited", "created", null]},
        /// The process that is signalled, or that sits in the mount's namespace
        pid: Option<u32>,
        /// null for an intent
        outcome: Option<&str> = it.outcome => {"enum": [
            "removed", "gone", "changed", "failed", "unanswered", "done", "unproven", "not_needed", "interrupted", null,
        ]},
        reason: Option<&str> = it.reason,
        /// What was seen right before
        before: Option<&str> = it.before,
        /// What was seen after
        after: Option<&str> = it.after,
        /// What shows that it worked
        proof: Option<&str> = it.proof,
    }
}

/// The schema of a line.
pub fn schema() -> Value {
    let mut schema = Entry::json_schema();
    schema["if"] = json!({"properties": {"event": {"const": "intent"}}});
    schema["then"] =
        json!({"properties": {"outcome": {"type": "null"}, "reason": {"type": "null"}}});
    schema["else"] = json!({"properties": {"outcome": {"type": "string"}}});
    schema
}

impl<'a> Entry<'a> {
    pub(super) fn intent(action: &'a Action) -> Self {
        let target = action.target();
        Self {
            event: "intent",
            action: action.word(),
            target: action.describe(),
            id: target.container,
            pid: target.pid,
            ..Self::default()
        }
    }

    pub(super) fn result(action: &'a Action, outcome: &'a Outcome) -> Self {
        Self {
            event: "result",
            outcome: Some(outcome.status.word()),
            reason: outcome.reason.as_deref(),
            before: outcome.before.as_deref(),
            after: outcome.after.as_deref(),
            proof: outcome.proof.as_deref(),
            ..Self::intent(action)
        }
    }

    fn removal(target: &'a Target) -> Self {
        Self {
            event: "intent",
            action: "remove-container",
            target: format!("remove container {}", target.id.short()),
            id: Some(&target.id),
            name: &target.name,
            pod: target.pod.as_ref(),
            state: Some(target.state.as_str()),
            ..Self::default()
        }
    }
}

impl Audit {
    pub fn open(path: &Path, clock: Clock) -> anyhow::Result<Self> {
        Self::start(path, clock, open)
    }

    /// Opens `path`, a name that is not the user's choice, in a folder where others may write: a link is not followed,
    /// and what is there already must be a file of our own that nobody reaches by another name. Others can't read it.
    pub fn open_own(path: &Path, clock: Clock) -> anyhow::Result<Self> {
        Self::start(path, clock, open_own)
    }

    fn start(
        path: &Path,
        clock: Clock,
        open: fn(&Path) -> anyhow::Result<(File, bool)>,
    ) -> anyhow::Result<Self> {
        let context = || format!("can't open the audit file {}", path.display());
        let (lines, queue) = mpsc::channel();
        let (opened, answer) = mpsc::sync_channel(1);
        let owned = path.to_owned();
        thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || match open(&owned) {
                Ok((file, torn)) => {
                    // Whoever asked may have given up; then nothing comes through the queue.
                    let _ = opened.send(Ok(()));
                    write_lines(file, torn, &queue);
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            })
            .with_context(context)?;
        match answer.recv_timeout(DEADLINE) {
            Ok(opened) => opened.with_context(context)?,
            Err(_) => {
                let seconds = DEADLINE.as_secs();
                return Err(anyhow::anyhow!("timed out after {seconds} s")).with_context(context);
            }
        }
        Ok(Self {
            path: path.to_owned(),
            clock,
            lines,
            stuck: AtomicBool::new(false),
        })
    }

    /// Records that `target` is about to be removed; returns once that is on the disk.
    ///
    /// # Errors
    /// It is not, or not in time: do not remove.
    pub fn intent(&self, target: &Target) -> anyhow::Result<()> {
        self.record(Entry::removal(target))
    }

    pub fn result(&self, target: &Target, outcome: &Outcome) -> anyhow::Result<()> {
        self.record(Entry {
            event: "result",
            outcome: Some(outcome.status.removal_word()),
            reason: outcome.reason.as_deref(),
            ..Entry::removal(target)
        })
    }

    /// Records an entry, as of now; returns once that is on the disk.
    pub(super) fn record(&self, mut entry: Entry<'_>) -> anyhow::Result<()> {
        let context = || format!("can't write the audit file {}", self.path.display());
        if self.stuck.load(Ordering::Relaxed) {
            return Err(anyhow::anyhow!("it hung before")).with_context(context);
        }
        let now = self.clock.now();
        entry.time = now.to_rfc3339_opts(SecondsFormat::Millis, true);
        let mut text = serde_json::to_vec(&entry).with_context(context)?;
        text.push(b'\n');
        let (done, answer) = mpsc::sync_channel(1);
        // If the thread is gone, so is `done`, and the answer says so.
        let _ = self.lines.send(Line { text, done });
        match answer.recv_timeout(DEADLINE) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(anyhow::anyhow!(error)).with_context(context),
            Err(RecvTimeoutError::Timeout) => {
                self.stuck.store(true, Ordering::Relaxed);
                let seconds = DEADLINE.as_secs();
                Err(anyhow::anyhow!("timed out after {seconds} s")).with_context(context)
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(anyhow::anyhow!("its writer ended")).with_context(context)
            }
        }
    }
}

/// Opens the file, and tells whether its last line was cut short.
fn open(path: &Path) -> anyhow::Result<(File, bool)> {
    // Reading is for the last byte. It also opens a FIFO without waiting for a reader.
    let file = appending().open(path)?;
    with_end(file)
}

/// … if it is our own, or new.
fn open_own(path: &Path) -> anyhow::Result<(File, bool)> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = appending()
        .mode(0o600)
        .custom_flags(i32::try_from(flags.bits())?)
        .open(path)?;
    let metadata = file.metadata()?;
    let ours = metadata.uid() == geteuid().as_raw() && metadata.nlink() == 1;
    if !(metadata.is_file() && ours) {
        bail!("another user's file is in its place: name a file with --audit");
    }
    with_end(file)
}

fn appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    options
}

fn with_end(file: File) -> anyhow::Result<(File, bool)> {
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        bail!("it is a directory");
    }
    let mut last = [b'\n'];
    if metadata.is_file() && metadata.len() > 0 {
        file.read_exact_at(&mut last, metadata.len() - 1)?;
    }
    Ok((file, last != [b'\n']))
}

/// Writes what comes through `queue` until nobody can send any more.
fn write_lines(mut file: File, mut torn: bool, queue: &Receiver<Line>) {
    while let Ok(first) = queue.recv() {
        let mut batch = vec![first];
        batch.extend(queue.try_iter().take(TOGETHER - 1));
        let mut bytes = Vec::new();
        if torn {
            bytes.push(b'\n');
        }
        for line in &batch {
            bytes.extend_from_slice(&line.text);
        }
        let written = write_synced(&mut file, &bytes);
        // Part of it may stand there now; the next line must not be glued to that.
        torn = written.is_err();
        for line in batch {
            let told = written.as_ref().map(|&()| ()).map_err(ToString::to_string);
            let _ = line.done.send(told);
        }
    }
}

fn write_synced(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_data()
}

#[cfg(test)]
mod tests;
