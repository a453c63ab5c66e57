//! What single actions are carried out with.

use super::{Audit, Clock, Interrupts};
use crate::finding::outcome::{Outcome, Status};
use crate::io::files::Tree;
use crate::node::{DEFAULT_ROOT, Host, observe};
use crate::runtime::docker::{Docker, PendingCall};
use crate::syntax::id::ContainerId;
use std::{cell::RefCell, collections::BTreeMap, path::Path, time::Duration};

pub struct Executor<'a> {
    pub docker: &'a Docker,
    pub endpoint: &'a str,
    /// For how long an inspect must stay unanswered before a process is killed.
    pub confirm_after: Duration,
    pub audit: &'a Audit,
    pub clock: Clock,
    pub interrupts: &'a Interrupts,
    /// Shows the user what is being done.
    pub show: &'a dyn Fn(&str),
    /// Observes this machine's processes as they are now: `machine`.
    pub observe: &'a dyn Fn() -> Host,
    /// Inspects that were sent before their action's turn.
    pub open: RefCell<BTreeMap<ContainerId, PendingCall>>,
}

/// Writes the intent to the audit; to be called right before the first change. An error says why nothing may be done.
pub(super) type Intent<'a> = &'a mut dyn FnMut() -> Result<(), String>;

impl Executor<'_> {
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupts.count() > 0
    }

    /// Records the intent, unless the user wants to stop. An error is the outcome where nothing may be done.
    pub(super) fn begin(&self, intent: Intent<'_>, interrupted: &str) -> Result<(), Outcome> {
        if self.is_interrupted() {
            return Err(Outcome::because(Status::Interrupted, interrupted));
        }
        intent().map_err(|why| Outcome::because(Status::Failed, why))
    }

    /// The outcome of an action that is being done now, until it is proved.
    pub(super) fn doing(&self, before: String) -> Outcome {
        Outcome {
            before: Some(before),
            at: Some(self.clock.now()),
            ..Outcome::new(Status::Unproven)
        }
    }
}

pub fn machine() -> Host {
    observe::scan(&Tree::at(Path::new(DEFAULT_ROOT)), observe::TIMEOUT).0
}
