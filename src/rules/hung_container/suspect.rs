//! The containers that may hang, and what is proved of each.

use crate::finding::{Subject, SubjectKind};
use crate::io::probe::Outcome;
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::incident::{CALL_TIMEOUT, Incident};
use crate::kubelet::summary::{Group, PAUSE};
use crate::node::{OciCommand, Role, State};
use crate::rules::support::calls::{ONE_CONTAINER, WHOLE_RUNTIME};
use crate::rules::support::case::{Case, is_extract};
use crate::rules::support::holders::{Holder, STUCK};
use crate::rules::support::log_lines::{LogMatches, lasts};
use crate::rules::support::rotating_timeouts::{has_answered, rotating_timeouts};
use crate::rules::support::{holders, subject};
use crate::runtime::{Call, Container};
use crate::syntax::id::ContainerId;
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::{cmp::Reverse, time::Duration};

/// For how long the PLEG may be silent before the node is NotReady (kubelet pkg/kubelet/pleg/generic.go).
const THRESHOLD: Duration = Duration::from_secs(3 * 60);

pub(super) struct Suspect<'a> {
    pub(super) id: &'a ContainerId,
    /// The kubelet's calls for it that timed out.
    pub(super) deadlines: LogMatches<'a>,
    pub(super) container: Option<&'a Container>,
    /// What holds it now.
    pub(super) holder: Option<Holder<'a>>,
    pub(super) proof: Proof,
    /// Whether its status calls timed out repeatedly, and the kubelet did not once report PLEG unhealthy.
    pub(super) stays_below: bool,
}

/// What is proved of a suspect; those of the same proof may share a finding.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) over: bool,
    /// Whether time-outs of its calls still count.
    pub(super) logged: bool,
    /// Whether its status calls are among them: those are what a relist waits for.
    pub(super) status: bool,
    /// Whether its inspect hangs now.
    pub(super) hangs: bool,
    /// Whether a process works on it now that should have ended.
    pub(super) held: bool,
}

impl Proof {
    /// How many sources say so: the log, the runtime, the kernel.
    pub(super) fn sources(self) -> usize {
        let sources = [self.logged, self.hangs, self.held];
        sources.into_iter().filter(|&says| says).count()
    }

    /// A relist waits for the status; a stop alone may just take long.
    pub(super) fn blocks_relist(self) -> bool {
        self.logged && (self.status || self.hangs)
    }
}

/// All suspects, those with the same proof side by side.
pub(super) fn suspects<'a>(case: &Case<'a>) -> Vec<Suspect<'a>> {
    let runtime = case.evidence.runtime.as_ref();
    let mut suspects: Vec<Suspect> = Vec::new();
    for group in case.failed(ONE_CONTAINER, ErrorClass::Deadline).0 {
        let Some(id) = group.first.subject() else {
            continue;
        };
        let known = suspects.iter().position(|it| it.id.matches(id));
        let at = known.unwrap_or(suspects.len());
        if known.is_none() {
            suspects.push(Suspect::new(id, runtime.and_then(|it| it.find(id))));
        }
        suspects[at].deadlines.0.push(group);
    }
    let answering = runtime.filter(|it| it.answers());
    let containers = answering.into_iter().flat_map(|it| &it.containers);
    let hanging = containers.filter(|it| it.probe.outcome == Outcome::TimedOut);
    add(&mut suspects, hanging.map(|it| (&it.id, Some(it))));
    let rotating = rotating_timeouts(case.evidence).is_some();
    suspects
        .retain(|it| it.hangs() || !(it.is_runtime_wide(case) || (rotating && it.has_status())));
    add(&mut suspects, held_for_long(case));
    find_holders(case, &mut suspects);
    for suspect in &mut suspects {
        suspect.prove(case);
    }
    suspects.sort_by_key(|it| {
        let Proof {
            over,
            logged,
            status,
            hangs,
            held,
        } = it.proof;
        let proof = [!over, logged, status, hangs, held];
        (Reverse(proof), Reverse(it.last(case)))
    });
    suspects
}

fn add<'a>(
    suspects: &mut Vec<Suspect<'a>>,
    more: impl IntoIterator<Item = (&'a ContainerId, Option<&'a Container>)>,
) {
    for (id, container) in more {
        if !suspects.iter().any(|it| it.id.matches(id)) {
            suspects.push(Suspect::new(id, container));
        }
    }
}

/// The containers that an OCI runtime process has worked on for longer than the kubelet waits, unless Docker shows that it
/// blocks nothing: an `exec` may be old and harmless.
fn held_for_long<'a>(case: &Case<'a>) -> Vec<(&'a ContainerId, Option<&'a Container>)> {
    let limit = CALL_TIMEOUT.to_std().unwrap_or(STUCK);
    let processes = case.host().into_iter().flat_map(|host| &host.processes);
    let held = processes.filter(|it| {
        let works = matches!(it.role, Role::OciRuntime(command) if command != OciCommand::Init);
        works && it.state != State::Dead && it.age.is_some_and(|age| age >= limit)
    });
    let of_ours = held.filter_map(|process| {
        let id = process.container.as_ref()?;
        let Some(runtime) = &case.evidence.runtime else {
            return Some((id, None));
        };
        // Neither another daemon's, nor one that answers.
        let container = runtime.find(id)?;
        (container.probe.outcome == Outcome::NotProbed).then_some((id, Some(container)))
    });
    of_ours.collect()
}

/// Finds what holds those that neither answer nor are removed.
fn find_holders<'a>(case: &Case<'a>, suspects: &mut [Suspect<'a>]) {
    for suspect in suspects.iter_mut().filter(|it| !it.is_well(case)) {
        suspect.holder = holders::of_container(case.evidence, suspect.id);
    }
    // A thread does not show for which container it waits: only a single one that hangs may be meant.
    let mut hanging = suspects.iter_mut().filter(|it| it.hangs());
    if let (Some(one), None) = (hanging.next(), hanging.next()) {
        let thread = || holders::waiting_thread(case.evidence);
        one.holder = one.holder.or_else(thread);
    }
}

impl<'a> Suspect<'a> {
    fn new(id: &'a ContainerId, container: Option<&'a Container>) -> Self {
        Self {
            id,
            deadlines: LogMatches::default(),
            container,
            holder: None,
            proof: Proof::default(),
            stays_below: false,
        }
    }

    fn prove(&mut self, case: &Case) {
        let held = self.holder.is_some_and(|it| it.is_stuck());
        let lasts = self.lasts(case);
        let over = self.is_well(case) || !(self.hangs() || held || lasts);
        let logged = over || lasts || (held && self.is_covered_by_hold(case));
        self.proof = Proof {
            over,
            logged: logged && !self.deadlines.is_empty(),
            status: self.has_status(),
            hangs: self.hangs(),
            held: held && !over,
        };
        self.stays_below = self.stays_below(case);
    }

    fn hangs(&self) -> bool {
        let outcome = self.container.map(|it| it.probe.outcome);
        outcome == Some(Outcome::TimedOut)
    }

    fn has_status(&self) -> bool {
        let mut groups = self.deadlines.0.iter();
        groups.any(|group| group.first.kind.is_status())
    }

    /// Whether it answers or is removed, so that an old process blocks nothing.
    fn is_well(&self, case: &Case) -> bool {
        match (self.container, &case.evidence.runtime) {
            (Some(it), _) => matches!(it.probe.outcome, Outcome::Answered | Outcome::Gone),
            (None, Some(runtime)) => runtime.probe(Call::List).outcome == Outcome::Answered,
            (None, None) => false,
        }
    }

    /// Whether it has been held for longer than the PLEG may be silent.
    pub(super) fn is_held_for_long(&self) -> bool {
        let age = self.holder.and_then(|holder| holder.age());
        age.is_some_and(|age| age >= THRESHOLD)
    }

    /// Whether its last time-out in the log fell into the hold that lasts: the process was there already.
    fn is_covered_by_hold(&self, case: &Case) -> bool {
        let age = self.holder.and_then(|holder| holder.age());
        let age = age.and_then(|age| TimeDelta::from_std(age).ok());
        let since = age.and_then(|age| case.evidence.now.checked_sub_signed(age));
        let last = self.deadlines.last();
        since.zip(last).is_some_and(|(since, last)| since <= last)
    }

    /// The last time-out, of its calls or of its pod's syncs. These fail while the node is Ready between two rises of the
    /// lag, so that Ready alone does not prove the end of the hang (seen on a real node).
    fn last(&self, case: &Case) -> Option<Time> {
        let of_pod = |group: &Group| {
            let event = &group.first;
            self.deadlines
                .0
                .iter()
                .any(|it| match (&event.uid, &it.first.uid) {
                    (Some(uid), Some(other)) => uid == other,
                    _ => event.pod.is_some() && event.pod == it.first.pod,
                })
        };
        let syncs = case.failed(&[Kind::PodSyncError], ErrorClass::Deadline);
        self.deadlines.last().max(syncs.filter(of_pod).last())
    }

    /// Whether the log shows no recovery after its last time-out. An event of its pod is the best sign there is: the
    /// kubelet has none of a pod whose inspection failed.
    fn lasts(&self, case: &Case) -> bool {
        let (Some(log), false) = (case.log(), self.deadlines.is_empty()) else {
            return false;
        };
        let last = self.last(case);
        let mut uids = self
            .deadlines
            .0
            .iter()
            .filter_map(|it| it.first.uid.as_ref());
        let sign = uids.next().and_then(|uid| log.sign_of(uid));
        let status = self.has_status();
        // What hangs is tried again; only a status call may wait in silence, and then the PLEG is unhealthy.
        let repeated =
            (status && log.has_outage()) || self.deadlines.are_recent(case.evidence, PAUSE);
        // A relist at work says nothing of calls that it does not wait for and that failed again.
        let tried_again = self.deadlines.length().is_some_and(|it| it >= CALL_TIMEOUT);
        repeated
            && ((!status && tried_again) || lasts(case.evidence, last))
            && !(status && has_answered(log, &self.deadlines))
            && sign.is_none_or(|sign| Some(sign) <= last)
    }

    fn stays_below(&self, case: &Case) -> bool {
        let times = self.deadlines.first().zip(self.last(case));
        let Some((log, (first, last))) = case.log().zip(times) else {
            return false;
        };
        let during = |outage: &Incident| outage.start <= last && outage.last_line >= first;
        self.has_status()
            && last - first >= CALL_TIMEOUT * 3
            && !log.incidents.iter().any(during)
            && !is_extract(log)
    }

    /// Whether the runtime as a whole hung at that time, so that the deadlines say nothing of this container.
    fn is_runtime_wide(&self, case: &Case) -> bool {
        let slack = CALL_TIMEOUT + TimeDelta::seconds(30);
        let whole = case.failed(WHOLE_RUNTIME, ErrorClass::Deadline).spans();
        let near = |time: Time| {
            let mut spans = whole.iter();
            spans.any(|(first, last)| time > *first - slack && time < *last + slack)
        };
        let mut groups = self.deadlines.0.iter();
        groups.all(|group| group.last.at.is_some_and(near))
    }

    /// Whether its runtime says that a killed process did not end (containerd#10755).
    pub(super) fn is_unkillable(&self) -> bool {
        self.deadlines.say("to be killed")
    }

    pub(super) fn subject(&self) -> Subject {
        let logged = self.deadlines.0.first();
        let logged = logged.map(|group| subject::of_event(&group.first));
        let Some(container) = self.container else {
            return logged.unwrap_or_else(|| Subject {
                kind: SubjectKind::Container,
                id: Some(self.id.clone()),
                name: None,
                pod: None,
                uid: None,
                pid: None,
            });
        };
        let mut subject = subject::container(container);
        if let (None, Some(logged)) = (&subject.pod, logged) {
            (subject.pod, subject.uid) = (logged.pod, logged.uid);
        }
        subject
    }
}
