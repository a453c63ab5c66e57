//! Carries out what was decided: removes a plan's containers, a bounded number at a time, or does one of the single
//! actions that `diagnose --fix` knows, and tells what became of each. Nothing else in plegdoctor changes anything.
//!
//! Each removal has a thread of its own, which is left behind if it hangs; a call that is not answered keeps its
//! slot, so a hung daemon is never sent more than there are slots. A sandbox waits for its containers, and stays if
//! one of them does. What to remove was decided before; what is looked at here is whether a container is still what
//! it was, right before its removal, and whether its pod is, before the first removal and every ten seconds.

pub mod audit;
mod command;
mod daemon;
mod daemon_error;
mod execute;
mod executor;
mod interrupt;
pub mod mount;
mod pidfd;
mod process;
mod removal;
mod revalidate;
mod unit;

pub use audit::{Audit, Clock};
pub use execute::Execution;
pub use executor::{Executor, machine};
pub use interrupt::Interrupts;
pub use revalidate::Replan;

use crate::finding::outcome::{Outcome, Status};
use crate::finding::plan::{Plan, Target};
use crate::runtime::docker::Docker;
use crate::syntax::id::ContainerId;
use removal::Attempt;
use revalidate::Revalidation;
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(50);

#[derive(Clone, Debug)]
pub struct RemoveOptions {
    /// The daemon; its inspects have their own deadline.
    pub docker: Docker,
    pub jobs: usize,
    pub timeout: Duration,
    /// How long one attempt may take in all: a last resort, above all deadlines within it.
    pub patience: Duration,
    pub audit: Option<Arc<Audit>>,
}

/// Removes what is planned. Returns what became of each target, in the plan's order, and what else has to be said.
/// `replan` plans anew: what that spares is left alone. `ended` is called as each target ends. After the first interrupt
/// nothing more is sent, and `stopping` is called; after the second, what is in flight is not waited for.
pub fn remove(
    plan: &Plan,
    options: &RemoveOptions,
    replan: Replan,
    interrupts: &Interrupts,
    ended: &mut dyn FnMut(&Target, &Outcome),
    stopping: &dyn Fn(),
) -> (Vec<Outcome>, Vec<String>) {
    let mut run = Run::new(plan, options);
    if plan.can_be_overtaken() {
        match Revalidation::start(replan) {
            Ok(started) => run.revalidation = Some(started),
            Err(error) => run.stop(&format!("cannot start a thread: {error}")),
        }
    }
    loop {
        if interrupts.count() > 0 && run.stopped.is_none() {
            stopping();
            run.stop("interrupted");
        }
        run.revalidate(ended);
        run.send_more(ended);
        if run.is_finished() {
            break;
        }
        if interrupts.count() > 1 {
            run.give_up(|_| true, "interrupted while unanswered", ended);
            break;
        }
        if let Ok((index, attempt)) = run.attempts.recv_timeout(POLL) {
            run.ingest(index, attempt, ended);
        }
        let patience = options.patience;
        run.give_up(|since| since.elapsed() > patience, "unanswered", ended);
    }
    run.finish()
}

struct Run<'a> {
    plan: &'a Plan,
    options: &'a RemoveOptions,
    /// Who looks whether the plan holds; none where nothing in it depends on a pod.
    revalidation: Option<Revalidation>,
    /// For each sandbox in the plan, its containers in the plan.
    members: HashMap<usize, Vec<usize>>,
    outcomes: Vec<Option<Outcome>>,
    waiting: VecDeque<usize>,
    in_flight: HashMap<usize, Instant>,
    lost: usize,
    stopped: Option<String>,
    notes: Vec<String>,
    reports: Sender<(usize, Attempt)>,
    attempts: Receiver<(usize, Attempt)>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, options: &'a RemoveOptions) -> Self {
        let (reports, attempts) = mpsc::channel();
        Self {
            plan,
            options,
            revalidation: None,
            members: members(&plan.targets),
            waiting: (0..plan.targets.len()).collect(),
            outcomes: vec![None; plan.targets.len()],
            in_flight: HashMap::new(),
            lost: 0,
            stopped: None,
            notes: Vec::new(),
            reports,
            attempts,
        }
    }

    /// Looks again if it is time to, and leaves alone what the look spares.
    fn revalidate(&mut self, ended: &mut dyn FnMut(&Target, &Outcome)) {
        if self.stopped.is_some() || self.waiting.is_empty() {
            return;
        }
        match self.revalidation.as_mut().and_then(Revalidation::poll) {
            None => {}
            Some(Err(why)) => self.stop(&why),
            Some(Ok(later)) => {
                let mut overtaken = self.plan.overtaken(&later);
                for index in std::mem::take(&mut self.waiting) {
                    match overtaken[index].take() {
                        Some(outcome) => self.end(index, outcome, ended),
                        None => self.waiting.push_back(index),
                    }
                }
            }
        }
    }

    fn may_send(&self) -> bool {
        self.stopped.is_none()
            && self
                .revalidation
                .as_ref()
                .is_none_or(Revalidation::is_fresh)
    }

    fn is_finished(&self) -> bool {
        let waits = !self.waiting.is_empty() && self.stopped.is_none() && !self.may_send();
        self.in_flight.is_empty() && !waits
    }

    fn send_more(&mut self, ended: &mut dyn FnMut(&Target, &Outcome)) {
        while self.may_send() && self.in_flight.len() + self.lost < self.options.jobs {
            let Some(at) = self.waiting.iter().position(|&it| self.is_ready(it)) else {
                break;
            };
            let Some(index) = self.waiting.remove(at) else {
                break;
            };
            match self.left_in(index) {
                Some(member) => {
                    let short = self.plan.targets[member].id.short();
                    let why = format!("not sent: its container {short} is still there");
                    self.end(index, Outcome::because(Status::Planned, why), ended);
                }
                None => self.start(index, ended),
            }
        }
    }

    fn is_ready(&self, index: usize) -> bool {
        self.members_of(index)
            .iter()
            .all(|&member| self.outcomes[member].is_some())
    }

    fn left_in(&self, index: usize) -> Option<usize> {
        let left = |member: &usize| {
            self.outcomes[*member]
                .as_ref()
                .is_some_and(|it| !it.status.is_gone())
        };
        self.members_of(index).iter().copied().find(left)
    }

    fn members_of(&self, index: usize) -> &[usize] {
        self.members.get(&index).map_or(&[], Vec::as_slice)
    }

    fn start(&mut self, index: usize, ended: &mut dyn FnMut(&Target, &Outcome)) {
        let target = self.plan.targets[index].clone();
        let (options, reports) = (self.options.clone(), self.reports.clone());
        let started = thread::Builder::new()
            .name("removal".to_owned())
            .spawn(move || {
                let attempt = removal::attempt(&options, &target);
                // Nobody listens any more if this one was given up.
                let _ = reports.send((index, attempt));
            });
        match started {
            Ok(_) => {
                self.in_flight.insert(index, Instant::now());
            }
            Err(error) => {
                let why = format!("cannot start a thread for it: {error}");
                self.end(index, Outcome::because(Status::Failed, why), ended);
            }
        }
    }

    fn ingest(&mut self, index: usize, attempt: Attempt, ended: &mut dyn FnMut(&Target, &Outcome)) {
        if self.in_flight.remove(&index).is_none() {
            return;
        }
        self.lost += usize::from(attempt.keeps_slot);
        self.notes.extend(attempt.note);
        self.end(index, attempt.outcome, ended);
        if let Some(why) = attempt.stop {
            self.stop(&why);
        } else if self.lost >= self.options.jobs {
            self.stop(&format!("{} calls stay unanswered", self.lost));
        }
    }

    /// Ends what flies since a time that `too_long` says yes to, without an answer.
    fn give_up(
        &mut self,
        too_long: impl Fn(Instant) -> bool,
        why: &str,
        ended: &mut dyn FnMut(&Target, &Outcome),
    ) {
        let mut late: Vec<usize> = self
            .in_flight
            .iter()
            .filter(|&(_, &since)| too_long(since))
            .map(|(&index, _)| index)
            .collect();
        late.sort_unstable();
        for index in late {
            let outcome = Outcome::because(Status::Unproven, format!("{why}; it may still happen"));
            let target = &self.plan.targets[index];
            // Its own thread may never come to that.
            let recorded = match &self.options.audit {
                Some(audit) => audit.result(target, &outcome),
                None => Ok(()),
            };
            let attempt = Attempt {
                keeps_slot: true,
                note: recorded
                    .err()
                    .map(|error| format!("the audit is incomplete: {error:#}")),
                ..Attempt::from(outcome)
            };
            self.ingest(index, attempt, ended);
        }
    }

    fn end(&mut self, index: usize, outcome: Outcome, ended: &mut dyn FnMut(&Target, &Outcome)) {
        ended(&self.plan.targets[index], &outcome);
        self.outcomes[index] = Some(outcome);
    }

    fn stop(&mut self, why: &str) {
        self.stopped.get_or_insert_with(|| why.to_owned());
    }

    fn finish(mut self) -> (Vec<Outcome>, Vec<String>) {
        let why = self.stopped.as_deref().unwrap_or("not reached");
        if self.stopped.is_some() && !self.waiting.is_empty() {
            self.notes.push(format!("stopped early: {why}"));
        }
        self.notes.dedup();
        let not_sent = Outcome::because(Status::Planned, format!("not sent: {why}"));
        let outcomes = self
            .outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| not_sent.clone()))
            .collect();
        (outcomes, self.notes)
    }
}

fn members(targets: &[Target]) -> HashMap<usize, Vec<usize>> {
    // A node in trouble has thousands of either: comparing each with each would be felt.
    let mut by_sandbox: HashMap<&ContainerId, Vec<usize>> = HashMap::new();
    let mut loose = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        match &target.sandbox {
            Some(sandbox) => by_sandbox.entry(sandbox).or_default().push(index),
            None => loose.push(index),
        }
    }
    let mut members = HashMap::new();
    for (index, target) in targets.iter().enumerate() {
        let named = by_sandbox.get(&target.id).into_iter().flatten();
        let found: Vec<usize> = named
            .chain(&loose)
            .copied()
            .filter(|&member| targets[member].is_in(target))
            .collect();
        if !found.is_empty() {
            members.insert(index, found);
        }
    }
    members
}

#[cfg(test)]
mod tests;
