//! What became of an action: values that the report shows and the audit keeps.

use super::{Risk, action::Action};
use crate::syntax::{duration, time::Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Done,
    /// Done; whether it worked was not seen.
    Unproven,
    /// Tried, and refused; or it could not be tried.
    Failed,
    /// Not done: its target is not what the diagnosis saw any more.
    Changed,
    /// Not done: what it was against was over by itself.
    NotNeeded,
    /// Not done: the user said no.
    Declined,
    /// Not done: its risk is above what was allowed.
    AboveRisk,
    /// Not done: one source alone asks for it, and nobody was there to decide.
    Suspected,
    /// Not done: interrupted before it began.
    Interrupted,
    /// Not done: only to be shown.
    Planned,
}

impl Fate {
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unproven => "unproven",
            Self::Failed => "failed",
            Self::Changed => "changed",
            Self::NotNeeded => "not_needed",
            Self::Declined => "declined",
            Self::AboveRisk => "above_risk",
            Self::Suspected => "suspected",
            Self::Interrupted => "interrupted",
            Self::Planned => "planned",
        }
    }

    /// Whether the node may become well after it.
    pub fn may_have_healed(self) -> bool {
        self.acted() || matches!(self, Self::Changed | Self::NotNeeded)
    }

    /// Whether something was, or may have been, changed.
    pub fn acted(self) -> bool {
        matches!(self, Self::Done | Self::Unproven)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub fate: Fate,
    /// Why, in plain words; `None` where there is nothing to explain.
    pub reason: Option<String>,
    /// What was seen right before.
    pub before: Option<String>,
    pub after: Option<String>,
    pub proof: Option<String>,
    /// When it was done; `None` if it was not.
    pub at: Option<Time>,
}

impl Ending {
    /// The ending of what was not done.
    pub fn not_done(fate: Fate, reason: Option<String>) -> Self {
        Self {
            fate,
            reason,
            before: None,
            after: None,
            proof: None,
            at: None,
        }
    }

    /// Adds to the proof that the kubelet's `source` shows its relist at work again, at `seen`.
    pub fn note_relist(&mut self, (seen, source): (Time, &str)) {
        let (Some(at), true) = (self.at.filter(|at| *at <= seen), self.fate.acted()) else {
            return;
        };
        let told = format!(
            "by the kubelet's {source} its relist was at work {} after",
            duration::human(seen - at)
        );
        self.proof = Some(match self.proof.take() {
            Some(proof) => format!("{proof}; {told}"),
            None => told,
        });
    }

    /// The ending of what was not done, for that reason.
    pub fn because(fate: Fate, reason: impl Into<String>) -> Self {
        Self::not_done(fate, Some(reason.into()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    User,
    /// `--yes`, beforehand.
    Option,
    Nobody,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    pub finding: &'static str,
    pub title: String,
    /// What it may cost.
    pub risk: Risk,
    pub cost: String,
    pub action: Action,
    pub asked: Asked,
    pub started: Time,
    pub ended: Time,
    pub ending: Ending,
}
