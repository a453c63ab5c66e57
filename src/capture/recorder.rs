//! What a run records while it observes.

use super::Sanitize;
use super::manifest::{LogFile, Manifest, Options, Part, SCHEMA};
use crate::evidence::Evidence;
use crate::io::files::Recorded;
use crate::io::gap::Gap;
use crate::io::packed::Packed;
use crate::io::probe::Outcome;
use crate::io::recorder::FileRecorder;
use crate::log::{LogRecorder, RecordedLog};
use crate::runtime::Runtime;
use crate::runtime::docker::Transcript;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Reasons noted of one part at most.
const MAX_REASONS: usize = 20;

/// Records what is observed, from all threads that observe.
#[derive(Debug)]
pub struct Recorder {
    logs: Mutex<LogRecorder>,
    /// Whether to ask for what explains nothing now, and may serve later.
    pub thorough: bool,
    /// Docker's answers.
    pub docker: Transcript,
    /// The host's files.
    pub host: Arc<FileRecorder>,
    sanitize: Sanitize,
    others: Mutex<Recorded>,
    parts: Mutex<Vec<Part>>,
    run: Mutex<(Options, Option<String>)>,
    watcher: Watcher,
}

/// Is called with each part that begins.
struct Watcher(Box<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// All that was recorded.
#[derive(Debug)]
pub struct Recording {
    /// What it is.
    pub manifest: Manifest,
    /// The files but for logs, by their paths in the capture.
    pub files: Recorded,
    /// The logs, by their paths.
    pub logs: BTreeMap<String, VecDeque<Packed>>,
    pub(super) node: Option<String>,
}

impl Recorder {
    /// An empty one.
    pub fn new(sanitize: Sanitize) -> Self {
        Self {
            logs: Mutex::default(),
            thorough: false,
            docker: Transcript::new(sanitize.sanitizer()),
            host: Arc::default(),
            sanitize,
            others: Mutex::default(),
            parts: Mutex::default(),
            run: Mutex::default(),
            watcher: Watcher(Box::new(|_| ())),
        }
    }

    /// Records all that may serve later, and calls `watcher` with each part that begins.
    #[must_use]
    pub fn thorough(self, watcher: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Self {
            thorough: true,
            watcher: Watcher(watcher),
            ..self
        }
    }

    /// Notes what the run goes by, and the node's name.
    pub fn set_run(&self, options: Options, node: Option<String>) {
        *lock(&self.run) = (options, node);
    }

    /// Notes that a part begins.
    pub fn begin(&self, part: &str) {
        (self.watcher.0)(part);
    }

    /// Records the files of a part that has no recorder of its own.
    pub fn add(&self, part: &str, files: impl IntoIterator<Item = (String, Vec<u8>)>) {
        lock(&self.others).extend(below(part, files));
    }

    /// Notes how long a part took, and what of it could not be seen.
    pub fn note_part(&self, name: &str, took: Duration, unseen: &[Gap]) {
        lock(&self.parts).push(Part {
            name: name.to_owned(),
            complete: unseen.is_empty(),
            seconds: took.as_secs_f64(),
            why: unseen
                .iter()
                .take(MAX_REASONS)
                .map(Gap::to_string)
                .collect(),
        });
    }

    /// The logs' recorder.
    pub fn log(&self) -> MutexGuard<'_, LogRecorder> {
        lock(&self.logs)
    }

    /// All that was recorded of the run that saw `evidence`. The manifest says what that is; who made it and when
    /// is for the caller to add.
    pub fn finish(self, evidence: &Evidence) -> Recording {
        let mut parts = std::mem::take(&mut *lock(&self.parts));
        let mut complain = |name: &str, why: String| {
            if let Some(part) = parts.iter_mut().find(|part| part.name == name) {
                part.complete = false;
                part.why.push(why);
            }
        };
        let mut files = std::mem::take(&mut *lock(&self.others));
        let (answers, lost) = self.docker.files();
        files.extend(below("docker", answers));
        if lost > 0 {
            complain(
                "docker",
                format!("{lost} answers dropped: too large to keep all"),
            );
        }
        if let Some(runtime) = &evidence.runtime {
            unanswered(runtime)
                .into_iter()
                .for_each(|why| complain("docker", why));
        }
        let mut host = self.host.finish();
        self.sanitize
            .command_lines(&mut host.files, evidence.host.as_ref());
        files.extend(below("host", host.files));
        if host.left_out > 0 {
            complain(
                "host",
                format!(
                    "{} files dropped: too many or too large to keep all",
                    host.left_out
                ),
            );
        }
        let failures = host.failures.iter().take(MAX_REASONS);
        failures.for_each(|(path, why)| complain("host", format!("{path}: {why}")));
        let mut logs = BTreeMap::new();
        let mut log_files = Vec::new();
        let rolls = std::mem::take(&mut lock(&self.logs).logs);
        for (at, roll) in rolls.into_iter().enumerate() {
            let (file, pieces) = log_file(at, roll);
            if file.left_out > 0 {
                let why = format!(
                    "{}: its first {} bytes dropped: too large to keep all",
                    file.name, file.left_out
                );
                complain("log", why);
            }
            logs.insert(file.file.clone(), pieces);
            log_files.push(file);
        }
        let (options, node) = std::mem::take(&mut *lock(&self.run));
        let manifest = Manifest {
            schema: SCHEMA.to_owned(),
            plegdoctor: env!("CARGO_PKG_VERSION").to_owned(),
            now: evidence.now.to_rfc3339(),
            with_workloads: self.sanitize == Sanitize::Nothing,
            node,
            options,
            parts,
            logs: log_files,
            gaps: evidence.gaps.clone(),
            notes: evidence.notes.clone(),
            kernel_messages_unread: evidence
                .host
                .as_ref()
                .is_some_and(|host| host.kernel_messages_unread),
            ..Manifest::default()
        };
        Recording {
            manifest,
            files,
            logs,
            node: evidence.log.as_ref().and_then(|log| log.node.clone()),
        }
    }
}

impl Recording {
    /// Whether nothing is missing in it.
    pub fn is_complete(&self) -> bool {
        self.manifest.gaps.is_empty() && self.manifest.parts.iter().all(|part| part.complete)
    }
}

fn below(
    folder: &str,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> impl Iterator<Item = (String, Vec<u8>)> {
    let name = move |(name, bytes): (String, Vec<u8>)| (format!("{folder}/{name}"), bytes);
    files.into_iter().map(name)
}

fn log_file(at: usize, roll: RecordedLog) -> (LogFile, VecDeque<Packed>) {
    let file = match at {
        0 => "kubelet.log".to_owned(),
        at => format!("kubelet-{}.log", at + 1),
    };
    let file = LogFile {
        file,
        name: roll.name,
        picked: roll.picked,
        from: roll.from.word().to_owned(),
        skips: roll.skips,
        left_out: roll.left_out,
    };
    (file, roll.pieces)
}

/// Docker's calls that were not answered.
fn unanswered(runtime: &Runtime) -> Vec<String> {
    let failed = |outcome: Outcome| !matches!(outcome, Outcome::Answered | Outcome::Gone);
    let own = runtime
        .own_calls()
        .filter(|(_, probe)| failed(probe.outcome))
        .map(|(call, probe)| format!("{call}: {}", words(probe.outcome)));
    let inspects = runtime
        .containers
        .iter()
        .filter(|container| failed(container.probe.outcome))
        .map(|container| {
            format!(
                "inspect of {}: {}",
                container.id,
                words(container.probe.outcome)
            )
        });
    let mut all: Vec<String> = own.chain(inspects).collect();
    let more = all.len().saturating_sub(MAX_REASONS);
    all.truncate(MAX_REASONS);
    if more > 0 {
        all.push(format!("… and {more} more"));
    }
    all
}

fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Answered => "answered",
        Outcome::TimedOut => "no answer in time",
        Outcome::Refused => "refused",
        Outcome::Denied => "denied",
        Outcome::Gone => "not found",
        Outcome::Error => "an error",
        Outcome::NotProbed => "not asked",
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is whole; whoever panicked left nothing half-done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
