//! One removal: look again, record the intent, ask, check that it is gone, record the result.

use super::{RemoveOptions, daemon_error};
use crate::{
    finding::plan::{Ending, Fate, Kind, Target},
    io::probe::{Outcome, Probe},
    runtime::Inspected,
    syntax::duration,
};
use chrono::TimeDelta;

/// How one removal ended, and what follows for the others.
pub(super) struct Attempt {
    pub(super) ending: Ending,
    /// A call was not answered, and hangs in the daemon.
    pub(super) keeps_slot: bool,
    /// Why nothing more must be sent, if so.
    pub(super) stop: Option<String>,
    pub(super) note: Option<String>,
}

impl From<Ending> for Attempt {
    fn from(ending: Ending) -> Self {
        Self {
            ending,
            keeps_slot: false,
            stop: None,
            note: None,
        }
    }
}

impl Attempt {
    fn because(fate: Fate, reason: impl Into<String>) -> Self {
        Ending::because(fate, reason).into()
    }

    fn keeping_slot(self) -> Self {
        Self {
            keeps_slot: true,
            ..self
        }
    }

    /// Nothing more must be sent.
    fn stopping(self, why: impl Into<String>) -> Self {
        Self {
            stop: Some(why.into()),
            ..self
        }
    }
}

/// Removes `target` if it is still what the plan saw.
pub(super) fn attempt(orders: &RemoveOptions, target: &Target) -> Attempt {
    let before = orders.docker.inspect(&target.id);
    match (before.probe.outcome, &before.inspected) {
        (Outcome::Gone, _) => return Ending::plain(Fate::Gone).into(),
        (Outcome::Answered, Some(now)) if target.is_unchanged(now) => {}
        (Outcome::Answered, Some(now)) => {
            return Attempt::because(Fate::Changed, change(target, now));
        }
        _ => return unseen(&before.probe),
    }
    let Some(audit) = &orders.audit else {
        return ask(orders, target);
    };
    if let Err(error) = audit.intent(target) {
        return Attempt::because(Fate::Failed, format!("not removed: {error:#}"))
            .stopping("the audit can't be written");
    }
    let attempt = ask(orders, target);
    match audit.result(target, &attempt.ending) {
        Ok(()) => attempt,
        Err(error) => Attempt {
            note: Some(format!("the audit is incomplete: {error:#}")),
            ..attempt
        }
        .stopping("the audit can't be written"),
    }
}

fn ask(orders: &RemoveOptions, target: &Target) -> Attempt {
    let removal = orders.docker.remove(&target.id, orders.timeout).probe;
    match removal.outcome {
        Outcome::Gone => return Ending::plain(Fate::Gone).into(),
        Outcome::TimedOut => {
            let waited = waited(&removal);
            return Attempt::because(
                Fate::Unanswered,
                format!("no answer in {waited}; it may still happen"),
            )
            .keeping_slot();
        }
        Outcome::Denied | Outcome::NotProbed => {
            return Attempt::because(Fate::Failed, words(&removal));
        }
        Outcome::Answered | Outcome::Refused | Outcome::Error => {}
    }
    let after = orders.docker.inspect(&target.id);
    match (removal.outcome, after.probe.outcome, &after.inspected) {
        (Outcome::Answered, Outcome::Gone, _) => Ending::plain(Fate::Removed).into(),
        // Somebody else's removal, or the daemon's own after all: not seen which.
        (_, Outcome::Gone, _) => Attempt::because(Fate::Gone, refusal(&removal)),
        (Outcome::Answered, Outcome::Answered, _) => Attempt::because(
            Fate::Failed,
            "Docker said that it is removed, and still has it",
        ),
        (_, Outcome::Answered, Some(now)) if Kind::of(now).is_none() => {
            Attempt::because(Fate::Changed, change(target, now))
        }
        (_, Outcome::Answered, _) => Attempt::because(Fate::Failed, refusal(&removal)),
        (Outcome::Answered, ..) => unchecked("Docker said that it is removed", &after.probe),
        (Outcome::Refused, ..) => unchecked(
            "Docker went away before it answered; it may have happened",
            &after.probe,
        ),
        _ => {
            let mut attempt = unchecked("", &after.probe);
            attempt.ending = Ending::because(Fate::Failed, refusal(&removal));
            attempt
        }
    }
}

/// The inspect before the removal did not tell what the container is.
fn unseen(probe: &Probe) -> Attempt {
    let attempt = Attempt::because(
        Fate::Failed,
        match probe.outcome {
            Outcome::TimedOut => format!(
                "not touched: its inspect was not answered in {}",
                waited(probe)
            ),
            _ => format!("not touched: {}", words(probe)),
        },
    );
    consequence(attempt, probe)
}

/// The removal ended in some way, and the inspect after it did not tell whether the container is gone.
fn unchecked(said: &str, probe: &Probe) -> Attempt {
    let attempt = Attempt::because(
        Fate::Unanswered,
        format!("{said}; the check: {}", words(probe)),
    );
    consequence(attempt, probe)
}

fn consequence(attempt: Attempt, probe: &Probe) -> Attempt {
    match probe.outcome {
        Outcome::TimedOut => attempt.keeping_slot(),
        Outcome::Refused => attempt.stopping(format!("Docker is gone ({})", words(probe))),
        _ => attempt,
    }
}

/// In what `now` differs from what the plan saw.
fn change(target: &Target, now: &Inspected) -> String {
    if Kind::of(now) != Some(target.kind) {
        return format!(
            "it was {} when the plan was made, and is {} now",
            target.state, now.state
        );
    }
    "it was started and has ended again since the plan was made".to_owned()
}

fn refusal(probe: &Probe) -> String {
    if probe.outcome == Outcome::Refused {
        return format!("Docker did not answer: {}", words(probe));
    }
    let words = words(probe);
    let message = words
        .strip_prefix("HTTP ")
        .and_then(|rest| rest.split_once(": "))
        .map_or(words.as_str(), |(_, message)| message);
    daemon_error::plain(message)
}

fn words(probe: &Probe) -> String {
    match (&probe.error, probe.outcome) {
        (Some(words), _) => words.clone(),
        (None, Outcome::TimedOut) => format!("no answer in {}", waited(probe)),
        (None, _) => "no reason given".to_owned(),
    }
}

fn waited(probe: &Probe) -> String {
    TimeDelta::from_std(probe.took).map_or_else(|_| "too long".to_owned(), duration::human)
}
