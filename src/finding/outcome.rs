//! What became of an action: values that the report shows and the audit keeps.

use super::{Risk, action::Action};
use crate::syntax::{duration, json::json_words, time::Time};

/// What became of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Done, and seen to have worked.
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

json_words!(Fate, word {
    Done => "done", Unproven => "unproven", Failed => "failed", Changed => "changed", NotNeeded => "not_needed",
    Declined => "declined", AboveRisk => "above_risk", Suspected => "suspected", Interrupted => "interrupted",
    Planned => "planned",
});

impl Fate {
    /// Returns whether the node may become well after it.
    pub fn may_have_healed(self) -> bool {
        self.acted() || matches!(self, Self::Changed | Self::NotNeeded)
    }

    /// Returns whether something was, or may have been, changed.
    pub fn acted(self) -> bool {
        matches!(self, Self::Done | Self::Unproven)
    }
}

/// How one action ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What became of it.
    pub fate: Fate,
    /// Why, in plain words; `None` where there is nothing to explain.
    pub reason: Option<String>,
    /// What was seen right before.
    pub before: Option<String>,
    /// What was seen after.
    pub after: Option<String>,
    /// What shows that it worked.
    pub proof: Option<String>,
    /// When it was done; `None` if it was not.
    pub at: Option<Time>,
}

impl Ending {
    /// Returns the ending of what was not done.
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

    /// Returns the ending of what was not done, for that reason.
    pub fn because(fate: Fate, reason: impl Into<String>) -> Self {
        Self::not_done(fate, Some(reason.into()))
    }
}

/// Who said yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The user, on the terminal.
    User,
    /// `--yes`, beforehand.
    Option,
    /// Nobody was asked.
    Nobody,
}

/// The record of one action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// The finding that it is against.
    pub finding: &'static str,
    /// What it does, imperative.
    pub title: String,
    /// What it may cost.
    pub risk: Risk,
    /// … in words.
    pub cost: String,
    /// The action.
    pub action: Action,
    /// Who said yes or no.
    pub asked: Asked,
    /// When it was begun with.
    pub started: Time,
    /// When it was over.
    pub ended: Time,
    /// How it ended.
    pub ending: Ending,
}
