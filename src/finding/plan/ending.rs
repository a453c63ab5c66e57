//! What became of a plan: one outcome for each container in it, and what that adds up to.

use super::{Plan, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    Removed,
    Gone,
    /// It is not what the plan saw any more, and was not touched.
    Changed,
    /// Docker refused, or the removal could not be asked for.
    Failed,
    /// Asked for, and not answered: it may still happen.
    Unanswered,
    /// Not asked for: nothing was sent.
    Planned,
}

impl Fate {
    /// All there are, in the order in which they are told.
    pub const ALL: [Self; 6] = [
        Self::Removed,
        Self::Gone,
        Self::Changed,
        Self::Failed,
        Self::Unanswered,
        Self::Planned,
    ];

    /// Its word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Gone => "gone",
            Self::Changed => "changed",
            Self::Failed => "failed",
            Self::Unanswered => "unanswered",
            Self::Planned => "planned",
        }
    }

    pub fn is_gone(self) -> bool {
        matches!(self, Self::Removed | Self::Gone)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub fate: Fate,
    /// Why, in plain words, the daemon's own after them; `None` where there is nothing to explain.
    pub reason: Option<String>,
}

impl Ending {
    pub fn plain(fate: Fate) -> Self {
        Self { fate, reason: None }
    }

    pub fn because(fate: Fate, reason: impl Into<String>) -> Self {
        Self {
            fate,
            reason: Some(reason.into()),
        }
    }
}

/// A run of `clean`: the plan and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Cleaned {
    /// Whether it was only to be shown.
    pub dry_run: bool,
    pub plan: Plan,
    pub endings: Vec<Ending>,
    /// What else has to be said: that it was interrupted, that the audit is incomplete.
    pub notes: Vec<String>,
}

impl Cleaned {
    pub fn untouched(plan: Plan, dry_run: bool, reason: Option<&str>) -> Self {
        let ending = Ending {
            fate: Fate::Planned,
            reason: reason.map(str::to_owned),
        };
        Self {
            dry_run,
            endings: vec![ending; plan.targets.len()],
            plan,
            notes: Vec::new(),
        }
    }

    pub fn results(&self) -> impl Iterator<Item = (&Target, &Ending)> {
        self.plan.targets.iter().zip(&self.endings)
    }

    pub fn count(&self, fate: Fate) -> usize {
        self.endings.iter().filter(|it| it.fate == fate).count()
    }

    /// How all ended, if nothing was sent for any.
    pub fn untried(&self) -> Option<&Ending> {
        let first = self.endings.first()?;
        (self.notes.is_empty() && self.is_untouched()).then_some(first)
    }

    /// Whether all that was asked is done: every planned container is gone, none could not be seen, and nothing went
    /// wrong beside. A dry run removes nothing, but has to see all.
    pub fn is_done(&self) -> bool {
        self.plan.unseen.is_empty()
            && self.notes.is_empty()
            && (self.dry_run || self.endings.iter().all(|it| it.fate.is_gone()))
    }

    pub fn is_untouched(&self) -> bool {
        self.count(Fate::Planned) == self.endings.len()
    }
}
