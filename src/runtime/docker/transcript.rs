//! Keeps each call and its answer as it came, in the form that `recording` replays: an index, and a file for each
//! body. What of a body may be kept is for the one who keeps it to say.

use super::{Container, Outcome, Probe, http::Answer, stacks::PATH as STACKS};
use crate::{io::exchange::Exchange, syntax::id::ContainerId};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Most bytes that are kept of all bodies.
const MAX_BYTES: usize = 256 << 20;

/// Returns what may be kept of the body of a path's answer.
pub type Sanitize = fn(path: &str, body: Vec<u8>) -> Vec<u8>;

/// The calls that were made. Clones share it.
#[derive(Clone, Debug)]
pub struct Transcript {
    sanitize: Sanitize,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    calls: BTreeMap<String, Recorded>,
    /// What `/_ping` said of the daemon.
    api_version: Option<String>,
    server: Option<String>,
    /// The inspects that were pending when the stacks were asked for.
    pending: Vec<ContainerId>,
    bytes: usize,
    left_out: usize,
}

#[derive(Debug)]
struct Recorded {
    outcome: Outcome,
    missing: bool,
    took: Duration,
    body: Vec<u8>,
    /// Of the body as it came; more if it broke off.
    length: Length,
}

#[derive(Clone, Copy, Debug)]
enum Length {
    Whole(u64),
    BrokeOff(u64),
}

impl Transcript {
    /// Returns a transcript that keeps of each body what `sanitize` leaves.
    pub fn new(sanitize: Sanitize) -> Self {
        Self {
            sanitize,
            inner: Arc::default(),
        }
    }

    /// Keeps an answer, which had `came` bytes when it came; `missing`: there was no socket at all.
    pub(super) fn answer(&self, path: &str, answer: &Answer, came: u64, missing: bool) {
        let Answer {
            probe,
            headers,
            body,
        } = answer;
        if path == "/_ping" {
            let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
            let mut inner = self.inner();
            (inner.api_version, inner.server) = (header("api-version"), header("server"));
        }
        self.keep(path, probe, missing, body.clone(), Length::Whole(came));
    }

    /// Keeps the daemon's stacks: how many bytes came, and whether that was all.
    pub(super) fn stacks(
        &self,
        probe: &Probe,
        dump: Vec<u8>,
        (came, whole): (u64, bool),
        pending: &[ContainerId],
    ) {
        self.inner().pending = pending.to_vec();
        let length = match whole {
            true => Length::Whole(came),
            false => Length::BrokeOff(came),
        };
        self.keep(STACKS, probe, false, dump, length);
    }

    /// Keeps which containers were not asked for, and why.
    pub(super) fn not_asked(&self, containers: &[Container]) {
        for container in containers {
            let id = &container.id;
            if container.probe.outcome == Outcome::NotProbed {
                let path = format!("/containers/{id}/json");
                self.keep(&path, &container.probe, false, Vec::new(), Length::Whole(0));
            }
        }
    }

    fn keep(&self, path: &str, probe: &Probe, missing: bool, body: Vec<u8>, length: Length) {
        let body = match probe.outcome {
            Outcome::Answered => (self.sanitize)(path, body),
            _ => probe.error.clone().unwrap_or_default().into_bytes(),
        };
        let mut inner = self.inner();
        if inner.bytes + body.len() > MAX_BYTES {
            inner.left_out += 1;
            return;
        }
        inner.bytes += body.len();
        let call = Recorded {
            outcome: probe.outcome,
            missing: missing && probe.outcome == Outcome::Refused,
            took: probe.took,
            body,
            length,
        };
        inner.calls.insert(path.to_owned(), call);
    }

    /// Returns the files of the recording, and how many answers found no room. Without a call there is none.
    pub fn files(&self) -> (BTreeMap<String, Vec<u8>>, usize) {
        let mut inner = self.inner();
        let inner = std::mem::take(&mut *inner);
        let (mut files, mut index) = (BTreeMap::new(), String::new());
        for (path, call) in inner.calls {
            let answered = call.outcome == Outcome::Answered;
            let file = match call.body.is_empty() {
                true => "-".to_owned(),
                false => file(&path, answered, files.len()),
            };
            let length = match call.length {
                Length::Whole(length) if length == call.body.len() as u64 || !answered => None,
                Length::Whole(length) => Some(length.to_string()),
                Length::BrokeOff(length) => Some(format!(">{length}")),
            };
            let exchange = Exchange {
                request: &path,
                outcome: call.outcome,
                missing: call.missing,
                status: answered.then_some(200),
                took: call.took,
                file: Some(&*file),
                more: length.as_deref().into_iter().collect(),
            };
            index.push_str(&exchange.to_string());
            if !call.body.is_empty() {
                files.insert(file, call.body);
            }
        }
        if index.is_empty() {
            return (BTreeMap::new(), 0);
        }
        files.insert("index".to_owned(), index.into_bytes());
        let line = |text: String| format!("{text}\n").into_bytes();
        let told = [("api-version", inner.api_version), ("server", inner.server)];
        for (name, text) in told {
            files.extend(text.map(|text| (name.to_owned(), line(text))));
        }
        if files.contains_key(STACKS_FILE) {
            let ids: Vec<String> = inner.pending.iter().map(ContainerId::to_string).collect();
            files.insert("pending".to_owned(), line(ids.join("\n")));
        }
        (files, inner.left_out)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Each change is whole; whoever panicked left nothing half-done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file of the daemon's stacks.
const STACKS_FILE: &str = "stacks.txt";

/// Returns the name of the file of a path's body; `number` tells apart what has no better name.
fn file(path: &str, answered: bool, number: usize) -> String {
    let inspected = path
        .strip_prefix("/containers/")
        .and_then(|rest| rest.strip_suffix("/json"))
        .filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    match (path, inspected) {
        _ if !answered => format!("error-{number}.txt"),
        ("/_ping", _) => "ping.txt".to_owned(),
        ("/version", _) => "version.json".to_owned(),
        ("/info", _) => "info.json".to_owned(),
        ("/containers/json?all=1", _) => "containers.json".to_owned(),
        (STACKS, _) => STACKS_FILE.to_owned(),
        (_, Some(id)) => format!("inspect-{}.json", id.get(..12).unwrap_or(id)),
        _ => format!("body-{number}"),
    }
}

#[cfg(test)]
mod tests;
