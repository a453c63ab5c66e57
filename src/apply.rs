//! Carries out a plan: removes its containers, a bounded number at a time, and tells what became of each.
//!
//! Each removal has a thread of its own, which is left behind if it hangs; a call that is not answered keeps its
//! slot, so a hung daemon is never sent more than there are slots. A sandbox waits for its containers, and stays if
//! one of them does. What to remove was decided before; what is looked at here, right before each removal, is
//! whether a container is still what it was.

mod audit;
mod interrupt;
mod reason;
mod removal;

pub use audit::{Audit, Clock};
pub use interrupt::Interrupts;

use crate::{
    id::ContainerId,
    plan::{Ending, Fate, Plan, Target},
    runtime::docker::Docker,
};
use removal::Attempt;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::{Duration, Instant},
};

/// How often it is looked whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How to remove.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The daemon; its inspects have their own deadline.
    pub docker: Docker,
    /// How many removals at a time.
    pub jobs: usize,
    /// How long to wait for each removal.
    pub timeout: Duration,
    /// How long one attempt may take in all: a last resort, above all deadlines within it.
    pub patience: Duration,
    /// Where to record what is done.
    pub audit: Option<Arc<Audit>>,
}

/// Removes what is planned and not `settled` already (an ending for each target, or none). Returns what became of each target, in the plan's order, and what else has to be said.
///
/// `ended` is called as each target ends. After the first interrupt nothing more is sent; after the second, what is
/// in flight is not waited for.
pub fn remove(
    plan: &Plan,
    settled: Vec<Option<Ending>>,
    orders: &Orders,
    interrupts: &Interrupts,
    ended: &mut dyn FnMut(&Target, &Ending),
) -> (Vec<Ending>, Vec<String>) {
    let mut run = Run::new(plan, settled, orders);
    loop {
        if interrupts.count() > 0 && !run.waiting.is_empty() {
            run.stop("interrupted");
        }
        run.send_more(ended);
        if run.flying.is_empty() {
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

/// A plan half carried out.
struct Run<'a> {
    plan: &'a Plan,
    orders: &'a Orders,
    /// For each sandbox in the plan, its containers in the plan.
    members: HashMap<usize, Vec<usize>>,
    endings: Vec<Option<Ending>>,
    waiting: VecDeque<usize>,
    /// What is being removed, and since when.
    flying: HashMap<usize, Instant>,
    /// Slots that an unanswered call keeps.
    lost: usize,
    /// Why nothing more is sent.
    stopped: Option<String>,
    notes: Vec<String>,
    reports: Sender<(usize, Attempt)>,
    attempts: Receiver<(usize, Attempt)>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, settled: Vec<Option<Ending>>, orders: &'a Orders) -> Self {
        let waiting = (0..plan.targets.len()).filter(|&index| settled[index].is_none());
        let (reports, attempts) = mpsc::channel();
        Self {
            plan,
            orders,
            members: members(&plan.targets),
            waiting: waiting.collect(),
            endings: settled,
            flying: HashMap::new(),
            lost: 0,
            stopped: None,
            notes: Vec::new(),
            reports,
            attempts,
        }
    }

    /// Starts as many removals as there are free slots and targets whose turn has come.
    fn send_more(&mut self, ended: &mut dyn FnMut(&Target, &Ending)) {
        while self.stopped.is_none() && self.flying.len() + self.lost < self.orders.jobs {
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

    /// Returns whether all of a sandbox's containers have ended.
    fn is_ready(&self, index: usize) -> bool {
        self.members_of(index)
            .iter()
            .all(|&member| self.endings[member].is_some())
    }

    /// Returns a container of the sandbox that is not gone.
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
            let attempt = Attempt {
                keeps_slot: true,
                ..Attempt::from(Ending::because(
                    Fate::Unanswered,
                    format!("{why}; it may still happen"),
                ))
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

/// Returns the containers of each sandbox, by their places in the plan.
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
