//! A daemon's answers from a folder or a capture, replayed without waiting: what `transcript` keeps.
//!
//! `index` has a line for each call (`Exchange`): path … file of the body (or the JSON itself). A field of its own is the length of the body as it came, if less of it is kept; `>` before
//! it: it broke off there. `api-version` and `server` hold what `/_ping` said of it, `pending` the containers whose
//! inspect was pending when the stacks were asked for. A path without a line is answered with 404, as by a daemon
//! that knows nothing of it.

use super::{Outcome, Probe};
use crate::io::exchange::Exchange;
use crate::io::http::{Answer, unhappy};
use crate::syntax::id::ContainerId;
use anyhow::{Context as _, bail};
use hyper::{HeaderMap, StatusCode, header::HeaderValue};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// The files of a recording, by name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A daemon's answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    answers: HashMap<String, Recorded>,
    headers: HeaderMap,
    pending: Option<Vec<ContainerId>>,
}

#[derive(Clone, Debug)]
struct Recorded {
    outcome: Outcome,
    missing: bool,
    status: u16,
    took: Duration,
    body: Vec<u8>,
    /// Bytes of the body as it came.
    length: u64,
    /// Whether the body came to its end.
    whole: bool,
}

impl Recording {
    /// Reads the recording that these files are.
    pub(super) fn open(files: &Files) -> anyhow::Result<Self> {
        let text = |name: &str| files.get(name).map(|bytes| String::from_utf8_lossy(bytes));
        let index = text("index").context("it has no index of Docker's answers")?;
        let mut recording = Self::default();
        for line in index.lines().filter(|line| !line.is_empty()) {
            let (path, recorded) = entry(files, line)
                .with_context(|| format!("index: {line:?} is no answer of Docker's"))?;
            recording.answers.insert(path, recorded);
        }
        for name in ["api-version", "server"] {
            let value = text(name).and_then(|text| HeaderValue::from_str(text.trim()).ok());
            recording
                .headers
                .extend(value.map(|value| (hyper::header::HeaderName::from_static(name), value)));
        }
        recording.pending =
            text("pending").map(|text| text.lines().filter_map(ContainerId::parse).collect());
        Ok(recording)
    }

    /// Returns whether there was no socket at all.
    pub(super) fn is_missing(&self) -> bool {
        self.answers
            .get("/_ping")
            .is_some_and(|recorded| recorded.missing)
    }

    /// Returns the containers whose inspect was pending when the stacks were taken, by id.
    pub(super) fn pending(&self) -> Vec<ContainerId> {
        if let Some(pending) = &self.pending {
            return pending.clone();
        }
        let timed_out = |(path, recorded): (&String, &Recorded)| {
            let id = path.strip_prefix("/containers/")?.strip_suffix("/json")?;
            (recorded.outcome == Outcome::TimedOut).then(|| ContainerId::parse(id))?
        };
        let mut ids: Vec<_> = self.answers.iter().filter_map(timed_out).collect();
        ids.sort();
        ids
    }

    /// Returns whether there is an answer to this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.answers.contains_key(path)
    }

    /// Returns how many bytes the answer to this path had, and whether that was all of it.
    pub(super) fn length(&self, path: &str) -> Option<(u64, bool)> {
        let recorded = self.answers.get(path)?;
        Some((recorded.length, recorded.whole))
    }

    /// Returns what the daemon answered to this path.
    pub(super) fn answer(&self, path: &str) -> Answer {
        let Some(recorded) = self.answers.get(path) else {
            return Answer::new(Duration::ZERO, Err(unhappy(StatusCode::NOT_FOUND, b"")));
        };
        let took = recorded.took;
        let status = StatusCode::from_u16(recorded.status).unwrap_or(StatusCode::OK);
        if recorded.outcome == Outcome::Answered && !status.is_success() {
            return Answer::new(took, Err(unhappy(status, &recorded.body)));
        }
        let words = String::from_utf8_lossy(&recorded.body);
        let error = match recorded.outcome {
            Outcome::Answered => None,
            _ if !words.is_empty() => Some(words.trim().to_owned()),
            Outcome::Refused if recorded.missing => Some("there is no such socket".to_owned()),
            Outcome::Refused => Some("connection refused".to_owned()),
            _ => None,
        };
        Answer {
            probe: Probe {
                outcome: recorded.outcome,
                took,
                error,
            },
            headers: self.headers.clone(),
            body: if recorded.outcome == Outcome::Answered {
                recorded.body.clone()
            } else {
                Vec::new()
            },
        }
    }
}

fn entry(files: &Files, line: &str) -> anyhow::Result<(String, Recorded)> {
    let exchange = Exchange::parse(line)?;
    let length = match exchange.more[..] {
        [] => None,
        [length] => Some(length),
        _ => bail!("it has {} fields, not 5 or 6", exchange.more.len() + 5),
    };
    let body = match exchange.file {
        None => Vec::new(),
        Some(inline) if inline.starts_with(['{', '[']) => inline.as_bytes().to_vec(),
        Some(file) => files
            .get(file)
            .with_context(|| format!("there is no {file}"))?
            .clone(),
    };
    let digits = length.map(|length| length.strip_prefix('>').unwrap_or(length));
    let came = digits.map(str::parse).transpose().context("length")?;
    let recorded = Recorded {
        outcome: exchange.outcome,
        missing: exchange.missing,
        status: exchange.status.unwrap_or(0),
        took: exchange.took,
        length: came.unwrap_or(body.len() as u64),
        whole: !length.is_some_and(|length| length.starts_with('>')),
        body,
    };
    Ok((exchange.request.to_owned(), recorded))
}
