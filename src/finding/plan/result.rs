//! What became of a plan: one outcome for each container in it, and what that adds up to.

use super::{Plan, Target};
use crate::finding::outcome::{Outcome, Status};

#[derive(Clone, Debug, PartialEq)]
pub struct CleanResult {
    pub dry_run: bool,
    pub plan: Plan,
    /// One for each target, in the plan's order.
    pub outcomes: Vec<Outcome>,
    /// What else has to be said: an interrupt, an incomplete audit.
    pub notes: Vec<String>,
}

impl CleanResult {
    /// A run in which nothing was sent.
    pub fn untouched(plan: Plan, dry_run: bool, reason: Option<&str>) -> Self {
        let outcome = Outcome {
            reason: reason.map(str::to_owned),
            ..Outcome::new(Status::Planned)
        };
        Self {
            dry_run,
            outcomes: vec![outcome; plan.targets.len()],
            plan,
            notes: Vec::new(),
        }
    }

    pub fn results(&self) -> impl Iterator<Item = (&Target, &Outcome)> {
        self.plan.targets.iter().zip(&self.outcomes)
    }

    pub fn count(&self, status: Status) -> usize {
        let alike = self.outcomes.iter().filter(|it| it.status == status);
        alike.count()
    }

    pub fn untried(&self) -> Option<&Outcome> {
        let first = self.outcomes.first()?;
        (self.notes.is_empty() && self.is_untouched()).then_some(first)
    }

    /// Whether every planned container is gone, none could not be seen, and nothing went wrong beside. A dry run
    /// removes nothing, but has to see all.
    pub fn is_done(&self) -> bool {
        self.plan.unseen.is_empty()
            && self.notes.is_empty()
            && (self.dry_run || self.outcomes.iter().all(|it| it.status.is_gone()))
    }

    pub fn is_untouched(&self) -> bool {
        self.count(Status::Planned) == self.outcomes.len()
    }
}
