//! A daemon's answers from a folder, replayed without waiting: what `fixtures/record.sh` writes.
//!
//! `index` has a line for each call: path, outcome (`answered`, `timed_out`, `refused`, `missing`, `denied`), HTTP
//! status, milliseconds, file of the body (or the JSON itself); separated by tabs. `api-version` holds what `/_ping` said of it. A
//! path without a line is answered with 404, as by a daemon that knows nothing of it.

use super::{Outcome, Probe};
use crate::{
    http::{Answer, failed, unhappy},
    id::ContainerId,
};
use anyhow::{Context as _, bail};
use hyper::{HeaderMap, StatusCode, header::HeaderValue};
use std::{collections::HashMap, fs, path::Path, time::Duration};

/// A daemon's answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    answers: HashMap<String, Recorded>,
    api_version: Option<String>,
}

#[derive(Clone, Debug)]
struct Recorded {
    outcome: Outcome,
    missing: bool,
    status: u16,
    took: Duration,
    body: Vec<u8>,
}

impl Recording {
    /// Reads the recording in `folder`.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        let index = folder.join("index");
        let text = fs::read_to_string(&index)
            .with_context(|| format!("can't read {}", index.display()))?;
        let mut recording = Self::default();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let (path, recorded) = entry(folder, line)
                .with_context(|| format!("{}: {line:?} is no answer", index.display()))?;
            recording.answers.insert(path, recorded);
        }
        let api_version = folder.join("api-version");
        if api_version.exists() {
            let text = fs::read_to_string(&api_version)
                .with_context(|| format!("can't read {}", api_version.display()))?;
            recording.api_version = Some(text.trim().to_owned());
        }
        Ok(recording)
    }

    /// Returns whether there was no socket at all.
    pub(super) fn is_missing(&self) -> bool {
        self.answers
            .get("/_ping")
            .is_some_and(|recorded| recorded.missing)
    }

    /// Returns the containers whose inspect was given up, by id.
    pub(super) fn unanswered_inspects(&self) -> Vec<ContainerId> {
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

    /// Returns what the daemon answered to this path.
    pub(super) fn answer(&self, path: &str) -> Answer {
        let Some(recorded) = self.answers.get(path) else {
            return failed(unhappy(StatusCode::NOT_FOUND, b""), Duration::ZERO);
        };
        let took = recorded.took;
        let status = StatusCode::from_u16(recorded.status).unwrap_or(StatusCode::OK);
        if recorded.outcome == Outcome::Answered && !status.is_success() {
            return failed(unhappy(status, &recorded.body), took);
        }
        let words = String::from_utf8_lossy(&recorded.body);
        let error = match recorded.outcome {
            Outcome::Answered => None,
            _ if !words.is_empty() => Some(words.trim().to_owned()),
            Outcome::Refused if recorded.missing => Some("there is no such socket".to_owned()),
            Outcome::Refused => Some("connection refused".to_owned()),
            _ => None,
        };
        let mut headers = HeaderMap::new();
        if let Some(version) = self
            .api_version
            .as_deref()
            .and_then(|v| HeaderValue::from_str(v).ok())
        {
            headers.insert("api-version", version);
        }
        Answer {
            probe: Probe {
                outcome: recorded.outcome,
                took,
                error,
            },
            headers,
            body: if recorded.outcome == Outcome::Answered {
                recorded.body.clone()
            } else {
                Vec::new()
            },
        }
    }
}

fn entry(folder: &Path, line: &str) -> anyhow::Result<(String, Recorded)> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [path, outcome, status, millis, file] = fields[..] else {
        bail!("it has {} fields, not 5", fields.len())
    };
    let body = match file {
        "-" => Vec::new(),
        inline if inline.starts_with(['{', '[']) => inline.as_bytes().to_vec(),
        file => fs::read(folder.join(file)).with_context(|| format!("can't read {file}"))?,
    };
    let millis: f64 = millis.parse().context("milliseconds")?;
    let recorded = Recorded {
        outcome: match outcome {
            "answered" => Outcome::Answered,
            "timed_out" => Outcome::TimedOut,
            "refused" | "missing" => Outcome::Refused,
            "denied" => Outcome::Denied,
            _ => bail!("no such outcome: {outcome}"),
        },
        missing: outcome == "missing",
        status: if status == "-" {
            0
        } else {
            status.parse().context("HTTP status")?
        },
        took: Duration::try_from_secs_f64(millis / 1000.0).context("milliseconds")?,
        body,
    };
    Ok((path.to_owned(), recorded))
}
