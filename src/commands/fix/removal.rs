//! Removes containers as `clean` does: planned from a fresh scan, each inspected again right before.

use crate::cli::DiagnoseArgs;
use crate::commands::removal::{Limits, Scan, Scanner};
use crate::finding::action::Action;
use crate::finding::outcome::{Outcome, Status};
use crate::finding::plan::{Plan, Request, Spared};
use crate::remedy::apply;
use crate::remedy::apply::{Audit, Clock, Interrupts};
use crate::syntax::id::ContainerId;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// For a list or a removal, as for `clean`.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Removals at a time, as for `clean`.
const JOBS: usize = 8;

/// Removes the containers that `actions` name. Returns what became of each, and why nothing more must be done, if so.
pub(super) fn remove(
    args: &DiagnoseArgs,
    clock: Clock,
    audit: &Arc<Audit>,
    interrupts: &Interrupts,
    actions: &[&Action],
) -> (Vec<Outcome>, Option<String>) {
    let wanted: BTreeSet<ContainerId> = actions.iter().filter_map(|it| id(it)).cloned().collect();
    match try_remove(args, clock, audit, interrupts, &wanted) {
        Ok(removed) => {
            let outcome = |action: &&Action| match id(action) {
                Some(id) => removed.outcome(id, clock),
                None => Outcome::new(Status::Failed),
            };
            let stop = removed.notes.first().cloned();
            (actions.iter().map(outcome).collect(), stop)
        }
        Err(error) => {
            let outcome = Outcome::because(Status::Failed, format!("{error:#}"));
            (vec![outcome; actions.len()], None)
        }
    }
}

fn id(action: &Action) -> Option<&ContainerId> {
    match action {
        Action::RemoveContainer { id } => Some(id),
        _ => None,
    }
}

struct Removed {
    plan: Plan,
    outcomes: Vec<Outcome>,
    notes: Vec<String>,
    interrupted: bool,
}

fn try_remove(
    args: &DiagnoseArgs,
    clock: Clock,
    audit: &Arc<Audit>,
    interrupts: &Interrupts,
    wanted: &BTreeSet<ContainerId>,
) -> anyhow::Result<Removed> {
    let limits = Limits {
        endpoint: args.look.docker.endpoint(),
        probe_timeout: args.look.probe_timeout,
        timeout: TIMEOUT,
        max_unanswered: args.look.max_unanswered.into(),
    };
    let request = Request {
        dead: true,
        exited: true,
        created: true,
        ..Request::default()
    };
    let scanner = Scanner::new(limits, request, clock)?;
    let Scan {
        containers, plan, ..
    } = scanner.scan()?;
    let plan = plan.only(wanted, &containers);
    let options = scanner.remove_options(JOBS, Some(Arc::clone(audit)));
    let replan = scanner.into_replan(containers);
    let (outcomes, notes) =
        apply::remove(&plan, &options, replan, interrupts, &mut |_, _| {}, &|| {});
    Ok(Removed {
        plan,
        outcomes,
        notes,
        interrupted: interrupts.count() > 0,
    })
}

impl Removed {
    fn outcome(&self, id: &ContainerId, clock: Clock) -> Outcome {
        let mut planned = self.plan.targets.iter().zip(&self.outcomes);
        let Some((target, outcome)) = planned.find(|(target, _)| target.id == *id) else {
            return Outcome::because(Status::Changed, self.why_not(id));
        };
        let status = match outcome.status {
            Status::Planned if self.interrupted => Status::Interrupted,
            Status::Planned => Status::Failed,
            other => other,
        };
        let short = id.short();
        let done = status == Status::Done;
        Outcome {
            status,
            reason: outcome.reason.clone(),
            before: Some(format!("{short} {}", target.state)),
            after: done.then(|| format!("{short} gone")),
            proof: done.then(|| format!("inspect of {short}: no such container")),
            at: status.has_acted().then(|| clock.now()),
        }
    }

    fn why_not(&self, id: &ContainerId) -> String {
        let unseen = self.plan.unseen.iter().find(|unseen| unseen.id == *id);
        let why = match (self.plan.spared.get(id), unseen) {
            (Some(Spared::LivePod), _) => "its pod is running",
            (Some(Spared::InUse), _) => "a container that stays uses this sandbox",
            (Some(_), _) => "a new scan keeps it",
            (None, Some(unseen)) => return format!("its inspect: {}", unseen.why()),
            (None, None) => "it is gone, or running",
        };
        why.to_owned()
    }
}
