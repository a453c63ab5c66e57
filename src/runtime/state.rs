//! What a container is doing, in the words that all runtimes share.

use std::fmt;

/// A container's state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Created,
    Running,
    Paused,
    /// Between two runs of its process.
    Restarting,
    Removing,
    Exited,
    /// Its removal failed half-way; Docker's alone.
    Dead,
    /// A sandbox that is stopped; CRI's alone.
    NotReady,
    /// A word that is none of these; empty where none came.
    Unknown(String),
}

impl State {
    /// The state's word, as runtimes write it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Restarting => "restarting",
            Self::Removing => "removing",
            Self::Exited => "exited",
            Self::Dead => "dead",
            Self::NotReady => "notready",
            Self::Unknown(word) => word,
        }
    }

    /// Whether no state came at all.
    pub fn is_none(&self) -> bool {
        self.as_str().is_empty()
    }

    /// Whether it has a process, or will have one again by itself.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::Restarting)
    }
}

impl From<&str> for State {
    fn from(word: &str) -> Self {
        match word {
            "created" => Self::Created,
            "running" => Self::Running,
            "paused" => Self::Paused,
            "restarting" => Self::Restarting,
            "removing" => Self::Removing,
            "exited" => Self::Exited,
            "dead" => Self::Dead,
            "notready" => Self::NotReady,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::Unknown(String::new())
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
