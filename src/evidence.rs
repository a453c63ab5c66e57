//! All that rules may look at: what the log told, what the runtime, the host and the kubelet answered, what could not be seen.

pub mod shims;

use crate::{
    digest::Log,
    event::Time,
    kubelet::Kubelet,
    node::Host,
    runtime::{Outcome, Runtime},
};
use chrono::TimeDelta;
use std::fmt;

/// What a gap concerns, for what depends on that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapKind {
    /// One of the log's sources, by its name: lines of it are missing.
    LogSource,
    /// Anything else.
    #[default]
    Other,
}

/// Something that could not be seen. Never taken for health.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What it concerns.
    pub kind: GapKind,
    /// What could not be seen.
    pub what: String,
    /// Why, and what would cure it.
    pub why: String,
}

impl Gap {
    /// A gap that is not in a log.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            kind: GapKind::Other,
            what: what.into(),
            why: why.into(),
        }
    }

    /// A gap in one of the log's sources.
    pub fn in_source(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self {
            kind: GapKind::LogSource,
            ..Self::new(name, why)
        }
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// All that was observed.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The present moment.
    pub now: Time,
    /// What the log told; `None` if none was read.
    pub log: Option<Log>,
    /// What the runtime answered; `None` if it was not asked.
    pub runtime: Option<Runtime>,
    /// What was seen of the host itself; `None` if nobody looked.
    pub host: Option<Host>,
    /// What the kubelet itself said; `None` if it was not asked.
    pub kubelet: Option<Kubelet>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
    /// What was left out on purpose, with the reason, for the reader: no gap.
    pub notes: Vec<String>,
}

impl Evidence {
    /// Returns the runtime if it listed its containers: only then is one that is not listed not there.
    pub fn listed(&self) -> Option<&Runtime> {
        let listed = |runtime: &&Runtime| runtime.list.outcome == Outcome::Answered;
        self.runtime.as_ref().filter(listed)
    }
}

/// How far apart a log's end and the present may be for the two to be one story.
pub const FRESH: TimeDelta = TimeDelta::minutes(10);
