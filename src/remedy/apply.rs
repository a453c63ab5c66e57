//! Carries out what was decided: removes a plan's containers, a bounded number at a time, or does one of the single
//! actions that `diagnose --fix` knows, and tells what became of each. Nothing else in plegdoctor changes anything.
//!
//! Each removal has a thread of its own, which is left behind if it hangs; a call that is not answered keeps its
//! slot, so a hung daemon is never sent more than there are slots. A sandbox waits for its containers, and stays if
//! one of them does. What to remove was decided before; what is looked at here is whether a container is still what
//! it was, right before its removal, and whether its pod is, before the first removal and every ten seconds.

mod audit;
mod command;
mod daemon;
mod daemon_error;
mod execute;
mod interrupt;
pub mod mount;
mod pidfd;
mod process;
mod removal;
mod revalidate;
mod unit;

pub use audit::{Audit, Clock};
pub use execute::{Done, Executor, machine};
pub use interrupt::Interrupts;
pub use revalidate::Look;

use crate::{
    finding::plan::{Ending, Fate, Plan, Target},
    runtime::docker::Docker,
    syntax::id::ContainerId,
};
use removal::Attempt;
use revalidate::Revalidation;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

const LOOK: Duration = Duration::from_millis(50);

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
/// `look` plans anew: what that spares is left alone. `ended` is called as each target ends. After the first interrupt
/// nothing more is sent, and `stopping` is called; after the second, what is in flight is not waited for.
pub fn remove(
    plan: &Plan,
    orders: &RemoveOptions,
    look: Look,
    interrupts: &Interrupts,
    ended: &mut dyn FnMut(&Target, &Ending),
    stopping: &dyn Fn(),
) -> (Vec<Ending>, Vec<String>) {
    let mut run = Run::new(plan, orders);
    if plan.can_be_overtaken() {
        match Revalidation::start(look) {
            Ok(lookout) => run.lookout = Some(lookout),
            Err(error) => run.stop(&format!("can't start a thread: {error}")),
        }
    }
    loop {
        if interrupts.count() > 0 && run.stopped.is_none() {
            stopping();
            run.stop("interrupted");
        }
        run.look(ended);
        run.send_more(ended);
        if run.is_over() {
            break;
        }
        if interrupts.count() > 1 {
            run.give_up(|_| true, "interrupted before it was answered", ended);
            break;
        }
        if let Ok((index, attempt)) = run.attempts.recv_timeout(LOOK) {
            run.take(index, attempt, ended);
        }
        let patience = orders.patience;
        run.give_up(|since| since.elapsed() > patience, "not answered", ended);
    }
    run.finish()
}

struct Run<'a> {
    plan: &'a Plan,
    orders: &'a RemoveOptions,
    /// Who looks whether the plan holds; none where nothing in it depends on a pod.
    lookout: Option<Revalidation>,
    /// For each sandbox in the plan, its containers in the plan.
    members: HashMap<usize, Vec<usize>>,
    endings: Vec<Option<Ending>>,
    waiting: VecDeque<usize>,
    flying: HashMap<usize, Instant>,
    lost: usize,
    stopped: Option<String>,
    notes: Vec<String>,
    reports: Sender<(usize, Attempt)>,
    attempts: Receiver<(usize, Attempt)>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, orders: &'a RemoveOptions) -> Self {
        let (reports, attempts) = mpsc::channel();
        Self {
            plan,
            orders,
            lookout: None,
            members: members(&plan.targets),
            waiting: (0..plan.targets.len()).collect(),
            endings: vec![None; plan.targets.len()],
            flying: HashMap::new(),
            lost: 0,
            stopped: None,
            notes: Vec::new(),
            reports,
            attempts,
        }
    }

    /// Looks again if it is time to, and leaves alone what the look spares.
    fn look(&mut self, ended: &mut dyn FnMut(&Target, &Ending)) {
        if self.stopped.is_some() || self.waiting.is_empty() {
            return;
        }
        match self.lookout.as_mut().and_then(Revalidation::poll) {
            None => {}
            Some(Err(why)) => self.stop(&why),
            Some(Ok(later)) => {
                let mut overtaken = self.plan.overtaken(&later);
                for index in std::mem::take(&mut self.waiting) {
                    match overtaken[index].take() {
                        Some(ending) => self.end(index, ending, ended),
                        None => self.waiting.push_back(index),
                    }
                }
            }
        }
    }

    /// Whether removals may be sent now.
    fn may_send(&self) -> bool {
        self.stopped.is_none() && self.lookout.as_ref().is_none_or(Revalidation::is_fresh)
    }

    fn is_over(&self) -> bool {
        let waits = !self.waiting.is_empty() && self.stopped.is_none() && !self.may_send();
        self.flying.is_empty() && !waits
    }

    fn send_more(&mut self, ended: &mut dyn FnMut(&Target, &Ending)) {
        while self.may_send() && self.flying.len() + self.lost < self.orders.jobs {
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
                    self.end(index, Ending::because(Fate::Planned, why), ended);
                }
                None => self.start(index, ended),
            }
        }
    }

    fn is_ready(&self, index: usize) -> bool {
        self.members_of(index)
            .iter()
            .all(|&member| self.endings[member].is_some())
    }

    /// A container of the sandbox that is not gone.
    fn left_in(&self, index: usize) -> Option<usize> {
        let left = |member: &usize| {
            self.endings[*member]
                .as_ref()
                .is_some_and(|it| !it.fate.is_gone())
        };
        self.members_of(index).iter().copied().find(left)
    }

    fn members_of(&self, index: usize) -> &[usize] {
        self.members.get(&index).map_or(&[], Vec::as_slice)
    }

    fn start(&mut self, index: usize, ended: &mut dyn FnMut(&Target, &Ending)) {
        let target = self.plan.targets[index].clone();
        let (orders, reports) = (self.orders.clone(), self.reports.clone());
        let started = thread::Builder::new()
            .name("removal".to_owned())
            .spawn(move || {
                let attempt = removal::attempt(&orders, &target);
                // Nobody listens any more if this one was given up.
                let _ = reports.send((index, attempt));
            });
        match started {
            Ok(_) => {
                self.flying.insert(index, Instant::now());
            }
            Err(error) => {
                let why = format!("can't start a thread for it: {error}");
                self.end(index, Ending::because(Fate::Failed, why), ended);
            }
        }
    }

    fn take(&mut self, index: usize, attempt: Attempt, ended: &mut dyn FnMut(&Target, &Ending)) {
        if self.flying.remove(&index).is_none() {
            return;
        }
        self.lost += usize::from(attempt.keeps_slot);
        self.notes.extend(attempt.note);
        self.end(index, attempt.ending, ended);
        if let Some(why) = attempt.stop {
            self.stop(&why);
        } else if self.lost >= self.orders.jobs {
            self.stop(&format!("{} calls are left unanswered", self.lost));
        }
    }

    /// Ends what flies since a time that `too_long` says yes to, without an answer.
    fn give_up(
        &mut self,
        too_long: impl Fn(Instant) -> bool,
        why: &str,
        ended: &mut dyn FnMut(&Target, &Ending),
    ) {
        let mut late: Vec<usize> = self
            .flying
            .iter()
            .filter(|&(_, &since)| too_long(since))
            .map(|(&index, _)| index)
            .collect();
        late.sort_unstable();
        for index in late {
            let ending = Ending::because(Fate::Unanswered, format!("{why}; it may still happen"));
            let target = &self.plan.targets[index];
            // Its own thread may never come to that.
            let recorded = match &self.orders.audit {
                Some(audit) => audit.result(target, &ending),
                None => Ok(()),
            };
            let attempt = Attempt {
                keeps_slot: true,
                note: recorded
                    .err()
                    .map(|error| format!("the audit is incomplete: {error:#}")),
                ..Attempt::from(ending)
            };
            self.take(index, attempt, ended);
        }
    }

    fn end(&mut self, index: usize, ending: Ending, ended: &mut dyn FnMut(&Target, &Ending)) {
        ended(&self.plan.targets[index], &ending);
        self.endings[index] = Some(ending);
    }

    fn stop(&mut self, why: &str) {
        self.stopped.get_or_insert_with(|| why.to_owned());
    }

    fn finish(mut self) -> (Vec<Ending>, Vec<String>) {
        let why = self.stopped.as_deref().unwrap_or("its turn never came");
        if self.stopped.is_some() && !self.waiting.is_empty() {
            self.notes.push(format!("stopped early: {why}"));
        }
        self.notes.dedup();
        let not_sent = Ending::because(Fate::Planned, format!("not sent: {why}"));
        let endings = self
            .endings
            .into_iter()
            .map(|ending| ending.unwrap_or_else(|| not_sent.clone()))
            .collect();
        (endings, self.notes)
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
