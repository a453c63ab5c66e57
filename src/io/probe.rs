//! One outside call, and how it ended.

use crate::syntax::json::json_words;
use std::time::Duration;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// A success in time.
    Answered,
    /// Nothing by the deadline. Also a connect that the full backlog refused (EAGAIN).
    TimedOut,
    /// Connection refused, no socket, or closed before an answer (EOF).
    Refused,
    /// No permission.
    Denied,
    /// HTTP 404: not there any more.
    Gone,
    /// Another HTTP status, or an answer that makes no sense.
    Error,
    /// Not asked: enough calls were left unanswered, or time was up.
    NotProbed,
}

json_words!(Outcome, word {
    Answered => "answered", TimedOut => "timed_out", Refused => "refused", Denied => "denied", Gone => "gone",
    Error => "error", NotProbed => "not_probed",
});

impl Outcome {
    /// All there are.
    pub const ALL: [Self; 7] = [
        Self::Answered,
        Self::TimedOut,
        Self::Refused,
        Self::Denied,
        Self::Gone,
        Self::Error,
        Self::NotProbed,
    ];
}

/// One call and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took, or was waited for.
    pub took: Duration,
    /// The daemon's words, or the system's, where it failed.
    pub error: Option<String>,
}

impl Probe {
    /// A call that was not made.
    pub const NONE: Self = Self {
        outcome: Outcome::NotProbed,
        took: Duration::ZERO,
        error: None,
    };
}
