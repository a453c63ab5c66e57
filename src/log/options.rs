//! Which logs to read, and the times that bound them.

use crate::syntax::time::Time;
use chrono::FixedOffset;
use std::{num::NonZeroUsize, path::PathBuf, time::Duration};

/// Which logs to read.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// Files and directories; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// A unit's journal; empty: the kubelet's unit, whatever its name.
    pub journal: Option<String>,
    /// Files or directories of journald's to read the journal from.
    pub journal_from: Vec<PathBuf>,
    /// A container whose log Docker hands out.
    pub container: Option<String>,
    /// Read no log.
    pub none: bool,
    /// How long a log that was not named may take.
    pub timeout: Duration,
    /// Threads that search log files.
    pub threads: NonZeroUsize,
    /// Whether the user gave the current time: then there is nothing to follow.
    pub now_given: bool,
}

impl LogOptions {
    /// Whether a journal is to be read.
    pub fn names_journal(&self) -> bool {
        self.journal.is_some() || !self.journal_from.is_empty()
    }
}

/// The times that a command line speaks of.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The current time.
    pub now: Time,
    /// Whether `--now` means another time than the clock does: then this machine's state is not of `now`.
    pub replayed: bool,
    /// The zone of lines that show none, if it was given.
    pub utc_offset: Option<FixedOffset>,
    /// Leave out what is before.
    pub since: Option<Time>,
    /// Leave out what is after.
    pub until: Option<Time>,
}
