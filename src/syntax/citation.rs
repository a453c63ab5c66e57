//! Where something is proved: a line of a log, or a call's end.

use super::time::Time;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// File, journal unit, or call (`docker inspect`).
    pub source: Arc<str>,
    /// Whether it is a call's end, not a line of a log.
    pub is_call: bool,
    /// Line in it, from 1; absent for a call, and where the lines before were not read.
    pub line: Option<u64>,
    pub time: Option<Time>,
    pub text: Arc<str>,
}
