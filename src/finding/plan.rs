//! What `clean` is going to remove, and what it leaves alone: decided from what list and inspect said.
//!
//! Nothing here asks or removes. The list alone decides nothing, since it lies both ways: up to Docker 28.1 a
//! container that could not be removed lists as `removing` for ever, and one whose inspect never answers lists as
//! Created or even Up. So each state below is the inspected one. "Its removal is stuck" means that inspect says
//! `removing`: Docker is at it and has not ended. If it ends by itself before its turn, the outcome is "gone"; if
//! not, the daemon says that a removal is in progress, which is then the reason. A container that lists as
//! `removing` and inspects as `exited` can still be started, and is an exited one.

mod filter;
mod living;
mod result;

pub use filter::Filters;
pub use result::CleanResult;

use crate::finding::outcome::{Outcome, Status};
use crate::io::probe;
use crate::io::probe::Probe;
use crate::runtime::{Container, ContainerKind, Inspected, State};
use crate::syntax::duration;
use crate::syntax::id::{ContainerId, PodName, PodUid};
use crate::syntax::time::Time;
use chrono::TimeDelta;
use living::{Inhabited, Pods};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// How old a container that never started must be: a start that waits for a slow disk or a slow network may still come,
/// and the kubelet itself gives up on one after 2 minutes (its runtime request timeout).
pub const NEVER_STARTED_AFTER: TimeDelta = TimeDelta::minutes(10);

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub dead: bool,
    /// Stopped ones of pods without a living sandbox.
    pub exited: bool,
    pub created: bool,
    /// Of `exited`, those of living pods too.
    pub include_live_pods: bool,
    /// Of `exited` and `created`, those of no pod too.
    pub include_non_pods: bool,
    /// Only what finished, or else was created, at least so long ago.
    pub older_than: Option<TimeDelta>,
    pub filters: Filters,
}

/// Why a container may be removed: the state that inspect told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `dead`, or `removing`: Docker can't start it again.
    Dead,
    Exited,
    /// `created`: never started.
    Created,
}

impl Kind {
    /// What `inspected` is; `None` for what is never removed (running, paused, restarting, or a state that we do not
    /// know).
    pub fn of(inspected: &Inspected) -> Option<Self> {
        match inspected.state {
            _ if inspected.running => None,
            State::Dead | State::Removing => Some(Self::Dead),
            State::Exited => Some(Self::Exited),
            State::Created if inspected.started.is_none() => Some(Self::Created),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub id: ContainerId,
    pub name: String,
    pub label: Option<String>,
    pub role: ContainerKind,
    pub pod: Option<PodName>,
    pub uid: Option<PodUid>,
    pub sandbox: Option<ContainerId>,
    pub kind: Kind,
    pub state: State,
    pub created: Option<Time>,
    pub started: Option<Time>,
    pub finished: Option<Time>,
}

impl Target {
    /// Since when it has been as it is: when it finished, or was created if it never ran.
    pub fn since(&self) -> Option<Time> {
        self.finished.or(self.created)
    }

    /// Whether `inspected` shows it as the plan saw it. A start and a stop in between leave it exited, but with other
    /// times.
    pub fn is_unchanged(&self, inspected: &Inspected) -> bool {
        Kind::of(inspected) == Some(self.kind)
            && inspected.started == self.started
            && inspected.finished == self.finished
    }

    /// Whether its logs go with it: a sandbox says nothing, and what never ran has said nothing.
    pub fn loses_logs(&self) -> bool {
        self.role != ContainerKind::Sandbox && self.kind != Kind::Created
    }

    /// Whether it stands in the sandbox `other`: by its own word, else by the pod.
    pub fn is_in(&self, other: &Self) -> bool {
        let same_pod = || match (&self.uid, &other.uid) {
            (Some(mine), Some(its)) => mine == its,
            _ => self.pod.is_some() && self.pod == other.pod,
        };
        self.role == ContainerKind::Container
            && other.role == ContainerKind::Sandbox
            && self
                .sandbox
                .as_ref()
                .map_or_else(same_pod, |sandbox| sandbox.matches(&other.id))
    }
}

/// A container whose inspect did not answer, or told no state: never planned.
#[derive(Clone, Debug, PartialEq)]
pub struct Unseen {
    pub id: ContainerId,
    pub name: String,
    pub pod: Option<PodName>,
    /// The list's state, which is not reliable.
    pub listed_state: State,
    pub probe: Probe,
}

impl Unseen {
    pub fn why(&self) -> String {
        let waited = || TimeDelta::from_std(self.probe.took).unwrap_or(duration::NEVER);
        match (&self.probe.error, self.probe.outcome) {
            (Some(words), _) => words.clone(),
            (None, probe::Outcome::TimedOut) => {
                format!("timed out after {}", duration::human(waited()))
            }
            (None, _) => "not inspected".to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spared {
    LivePod,
    NoPod,
    MayStart,
    /// It is younger than was asked for, or its age can't be told.
    Young,
    /// A sandbox that a container stands in which stays: it runs, can't be seen, or is not taken.
    InUse,
    /// Another container is *named* like its id, and Docker takes either.
    Ambiguous,
}

/// What is to be removed, in the order in which it is shown, and what is left alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Pod by pod, each one's containers before their sandbox; what belongs to no pod comes last.
    pub targets: Vec<Target>,
    pub unseen: Vec<Unseen>,
    pub spared: BTreeMap<ContainerId, Spared>,
}

impl Plan {
    /// Makes the plan for `request` from all containers of the node, each inspected, as of `now`.
    pub fn new(containers: &[Container], request: &Request, now: Time) -> Self {
        let pods = Pods::new(containers);
        let names: HashSet<&str> = containers.iter().map(|it| it.name.as_str()).collect();
        let mut plan = Self::default();
        for container in containers {
            let Some(inspected) = &container.inspected else {
                if container.probe.outcome != probe::Outcome::Gone {
                    plan.unseen.push(unseen(container));
                }
                continue;
            };
            if let State::Unknown(word) = &inspected.state
                && !inspected.running
            {
                plan.unseen.push(unknown(container, word));
                continue;
            }
            let Some(kind) = Kind::of(inspected).filter(|&kind| request.wants(kind)) else {
                continue;
            };
            if !request.filters.admit(container) {
                continue;
            }
            let target = target(container, inspected, kind);
            let spared = if names.contains(container.id.as_str()) {
                Some(Spared::Ambiguous)
            } else {
                request.spares(&target, &pods, now)
            };
            match spared {
                Some(why) => {
                    plan.spared.insert(target.id, why);
                }
                None => plan.targets.push(target),
            }
        }
        plan.keep_sandboxes_in_use(containers);
        plan.targets.sort_by_cached_key(sort_key);
        plan.unseen.sort_by(|a, b| a.id.cmp(&b.id));
        plan
    }

    /// Spares sandboxes that would go before a container that stands in them: it would lose its network and could no
    /// longer be told from a pod's leftovers. A dead sandbox has nothing left to lose.
    fn keep_sandboxes_in_use(&mut self, containers: &[Container]) {
        let planned: HashSet<&ContainerId> = self.targets.iter().map(|it| &it.id).collect();
        let stays =
            |it: &&Container| it.probe.outcome != probe::Outcome::Gone && !planned.contains(&it.id);
        let inhabited = Inhabited::by(containers.iter().filter(stays));
        let (kept, targets) = std::mem::take(&mut self.targets)
            .into_iter()
            .partition(|it: &Target| it.kind != Kind::Dead && inhabited.is_by_something(it));
        self.targets = targets;
        let kept = Vec::into_iter(kept);
        self.spared.extend(kept.map(|it| (it.id, Spared::InUse)));
    }

    /// The plan without what is not `wanted`, made from the same `containers`: a sandbox whose container stays for that
    /// is spared.
    pub fn only(mut self, wanted: &BTreeSet<ContainerId>, containers: &[Container]) -> Self {
        self.targets.retain(|target| wanted.contains(&target.id));
        self.keep_sandboxes_in_use(containers);
        self
    }

    /// Whether a later look may spare something of it: what depends on how the rest of its pod is.
    pub fn can_be_overtaken(&self) -> bool {
        let depends = |it: &Target| it.kind != Kind::Dead && it.role != ContainerKind::Other;
        self.targets.iter().any(depends)
    }

    /// The endings of targets that a `later` look spares: since the plan was made, their pod may have come back to
    /// life. Whether a container itself changed is looked at right before its removal.
    pub fn overtaken(&self, later: &Self) -> Vec<Option<Outcome>> {
        let unseen: HashSet<&PodName> = later
            .unseen
            .iter()
            .filter_map(|it| it.pod.as_ref())
            .collect();
        let is_unseen =
            |target: &Target| target.pod.as_ref().is_some_and(|pod| unseen.contains(pod));
        let why = |target: &Target, why: &Spared| match why {
            Spared::LivePod if is_unseen(target) => "part of its pod cannot be inspected any more",
            Spared::LivePod => "its pod is running again",
            Spared::InUse => "a container that is not planned uses this sandbox",
            _ => "a new scan keeps it",
        };
        let ending = |target: &Target| {
            let spared = later.spared.get(&target.id)?;
            Some(Outcome::because(Status::Changed, why(target, spared)))
        };
        self.targets.iter().map(ending).collect()
    }
}

impl Request {
    fn wants(&self, kind: Kind) -> bool {
        match kind {
            Kind::Dead => self.dead,
            Kind::Exited => self.exited,
            Kind::Created => self.created,
        }
    }

    fn spares(&self, target: &Target, pods: &Pods<'_>, now: Time) -> Option<Spared> {
        let age = target.since().map(|since| now - since);
        let younger = |than: TimeDelta| age.is_none_or(|age| age < than);
        let of_no_pod = target.role == ContainerKind::Other;
        match target.kind {
            Kind::Exited | Kind::Created if of_no_pod && !self.include_non_pods => {
                return Some(Spared::NoPod);
            }
            Kind::Exited if !of_no_pod && !self.include_live_pods && pods.is_living(target) => {
                return Some(Spared::LivePod);
            }
            Kind::Created if younger(NEVER_STARTED_AFTER) => return Some(Spared::MayStart),
            _ => {}
        }
        self.older_than
            .is_some_and(younger)
            .then_some(Spared::Young)
    }
}

fn target(container: &Container, inspected: &Inspected, kind: Kind) -> Target {
    Target {
        id: container.id.clone(),
        name: container.name.clone(),
        label: container
            .labels
            .get("io.kubernetes.container.name")
            .cloned(),
        role: container.kind,
        pod: container.pod.clone(),
        uid: container.uid.clone(),
        sandbox: container.sandbox.clone(),
        kind,
        state: inspected.state.clone(),
        created: container.created,
        started: inspected.started,
        finished: inspected.finished,
    }
}

fn unknown(container: &Container, word: &str) -> Unseen {
    let mut unseen = unseen(container);
    unseen.probe.error = Some(match word {
        "" => "its inspect has no state".to_owned(),
        _ => format!("its inspect has an unknown state: {word}"),
    });
    unseen
}

fn unseen(container: &Container) -> Unseen {
    Unseen {
        id: container.id.clone(),
        name: container.name.clone(),
        pod: container.pod.clone(),
        listed_state: container.listed_state.clone(),
        probe: container.probe.clone(),
    }
}

fn sort_key(
    target: &Target,
) -> (
    bool,
    Option<PodName>,
    Option<PodUid>,
    bool,
    String,
    ContainerId,
) {
    (
        target.role == ContainerKind::Other,
        target.pod.clone(),
        target.uid.clone(),
        target.role == ContainerKind::Sandbox,
        target.name.clone(),
        target.id.clone(),
    )
}

#[cfg(test)]
mod tests;
