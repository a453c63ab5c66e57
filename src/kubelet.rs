//! The kubelet's own word, as values: what its health check and its metrics say of the relist.
//!
//! `ask` asks, `recording` reads and writes what was answered; nothing else here does. `metrics` reads the metrics'
//! text, `health` the health check's.

pub mod ask;
pub mod event;
pub mod health;
pub mod histogram;
pub mod incident;
pub mod metrics;
pub mod parser;
pub mod prometheus_text;
pub mod recording;
pub mod summary;

use crate::io::probe::{Outcome, Probe};
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::time::Duration;

pub use health::Health;
pub use histogram::{Bound, Quantiles};
pub use metrics::{Metrics, Operation, Seen};

/// How long after the start of the last relist that listed the kubelet calls its PLEG unhealthy
/// (pkg/kubelet/pleg/generic.go).
pub const THRESHOLD: TimeDelta = TimeDelta::minutes(3);
/// … where it takes the runtime's events instead and relists every 5 minutes (the feature gate EventedPLEG).
const EVENTED_THRESHOLD: TimeDelta = TimeDelta::minutes(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    Metrics,
    /// Its metrics, saved to a file at an unknown time.
    SavedMetrics,
    Health,
    /// Its health check, where its metrics are.
    HealthByMetrics,
}

/// One question's answer, raw: what a capture keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub what: Query,
    /// Where: a URL, a file.
    pub source: String,
    /// Whether it was given on the command line; else it is where a kubelet listens by default.
    pub named: bool,
    /// Any HTTP status is an answer.
    pub probe: Probe,
    pub status: Option<u16>,
    pub body: Vec<u8>,
}

/// What the kubelet said, or did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Kubelet {
    pub asked_at: Time,
    pub source: Option<Source>,
    pub metrics: Option<Metrics>,
    pub health: Vec<Health>,
}

/// Where metrics came from, or did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// A URL, or a file.
    pub name: String,
    pub named: bool,
    /// Whether it is a file, saved at an unknown time.
    pub is_file: bool,
    pub probe: Probe,
}

/// How long ago the last relist that listed began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Age {
    /// So long.
    Exactly(TimeDelta),
    /// So long or longer: when the metrics were saved is known only roughly.
    AtLeast(TimeDelta),
}

impl Age {
    /// The time that has passed for certain.
    pub fn least(self) -> TimeDelta {
        match self {
            Self::Exactly(age) | Self::AtLeast(age) => age,
        }
    }
}

impl Kubelet {
    /// What these answers say; `asked_at` is when they were given.
    pub fn read(answers: Vec<Answer>, asked_at: Time) -> Self {
        let mut kubelet = Self {
            asked_at,
            source: None,
            metrics: None,
            health: Vec::new(),
        };
        for answer in answers {
            match answer.what {
                Query::Metrics | Query::SavedMetrics => kubelet.read_metrics(answer),
                Query::Health | Query::HealthByMetrics => {
                    kubelet.health.push(Health::read(answer));
                }
            }
        }
        kubelet
    }

    fn read_metrics(&mut self, answer: Answer) {
        let mut probe = with_status(answer.probe, answer.status, &answer.body);
        if probe.outcome == Outcome::Answered {
            self.metrics = Metrics::read(&answer.body);
            if self.metrics.is_none() {
                probe.outcome = Outcome::Error;
                probe.error = Some("the response holds no kubelet metrics".to_owned());
            }
        }
        self.source = Some(Source {
            name: answer.source,
            named: answer.named,
            is_file: answer.what == Query::SavedMetrics,
            probe,
        });
    }

    /// How long ago the last relist that listed began; `None` where the metrics do not show it.
    pub fn relist_age(&self) -> Option<Age> {
        let metrics = self.metrics.as_ref()?;
        let Some(Seen::At(seen)) = metrics.last_seen else {
            return None;
        };
        // Cut to whole seconds by the kubelet.
        let since = |moment: Time| (moment - seen - TimeDelta::seconds(1)).max(TimeDelta::zero());
        match self.source.as_ref().is_some_and(|source| source.is_file) {
            false => Some(Age::Exactly(since(self.asked_at))),
            // They were saved after the youngest moment that they name.
            true => metrics.newest.map(|newest| Age::AtLeast(since(newest))),
        }
    }

    /// How long the kubelet's metrics say that it has run.
    pub fn age(&self) -> Option<Duration> {
        let metrics = self.metrics.as_ref()?;
        let at = if self.source.as_ref().is_some_and(|source| source.is_file) {
            metrics.newest
        } else {
            Some(self.asked_at)
        };
        (at? - metrics.started?).to_std().ok()
    }

    /// The limit that the age of a relist has.
    pub fn threshold(&self) -> TimeDelta {
        match &self.metrics {
            Some(metrics) if metrics.evented => EVENTED_THRESHOLD,
            _ => THRESHOLD,
        }
    }

    /// The time without a relist that listed, where it is over the limit: the PLEG is unhealthy. Where none
    /// ever did, that is since the kubelet's start.
    pub fn overdue(&self) -> Option<Age> {
        let never = self.metrics.as_ref()?.last_seen == Some(Seen::Never);
        let up = || TimeDelta::from_std(self.age()?).ok();
        let age = if never {
            up().map(Age::AtLeast)
        } else {
            self.relist_age()
        };
        age.filter(|age| age.least() > self.threshold())
    }

    /// The health check that says that the sync loop stands still.
    pub fn stuck_loop(&self) -> Option<&Health> {
        let stuck = |health: &&Health| health.failed().any(|check| check.name == "syncloop");
        self.health.iter().find(stuck)
    }
}

/// How a call ended, by its HTTP status too.
fn with_status(probe: Probe, status: Option<u16>, body: &[u8]) -> Probe {
    let Some(status) = status.filter(|status| !(200..300).contains(status)) else {
        return probe;
    };
    if probe.outcome != Outcome::Answered {
        return probe;
    }
    let message = health::message(body);
    let message = match status {
        401 | 403 => format!("HTTP {status}: authentication required"),
        300..=399 => format!("HTTP {status}: redirect not followed"),
        _ if message.is_empty() => format!("HTTP {status}"),
        _ => format!("HTTP {status}: {message}"),
    };
    Probe {
        outcome: match status {
            401 | 403 => Outcome::Denied,
            _ => Outcome::Error,
        },
        error: Some(message),
        ..probe
    }
}

#[cfg(test)]
mod tests;
