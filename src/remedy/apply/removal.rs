//! One removal: look again, record the intent, ask, check that it is gone, record the result.

use super::{RemoveOptions, daemon_error};
use crate::finding::outcome::{Outcome, Status};
use crate::finding::plan::{Kind, Target};
use crate::io::probe;
use crate::io::probe::Probe;
use crate::runtime::Inspected;
use crate::syntax::duration;
use chrono::TimeDelta;

pub(super) struct Attempt {
    pub(super) outcome: Outcome,
    /// A call was not answered, and hangs in the daemon.
    pub(super) keeps_slot: bool,
    /// Why nothing more must be sent, if so.
    pub(super) stop: Option<String>,
    pub(super) note: Option<String>,
}

impl From<Outcome> for Attempt {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            keeps_slot: false,
            stop: None,
            note: None,
        }
    }
}

impl Attempt {
    fn because(status: Status, reason: impl Into<String>) -> Self {
        Outcome::because(status, reason).into()
    }

    fn keeping_slot(self) -> Self {
        Self {
            keeps_slot: true,
            ..self
        }
    }

    fn stopping(self, why: impl Into<String>) -> Self {
        Self {
            stop: Some(why.into()),
            ..self
        }
    }
}

pub(super) fn attempt(options: &RemoveOptions, target: &Target) -> Attempt {
    let before = options.docker.inspect(&target.id);
    match (before.probe.outcome, &before.inspected) {
        (probe::Outcome::Gone, _) => return Outcome::new(Status::NotNeeded).into(),
        (probe::Outcome::Answered, Some(now)) if target.is_unchanged(now) => {}
        (probe::Outcome::Answered, Some(now)) => {
            return Attempt::because(Status::Changed, change(target, now));
        }
        _ => return unseen(&before.probe),
    }
    let Some(audit) = &options.audit else {
        return remove(options, target);
    };
    if let Err(error) = audit.intent(target) {
        return Attempt::because(Status::Failed, format!("not removed: {error:#}"))
            .stopping("the audit can't be written");
    }
    let attempt = remove(options, target);
    match audit.result(target, &attempt.outcome) {
        Ok(()) => attempt,
        Err(error) => Attempt {
            note: Some(format!("the audit is incomplete: {error:#}")),
            ..attempt
        }
        .stopping("the audit can't be written"),
    }
}

fn remove(options: &RemoveOptions, target: &Target) -> Attempt {
    let removal = options.docker.remove(&target.id, options.timeout).probe;
    match removal.outcome {
        probe::Outcome::Gone => return Outcome::new(Status::NotNeeded).into(),
        probe::Outcome::TimedOut => {
            let waited = waited(&removal);
            return Attempt::because(
                Status::Unproven,
                format!("timed out after {waited}; it may still happen"),
            )
            .keeping_slot();
        }
        probe::Outcome::Denied | probe::Outcome::NotProbed => {
            return Attempt::because(Status::Failed, words(&removal));
        }
        probe::Outcome::Answered | probe::Outcome::Refused | probe::Outcome::Error => {}
    }
    let after = options.docker.inspect(&target.id);
    match (removal.outcome, after.probe.outcome, &after.inspected) {
        (probe::Outcome::Answered, probe::Outcome::Gone, _) => Outcome::new(Status::Done).into(),
        // Somebody else's removal, or the daemon's own after all: not seen which.
        (_, probe::Outcome::Gone, _) => Attempt::because(Status::NotNeeded, refusal(&removal)),
        (probe::Outcome::Answered, probe::Outcome::Answered, _) => Attempt::because(
            Status::Failed,
            "Docker reported it removed, but still has it",
        ),
        (_, probe::Outcome::Answered, Some(now)) if Kind::of(now).is_none() => {
            Attempt::because(Status::Changed, change(target, now))
        }
        (_, probe::Outcome::Answered, _) => Attempt::because(Status::Failed, refusal(&removal)),
        (probe::Outcome::Answered, ..) => unchecked("Docker reported it removed", &after.probe),
        (probe::Outcome::Refused, ..) => unchecked(
            "Docker went away before it answered; it may have been removed",
            &after.probe,
        ),
        _ => {
            let mut attempt = unchecked("", &after.probe);
            attempt.outcome = Outcome::because(Status::Failed, refusal(&removal));
            attempt
        }
    }
}

fn unseen(probe: &Probe) -> Attempt {
    let attempt = Attempt::because(
        Status::Failed,
        match probe.outcome {
            probe::Outcome::TimedOut => {
                format!("not touched: its inspect timed out after {}", waited(probe))
            }
            _ => format!("not touched: {}", words(probe)),
        },
    );
    consequence(attempt, probe)
}

/// The removal ended in some way, and the inspect after it did not tell whether the container is gone.
fn unchecked(said: &str, probe: &Probe) -> Attempt {
    let attempt = Attempt::because(
        Status::Unproven,
        format!("{said}; the check: {}", words(probe)),
    );
    consequence(attempt, probe)
}

fn consequence(attempt: Attempt, probe: &Probe) -> Attempt {
    match probe.outcome {
        probe::Outcome::TimedOut => attempt.keeping_slot(),
        probe::Outcome::Refused => attempt.stopping(format!("Docker is down ({})", words(probe))),
        _ => attempt,
    }
}

fn change(target: &Target, now: &Inspected) -> String {
    if Kind::of(now) != Some(target.kind) {
        return format!(
            "it was {} when planned, and is {} now",
            target.state, now.state
        );
    }
    "it was started and exited again since it was planned".to_owned()
}

fn refusal(probe: &Probe) -> String {
    if probe.outcome == probe::Outcome::Refused {
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
        (None, probe::Outcome::TimedOut) => format!("timed out after {}", waited(probe)),
        (None, _) => "no reason given".to_owned(),
    }
}

fn waited(probe: &Probe) -> String {
    TimeDelta::from_std(probe.took).map_or_else(|_| "too long".to_owned(), duration::human)
}
