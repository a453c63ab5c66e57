//! Removes containers as `clean` does: planned from a fresh look, each inspected again right before.

use crate::{
    cli::DiagnoseArgs,
    commands::clean::look::{Eyes, Look},
    finding::{
        action::Action,
        outcome::{Ending, Fate},
        plan::{self, Plan, Request, Spared},
    },
    remedy::apply::{self, Audit, Clock, Interrupts, RemoveOptions},
    runtime::docker::Docker,
    syntax::id::ContainerId,
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// How long a removal and a list may take, as for `clean`.
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
) -> (Vec<Ending>, Option<String>) {
    let wanted: BTreeSet<ContainerId> = actions.iter().filter_map(|it| id(it)).cloned().collect();
    match try_to(args, clock, audit, interrupts, &wanted) {
        Ok(removed) => {
            let ending = |action: &&Action| match id(action) {
                Some(id) => removed.ending(id, clock),
                None => Ending::not_done(Fate::Failed, None),
            };
            let stop = removed.notes.first().cloned();
            (actions.iter().map(ending).collect(), stop)
        }
        Err(error) => {
            let ending = Ending::because(Fate::Failed, format!("{error:#}"));
            (vec![ending; actions.len()], None)
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
    endings: Vec<plan::Ending>,
    notes: Vec<String>,
    interrupted: bool,
}

fn try_to(
    args: &DiagnoseArgs,
    clock: Clock,
    audit: &Arc<Audit>,
    interrupts: &Interrupts,
    wanted: &BTreeSet<ContainerId>,
) -> anyhow::Result<Removed> {
    let endpoint = args.look.docker.endpoint();
    let docker = Docker::open(&endpoint, args.look.probe_timeout)?;
    let eyes = Eyes {
        lists: Docker::open(&endpoint, TIMEOUT.max(args.look.probe_timeout))?,
        inspects: docker.clone(),
        endpoint,
        max_unanswered: args.look.max_unanswered.into(),
        request: Request {
            dead: true,
            exited: true,
            created: true,
            ..Request::default()
        },
        clock,
    };
    let Look {
        mut containers,
        plan,
        ..
    } = eyes.first()?;
    let plan = plan.only(wanted, &containers);
    let orders = RemoveOptions {
        docker,
        jobs: JOBS,
        timeout: TIMEOUT,
        patience: TIMEOUT + args.look.probe_timeout * 2 + Duration::from_secs(30),
        audit: Some(Arc::clone(audit)),
    };
    let again: apply::Look = Box::new(move || eyes.again(&mut containers));
    let (endings, notes) = apply::remove(&plan, &orders, again, interrupts, &mut |_, _| {}, &|| {});
    Ok(Removed {
        plan,
        endings,
        notes,
        interrupted: interrupts.count() > 0,
    })
}

impl Removed {
    fn ending(&self, id: &ContainerId, clock: Clock) -> Ending {
        let planned = self.plan.targets.iter().zip(&self.endings);
        let Some((target, ending)) = planned.into_iter().find(|(target, _)| target.id == *id)
        else {
            return Ending::because(Fate::Changed, self.why_not(id));
        };
        let fate = match ending.fate {
            plan::Fate::Removed => Fate::Done,
            plan::Fate::Gone => Fate::NotNeeded,
            plan::Fate::Changed => Fate::Changed,
            plan::Fate::Failed => Fate::Failed,
            plan::Fate::Unanswered => Fate::Unproven,
            plan::Fate::Planned if self.interrupted => Fate::Interrupted,
            plan::Fate::Planned => Fate::Failed,
        };
        let short = id.short();
        let done = fate == Fate::Done;
        Ending {
            fate,
            reason: ending.reason.clone(),
            before: Some(format!("{short} {}", target.state)),
            after: done.then(|| format!("{short} gone")),
            proof: done.then(|| format!("inspect of {short}: no such container")),
            at: fate.acted().then(|| clock.now()),
        }
    }

    /// Why a container was not planned.
    fn why_not(&self, id: &ContainerId) -> String {
        let unseen = self.plan.unseen.iter().find(|unseen| unseen.id == *id);
        match (self.plan.spared.get(id), unseen) {
            (Some(Spared::LivePod), _) => "its pod lives".to_owned(),
            (Some(Spared::InUse), _) => "a container stands in it that stays".to_owned(),
            (Some(_), _) => "a second look spares it".to_owned(),
            (None, Some(unseen)) => format!("its inspect: {}", unseen.why()),
            (None, None) => "it is gone, or runs".to_owned(),
        }
    }
}
