//! What became of an action, as values that the report shows and the audit keeps.

use super::{Risk, action::Action};
use crate::syntax::{duration, json::json_words, time::Time};

/// How an action, or a container's removal, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Done, and seen to have worked.
    Done,
    /// Done, or perhaps done; whether it worked was not seen.
    Unproven,
    /// Tried, and refused; or it could not be tried.
    Failed,
    /// Not done: its target is not what was seen before.
    Changed,
    /// Not done: the problem was resolved, or the container gone, before its turn.
    NotNeeded,
    /// Not done: the user said no.
    Declined,
    /// Not done: its risk is above what was allowed.
    AboveRisk,
    /// Not done: one source alone asks for it, and no user was there to decide.
    Suspected,
    /// Not done: interrupted before it began.
    Interrupted,
    /// Not done: only to be shown, or nothing was sent.
    Planned,
}

json_words!(Status, word {
    Done => "done", Unproven => "unproven", Failed => "failed", Changed => "changed", NotNeeded => "not_needed",
    Declined => "declined", AboveRisk => "above_risk", Suspected => "suspected", Interrupted => "interrupted",
    Planned => "planned",
});

impl Status {
    /// Those of removals, in the order in which they are printed.
    pub const OF_REMOVALS: [Self; 6] = [
        Self::Done,
        Self::NotNeeded,
        Self::Changed,
        Self::Failed,
        Self::Unproven,
        Self::Planned,
    ];

    /// Its stable word for a container's removal, in `clean --format json` and the audit.
    pub fn removal_word(self) -> &'static str {
        match self {
            Self::Done => "removed",
            Self::NotNeeded => "gone",
            Self::Unproven => "unanswered",
            other => other.word(),
        }
    }

    pub fn may_have_healed(self) -> bool {
        self.has_acted() || matches!(self, Self::Changed | Self::NotNeeded)
    }

    pub fn has_acted(self) -> bool {
        matches!(self, Self::Done | Self::Unproven)
    }

    /// Whether a container that was to be removed is known to be gone.
    pub fn is_gone(self) -> bool {
        matches!(self, Self::Done | Self::NotNeeded)
    }
}

/// How one action ended, and what shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub status: Status,
    /// Why, with a daemon's own words last; `None` where there is nothing to explain.
    pub reason: Option<String>,
    /// What was seen right before.
    pub before: Option<String>,
    pub after: Option<String>,
    pub proof: Option<String>,
    /// When it was done; `None` if it was not.
    pub at: Option<Time>,
}

impl Outcome {
    pub fn new(status: Status) -> Self {
        Self {
            status,
            reason: None,
            before: None,
            after: None,
            proof: None,
            at: None,
        }
    }

    pub fn because(status: Status, reason: impl Into<String>) -> Self {
        Self::new(status).with(status, reason)
    }

    #[must_use]
    pub fn with(self, status: Status, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: Some(reason.into()),
            ..self
        }
    }

    #[must_use]
    pub fn after(self, after: impl Into<String>) -> Self {
        Self {
            after: Some(after.into()),
            ..self
        }
    }

    /// It was done, and `proof` shows that it worked.
    #[must_use]
    pub fn proved(self, proof: impl Into<String>) -> Self {
        Self {
            status: Status::Done,
            proof: Some(proof.into()),
            ..self
        }
    }

    /// Adds to the proof that the kubelet's `source` shows its relist active again, at `seen`.
    pub fn note_relist(&mut self, (seen, source): (Time, &str)) {
        let Some(at) = self.at.filter(|at| *at <= seen && self.status.has_acted()) else {
            return;
        };
        let active = format!(
            "the kubelet's {source} shows the relist active {} later",
            duration::human(seen - at)
        );
        self.proof = Some(match self.proof.take() {
            Some(proof) => format!("{proof}; {active}"),
            None => active,
        });
    }
}

/// Who approved or declined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    User,
    /// `--yes`
    Option,
    Nobody,
}

/// An action of `diagnose --fix`, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRecord {
    pub finding: &'static str,
    /// The remedy's, imperative.
    pub title: String,
    pub risk: Risk,
    pub cost: String,
    pub action: Action,
    pub asked: Asked,
    pub started: Time,
    pub ended: Time,
    pub outcome: Outcome,
}
