//! A log's events folded, in order, into what the rules look at. Its size does not grow with the log's: equal
//! messages about the same thing are one group that keeps its count, first and last; and of all that it keeps the
//! earlier gives way, and is counted.

mod clock_steps;
mod correlate;
mod group;
mod lru;
mod pod_deletions;
mod runtime_outages;

pub use clock_steps::ClockStep;
pub use group::{Group, PAUSE};
pub use pod_deletions::PodDeletion;
pub use runtime_outages::RuntimeOutage;

use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::kubelet::incident::{Incident, Incidents};
use crate::syntax::framing::Program;
use crate::syntax::id::{ContainerId, PodName, PodUid};
use crate::syntax::time::Time;
use chrono::TimeDelta;
use clock_steps::ClockSteps;
use correlate::Correlator;
use group::About;
use lru::Lru;
use runtime_outages::RuntimeOutages;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Groups kept of what may show a cause; the messages of others are counted in `Log::dropped`.
const MAX_GROUPS: usize = 2560;
/// Groups kept of what a healthy node says of its many pods, which is not to crowd those out.
const MAX_QUIET: usize = 1024;
/// Groups kept after which there was a long pause.
const MAX_ENDED: usize = 512;
const MAX_PROGRAMS: usize = 16;
/// Pods and ids remembered.
const MAX_NAMES: usize = 8192;

/// One log file, journal or stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub name: String,
    pub bytes: u64,
    pub lines: u64,
    /// Whether some of them are the kubelet's.
    pub of_kubelet: bool,
    /// The program that the kubelet is, or runs in, by its lines' envelopes.
    pub program: Option<Program>,
    /// Of all its kubelet lines: `--since` leaves out events, and of lines those far away.
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub guessed_times: bool,
    /// Whether plegdoctor found it without being given it.
    pub picked: bool,
    /// Whether somebody cut lines out of it: those looked at, here and there, name the PLEG, the sync loop or the node's
    /// readiness all.
    pub extract: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Log {
    pub sources: Vec<Source>,
    pub counts: BTreeMap<&'static str, u64>,
    pub groups: Vec<Group>,
    pub incidents: Vec<Incident>,
    pub pod_deletions: VecDeque<PodDeletion>,
    pub node: Option<String>,
    /// When each kubelet started, in order (the last few).
    pub starts: Vec<Event>,
    /// The last event that only a working relist lets happen.
    pub last_sign: Option<Event>,
    /// The first such event after the last trouble: since when all is well.
    pub well_since: Option<Time>,
    /// The last word on the node's readiness: NodeReady or NodeNotReady.
    pub last_readiness: Option<Event>,
    /// A line that proves that this kubelet drives Docker.
    pub uses_docker: Option<Event>,
    /// The runtime's name, as the kubelet learned it at its start: `docker`, `containerd`, `cri-o`.
    pub runtime_name: Option<String>,
    /// The last line with a program's version, by the program's name: `kernel`, `docker`.
    pub versions: BTreeMap<String, Event>,
    /// By how much, at most, a line was received later than it was written.
    pub delay: Option<TimeDelta>,
    /// Where the log's times go back.
    pub clock_steps: Vec<ClockStep>,
    pub runtime_outages: Vec<RuntimeOutage>,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Events that found no room.
    pub dropped: u64,
    /// Names of pods and containers, last signs of pods and pod_deletions that found no room.
    pub forgotten: u64,
    /// Outages that found no room.
    pub outages_dropped: u64,
    /// The last event of each pod: only a relist that inspected the pod lets it happen.
    pod_signs: Lru<PodUid, Time, MAX_NAMES>,
    names: Lru<ContainerId, (PodName, Option<PodUid>), MAX_NAMES>,
    uids: Lru<PodUid, PodName, MAX_NAMES>,
}

impl Log {
    pub fn of<'a>(&'a self, kinds: &'a [Kind]) -> impl Iterator<Item = &'a Group> {
        self.groups
            .iter()
            .filter(|group| kinds.contains(&group.first.kind))
    }

    /// The groups of these messages that ended in an error of this class.
    pub fn failed<'a>(
        &'a self,
        kinds: &'a [Kind],
        class: ErrorClass,
    ) -> impl Iterator<Item = &'a Group> {
        self.of(kinds)
            .filter(move |group| group.first.error_class() == Some(class))
    }

    /// The pod of a container or sandbox, as far as the log names it.
    pub fn pod_of(&self, id: &ContainerId) -> Option<(&PodName, Option<&PodUid>)> {
        // An id cut short sorts right before the whole ids that it begins.
        self.names
            .correlate(id)
            .find(|(known, _)| known.matches(id))
            .map(|(_, (pod, uid))| (pod, uid.as_ref()))
    }

    pub fn pod_named(&self, uid: &PodUid) -> Option<&PodName> {
        self.uids.get(uid)
    }

    pub fn has_outage(&self) -> bool {
        self.incidents.iter().any(|incident| incident.ongoing)
    }

    /// The sign that the relist works again, if the log shows one after `time`.
    pub fn recovery_after(&self, time: Time) -> Option<&Event> {
        let sign = self
            .last_sign
            .as_ref()
            .filter(|sign| sign.at.is_some_and(|at| at > time))?;
        // On a node that has flapped already, Ready between two time-outs proves nothing.
        let flaps = self
            .incidents
            .last()
            .filter(|i| i.rises > 1 && i.start <= time && i.last_line + FLAP_PERIOD > time);
        let settled = |i: &Incident| self.last.is_some_and(|end| end - i.last_line > FLAP_PERIOD);
        flaps.is_none_or(settled).then_some(sign)
    }

    /// Whether the log shows that a list succeeded after `time`: relists came to an end, or one began of which
    /// the lag is logged. That a status call blocks does not speak against it.
    pub fn lists_after(&self, time: Time) -> bool {
        self.relists_after(time) > 0 || self.recovery_after(time).is_some()
    }

    /// How many relists began by the logged lags after `time`. Where there are two, the first came to its end, and
    /// each pod that it asked had answered or had its time-out.
    pub fn relists_after(&self, time: Time) -> usize {
        let begun = self.incidents.iter().flat_map(Incident::relists);
        begun.filter(|began| *began > time).count()
    }

    /// When the log shows the last event of this pod.
    pub fn sign_of(&self, uid: &PodUid) -> Option<Time> {
        self.pod_signs.get(uid).copied()
    }

    /// All ids that failed calls name, those of status calls first.
    pub fn suspects(&self) -> Vec<ContainerId> {
        let mut ranked: Vec<_> = self
            .groups
            .iter()
            .filter(|group| group.first.error.is_some())
            .filter_map(|group| {
                Some((
                    rank(group),
                    std::cmp::Reverse(group.last.at),
                    group.first.subject()?,
                ))
            })
            .collect();
        ranked.sort();
        let mut seen = BTreeSet::new();
        ranked
            .into_iter()
            .filter(|(_, _, id)| seen.insert(*id))
            .map(|(_, _, id)| id.clone())
            .collect()
    }
}

/// A flapping node is Ready for as long as a relist needs to reach the threshold again, at most.
const FLAP_PERIOD: TimeDelta = TimeDelta::minutes(6);

fn rank(group: &Group) -> u8 {
    match (group.first.kind, group.first.is_deadline()) {
        (kind, true) if kind.is_status() => 0,
        (_, true) => 1,
        _ => 2,
    }
}

#[derive(Debug, Default)]
pub struct LogSummary {
    log: Log,
    counts: Vec<u64>,
    groups: Lru<About, Group, MAX_GROUPS>,
    /// Groups of what a healthy node says, too.
    quiet: Lru<About, Group, MAX_QUIET>,
    /// Groups after which there was a long pause.
    ended: VecDeque<Group>,
    incidents: Incidents,
    correlate: Correlator,
    clock_steps: ClockSteps,
    runtime_outages: RuntimeOutages,
}

/// How much later than written a line was received: a full pipe holds up what is written.
fn delay(event: &Event) -> Option<TimeDelta> {
    event.received.zip(event.at).map(|(late, at)| late - at)
}

impl LogSummary {
    pub fn observe(&mut self, event: Event) {
        let kind = event.kind as usize;
        if self.counts.len() <= kind {
            self.counts.resize(kind + 1, 0);
        }
        self.counts[kind] += 1;
        self.incidents.observe(&event);
        self.clock_steps.observe(&event);
        self.runtime_outages.observe(&event);
        self.log.delay = self.log.delay.max(delay(&event));
        self.learn_names(&event);
        self.remember(&event);
        let dropped = &mut self.log.dropped;
        let mut drop = |group: Group| *dropped += group.count;
        let about = About(Arc::clone(&event.fields));
        let group = if about.is_quiet() {
            self.quiet.entry(about, &mut drop)
        } else {
            self.groups.entry(about, &mut drop)
        };
        match group {
            Entry::Occupied(mut group) if !group.get().ended_before(&event) => {
                let group = group.get_mut();
                group.count += 1;
                group.last = event;
            }
            Entry::Occupied(mut group) => {
                let ended = group.insert(Group::new(event));
                if self.ended.len() == MAX_ENDED {
                    self.ended.pop_front().into_iter().for_each(drop);
                }
                self.ended.push_back(ended);
            }
            Entry::Vacant(place) => {
                place.insert(Group::new(event));
            }
        }
    }

    /// What the log shows, read from `sources` and up to `until`.
    pub fn finish(mut self, sources: Vec<Source>, until: Option<Time>) -> Log {
        let counts = Kind::ALL.iter().zip(&self.counts);
        self.log.counts = counts
            .filter(|(_, count)| **count > 0)
            .map(|(kind, count)| (kind.id(), *count))
            .collect();
        self.log.first = sources.iter().filter_map(|s| s.first).min();
        let last = sources.iter().filter_map(|s| s.last).max();
        self.log.last = last.map(|last| until.map_or(last, |until| last.min(until)));
        self.log.sources = sources;
        (self.log.incidents, self.log.outages_dropped) = self.incidents.finish(self.log.last);
        self.log.clock_steps = self.clock_steps.finish();
        self.log.runtime_outages = self.runtime_outages.finish();
        let groups = self.groups.into_values().chain(self.quiet.into_values());
        let mut groups: Vec<_> = groups.chain(self.ended).collect();
        for group in &mut groups {
            for event in [&mut group.first, &mut group.last] {
                name_pod(event, &self.log);
            }
        }
        groups.sort_by(|a, b| {
            (a.first.at, a.first.citation.line).cmp(&(b.first.at, b.first.citation.line))
        });
        self.log.groups = groups;
        self.log
    }

    fn learn_names(&mut self, event: &Event) {
        let log = &mut self.log;
        let forgotten = &mut log.forgotten;
        if let (Some(uid), Some(pod)) = (&event.uid, &event.pod) {
            log.uids.put(uid, pod.clone(), |_| *forgotten += 1);
        }
        if let Some(pod) = &event.pod {
            for id in event.sandbox.iter().chain(&event.container) {
                let named = (pod.clone(), event.uid.clone());
                log.names.put(id, named, |_| *forgotten += 1);
            }
        }
        let whose = self.correlate.observe(event);
        if let (Some(id), Some(pod)) = (whose, &event.pod)
            && log.pod_of(&id).is_none()
        {
            let named = (pod.clone(), event.uid.clone());
            log.names.put(&id, named, |_| log.forgotten += 1);
        }
    }

    fn remember(&mut self, event: &Event) {
        let log = &mut self.log;
        if log.node.is_none() {
            log.node.clone_from(&event.node);
        }
        match event.kind {
            Kind::NodeReady | Kind::PlegEvent | Kind::PlegContainerFinished => {
                log.last_sign = Some(event.clone());
                log.well_since = log.well_since.or(event.at);
                if let (Some(uid), Some(at)) = (&event.uid, event.at) {
                    let forgotten = &mut log.forgotten;
                    log.pod_signs.put(uid, at, |_| *forgotten += 1);
                }
            }
            Kind::PodRemoved => log.note_deletion(event),
            Kind::SyncloopStart => {
                if log.starts.len() == 8 {
                    log.starts.remove(0);
                }
                log.starts.push(event.clone());
            }
            Kind::SoftwareVersion => {
                let name = event.detail.as_deref().and_then(|it| it.split(' ').next());
                if let Some(name) = name
                    && (log.versions.len() < MAX_PROGRAMS || log.versions.contains_key(name))
                {
                    log.versions.insert(name.to_owned(), event.clone());
                }
            }
            Kind::RuntimeInitialized => log.runtime_name.clone_from(&event.detail),
            Kind::DockershimUsed if log.uses_docker.is_none() => {
                log.uses_docker = Some(event.clone());
            }
            _ => {}
        }
        let fails = matches!(
            event.error_class(),
            Some(ErrorClass::Deadline | ErrorClass::Unavailable | ErrorClass::TooLarge)
        );
        if event.kind == Kind::PlegStale || fails {
            log.well_since = None;
        }
        match event.kind {
            Kind::NodeReady | Kind::NodeNotReady => log.last_readiness = Some(event.clone()),
            Kind::RecordingEvent if event.detail.as_deref() == Some("NodeNotReady") => {
                // The line beside it says why.
                let last = log.last_readiness.as_ref().map(|last| last.kind);
                if last != Some(Kind::NodeNotReady) {
                    log.last_readiness = Some(event.clone());
                }
            }
            _ => {}
        }
    }
}

/// Gives an event the pod that other lines name for its container or UID.
fn name_pod(event: &mut Event, log: &Log) {
    let of_subject = event.subject().and_then(|id| log.pod_of(id));
    let uid = event.uid.as_ref().or(of_subject.and_then(|(_, uid)| uid));
    let pod = event
        .pod
        .as_ref()
        .or(of_subject.map(|(pod, _)| pod))
        .or_else(|| log.pod_named(event.uid.as_ref()?));
    if pod != event.pod.as_ref() || uid != event.uid.as_ref() {
        let (pod, uid) = (pod.cloned(), uid.cloned());
        let fields = Arc::make_mut(&mut event.fields);
        (fields.pod, fields.uid) = (pod, uid);
    }
}

#[cfg(test)]
pub(crate) mod tests;
