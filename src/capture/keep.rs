//! What a run keeps while it looks, and what it comes to.

use super::{
    Privacy,
    manifest::{LogFile, Manifest, Options, Part, SCHEMA, Unseen},
};
use crate::{
    evidence::Evidence,
    io::{files::Recorded, gap::Gap, packed::Packed, probe::Outcome, tap::Tap},
    log::{Reel, Roll},
    runtime::{Runtime, docker::Tape},
};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Most reasons that are told of one part.
const REASONS: usize = 20;

/// Takes what is seen, from all threads that look.
#[derive(Debug)]
pub struct Keep {
    /// The logs' bytes.
    reel: Mutex<Reel>,
    /// Whether to ask for what explains nothing now, and may serve later.
    pub thorough: bool,
    /// Docker's answers.
    pub tape: Tape,
    /// The host's files.
    pub host: Arc<Tap>,
    privacy: Privacy,
    others: Mutex<Recorded>,
    parts: Mutex<Vec<Part>>,
    scene: Mutex<(Options, Option<String>)>,
    watcher: Watcher,
}

/// Who is told which part is begun.
struct Watcher(Box<dyn Fn(&str) + Send + Sync>);

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// All that was kept.
#[derive(Debug)]
pub struct Kept {
    /// What it is.
    pub manifest: Manifest,
    /// The files but for logs, by their paths in the capture.
    pub files: Recorded,
    /// The logs, by their paths.
    pub logs: BTreeMap<String, VecDeque<Packed>>,
    /// What the log calls the node.
    pub(super) node: Option<String>,
}

impl Keep {
    /// Returns an empty one.
    pub fn new(privacy: Privacy) -> Self {
        Self {
            reel: Mutex::default(),
            thorough: false,
            tape: Tape::new(privacy.strip()),
            host: Arc::default(),
            privacy,
            others: Mutex::default(),
            parts: Mutex::default(),
            scene: Mutex::default(),
            watcher: Watcher(Box::new(|_| ())),
        }
    }

    /// Asks for all that may serve somebody, and tells `watcher` which part is begun.
    #[must_use]
    pub fn thorough(self, watcher: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Self {
            thorough: true,
            watcher: Watcher(watcher),
            ..self
        }
    }

    /// Notes what the run goes by, and the node's name.
    pub fn scene(&self, options: Options, node: Option<String>) {
        *lock(&self.scene) = (options, node);
    }

    /// Notes that a part is begun.
    pub fn begin(&self, part: &str) {
        (self.watcher.0)(part);
    }

    /// Keeps a file that no other reader keeps: `kubelet/metrics`.
    pub fn add(&self, path: &str, bytes: &[u8]) {
        lock(&self.others).insert(path.to_owned(), bytes.to_vec());
    }

    /// Notes how long a part took, and what of it could not be seen.
    pub fn part(&self, name: &str, took: Duration, unseen: &[Gap]) {
        lock(&self.parts).push(Part {
            name: name.to_owned(),
            complete: unseen.is_empty(),
            seconds: took.as_secs_f64(),
            why: unseen.iter().take(REASONS).map(Gap::to_string).collect(),
        });
    }

    /// Returns where logs are kept.
    pub fn reel(&self) -> MutexGuard<'_, Reel> {
        lock(&self.reel)
    }

    /// Returns all that was kept of the run that saw `evidence`. The manifest says what was kept; who made it and when
    /// is for the caller to add.
    pub fn finish(self, evidence: &Evidence) -> Kept {
        let mut parts = std::mem::take(&mut *lock(&self.parts));
        let mut complain = |name: &str, why: String| {
            if let Some(part) = parts.iter_mut().find(|part| part.name == name) {
                part.complete = false;
                part.why.push(why);
            }
        };
        let mut files = std::mem::take(&mut *lock(&self.others));
        let (answers, lost) = self.tape.files();
        files.extend(below("docker", answers));
        if lost > 0 {
            complain("docker", format!("{lost} answers found no room"));
        }
        if let Some(runtime) = &evidence.runtime {
            unanswered(runtime)
                .into_iter()
                .for_each(|why| complain("docker", why));
        }
        let mut host = self.host.close();
        self.privacy
            .command_lines(&mut host.files, evidence.host.as_ref());
        files.extend(below("host", host.files));
        if host.left_out > 0 {
            complain("host", format!("{} files found no room", host.left_out));
        }
        let failures = host.failures.iter().take(REASONS);
        failures.for_each(|(path, why)| complain("host", format!("{path}: {why}")));
        let mut logs = BTreeMap::new();
        let mut log_files = Vec::new();
        let rolls = std::mem::take(&mut lock(&self.reel).rolls);
        for (at, roll) in rolls.into_iter().enumerate() {
            let (file, pieces) = log_file(at, roll);
            if file.left_out > 0 {
                let why = format!(
                    "{}: its first {} bytes found no room",
                    file.name, file.left_out
                );
                complain("log", why);
            }
            logs.insert(file.file.clone(), pieces);
            log_files.push(file);
        }
        let (options, node) = std::mem::take(&mut *lock(&self.scene));
        let manifest = Manifest {
            schema: SCHEMA.to_owned(),
            plegdoctor: env!("CARGO_PKG_VERSION").to_owned(),
            now: evidence.now.to_rfc3339(),
            with_workloads: self.privacy == Privacy::WithWorkloads,
            node,
            options,
            parts,
            logs: log_files,
            gaps: evidence.gaps.iter().map(Unseen::from).collect(),
            notes: evidence.notes.clone(),
            kernel_messages_unread: evidence
                .host
                .as_ref()
                .is_some_and(|host| host.kernel_messages_unread),
            ..Manifest::default()
        };
        Kept {
            manifest,
            files,
            logs,
            node: evidence.log.as_ref().and_then(|log| log.node.clone()),
        }
    }
}

impl Kept {
    /// Returns whether all is in it that was to be seen.
    pub fn is_complete(&self) -> bool {
        self.manifest.gaps.is_empty() && self.manifest.parts.iter().all(|part| part.complete)
    }
}

fn below(folder: &str, files: Recorded) -> impl Iterator<Item = (String, Vec<u8>)> {
    let name = move |(name, bytes): (String, Vec<u8>)| (format!("{folder}/{name}"), bytes);
    files.into_iter().map(name)
}

fn log_file(at: usize, roll: Roll) -> (LogFile, VecDeque<Packed>) {
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

/// Returns which of Docker's calls were not answered.
fn unanswered(runtime: &Runtime) -> Vec<String> {
    let failed = |outcome: Outcome| !matches!(outcome, Outcome::Answered | Outcome::Gone);
    let own = runtime
        .own_calls()
        .into_iter()
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
    let more = all.len().saturating_sub(REASONS);
    all.truncate(REASONS);
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
