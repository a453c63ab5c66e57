//! What could not be seen, as a value.

use serde::Deserialize;
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
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct Gap {
    /// What it concerns.
    #[serde(skip)]
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
