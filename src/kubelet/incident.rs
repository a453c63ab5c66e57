//! Events folded, in order, into incidents: stretches of time in which the kubelet's PLEG was unhealthy.
//!
//! Counts come from events only; why the relist could not finish is left to the rules.

mod sawtooth;

pub use sawtooth::Peaks;

use crate::kubelet::THRESHOLD;
use crate::kubelet::event::{Event, Kind};
use crate::syntax::citation::Citation;
use crate::syntax::duration::NEVER;
use crate::syntax::id::ContainerId;
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::collections::{BTreeSet, VecDeque};

/// How long a CRI call may take before the kubelet gives up (`runtimeRequestTimeout`'s default).
pub const CALL_TIMEOUT: TimeDelta = TimeDelta::minutes(2);
/// The longest pause between stale lines while the kubelet is unhealthy is 5 s (sync-loop back-off), so a log
/// that goes on for this long without one shows that it is not.
const MAX_PAUSE: TimeDelta = TimeDelta::seconds(15);
/// Two stretches are one incident if no relist can have finished between them: the second's last good relist
/// began at most this long after the first's last stale line.
const ADJACENT: TimeDelta = TimeDelta::seconds(60);
/// … or if the same container blocks in both and they are not further apart than this.
const SAME_CULPRIT: TimeDelta = TimeDelta::minutes(10);
/// How long after a kubelet's start "yet to be successful" is harmless.
pub const START_UP: TimeDelta = TimeDelta::seconds(60);
/// A lag may be this much shorter than the time passed would make it and still count as the same rise: klog
/// stamps the line a little after the lag was computed.
const JITTER: TimeDelta = TimeDelta::seconds(3);
/// A pause this long between stale lines, while no relist succeeds, is no pause: lines are missing.
const MIN_HOLE: TimeDelta = TimeDelta::seconds(60);
/// Samples of the lag that an incident keeps for its bar; beyond, every second one is dropped.
const MAX_SAMPLES: usize = 256;
/// Incidents kept; beyond, the earliest gives way.
const MAX_INCIDENTS: usize = 256;
/// The incidents that keep all their samples, and how many those before them keep.
const WHOLE_INCIDENTS: usize = 32;
const MAX_OLD_SAMPLES: usize = 32;
/// Distinct blocked containers that an incident remembers.
const MAX_CULPRITS: usize = 64;
/// Times of failed calls remembered from before an incident's first line.
const MAX_LOOKBACK: usize = 256;

/// How the lag went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No listing succeeds: list errors, or a lag beyond what blocked status calls explain.
    Growing,
    /// Listing works and a status call blocks: the lag falls back and rises again, the node flaps.
    Sawtooth,
    /// One short stretch: unknown.
    Single,
}

/// A stretch of time in which the PLEG was unhealthy.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// When the last good relist began: the first line's time minus its lag.
    pub start: Time,
    /// When it was resolved: the first sign of recovery, else the last stale line; `None` while it goes on.
    pub end: Option<Time>,
    /// Whether the log ends without a sign of recovery.
    pub ongoing: bool,
    pub peak_lag: TimeDelta,
    /// The limit as logged; `None` where no line has it.
    pub threshold: Option<TimeDelta>,
    /// How the lag went.
    pub shape: Shape,
    /// Lines with a lag.
    pub lines: u64,
    /// How often the lag rose: 1, or more if it fell back in between.
    pub rises: u32,
    /// How high it stood each time that it fell back.
    pub peaks: Peaks,
    /// Whether no relist succeeded since the kubelet's start.
    pub never: bool,
    /// The lag over time, thinned out.
    pub samples: Vec<(Time, TimeDelta)>,
    pub first: Citation,
    pub last: Citation,
    /// When the last stale line was logged.
    pub last_line: Time,
    pub list_errors: u64,
    /// Status calls that timed out.
    pub status_deadlines: u64,
    /// The containers and sandboxes whose status calls timed out.
    pub culprits: BTreeSet<ContainerId>,
}

impl Incident {
    /// When, at the earliest, relists began that could list: those that a lag dates, in their order.
    pub fn relists(&self) -> Vec<Time> {
        let mut begun: Vec<Time> = Vec::new();
        for (at, lag) in self.samples.iter().filter(|_| !self.never) {
            let began = *at - *lag - JITTER;
            if begun.last().is_none_or(|last| began - *last > JITTER * 2) {
                begun.push(began);
            }
        }
        begun
    }

    /// Whether lines are missing that an unhealthy kubelet writes: one every 5 s, from the threshold on. `begin` is
    /// the time of the log's first line.
    pub fn has_holes(&self, begin: Option<Time>) -> bool {
        // Of a long one not all samples are kept; so many lines have no such holes.
        if self.samples.len() as u64 != self.lines {
            return false;
        }
        let one_rise = |&(at, lag): &(Time, TimeDelta), &(then, before): &(Time, TimeDelta)| {
            ((at - lag) - (then - before)).abs() <= JITTER * 2
        };
        let gap = self.samples.windows(2).any(|two| match two {
            [one, next] => one_rise(next, one) && next.0 - one.0 > MIN_HOLE,
            _ => false,
        });
        let late = self.samples.first().is_some_and(|(at, lag)| {
            let due = *at - *lag + self.threshold.unwrap_or(THRESHOLD);
            *at - due > MIN_HOLE && begin.is_some_and(|begin| begin < due)
        });
        gap || late
    }
}

/// The fold. Feed it events in order, then `finish`.
#[derive(Debug, Default)]
pub struct Incidents {
    closed: VecDeque<Incident>,
    /// Those that gave way.
    dropped: u64,
    open: Option<Incident>,
    /// When this kubelet's sync loop started, if the log shows it.
    started: Option<Time>,
    /// Since when "yet to be successful" is repeated.
    never_since: Option<Time>,
    list_errors: VecDeque<Time>,
    status_deadlines: VecDeque<(Time, Option<ContainerId>)>,
    last_sample_step: u64,
    last_lag: TimeDelta,
}

impl Incidents {
    pub fn observe(&mut self, event: &Event) {
        let Some(at) = event.at else { return };
        match event.kind {
            Kind::SyncloopStart => self.restart(at),
            Kind::PlegStale => match event.lag {
                Some(NEVER) => self.never(event, at),
                Some(lag) => self.stale(event, at, lag),
                None => self.cut(event, at),
            },
            Kind::PlegNever => self.never(event, at),
            Kind::NodeReady | Kind::PlegEvent | Kind::PlegContainerFinished => self.recovered(at),
            kind if kind.is_list() => self.list_failed(at),
            kind if kind.is_status() && event.is_deadline() => {
                self.status_blocked(at, event.subject());
            }
            _ => {}
        }
    }

    /// The incidents, and how many of the earliest found no room; `log_end` is the time of the log's last line.
    pub fn finish(mut self, log_end: Option<Time>) -> (Vec<Incident>, u64) {
        if let Some(mut open) = self.open.take() {
            let quiet = log_end.is_some_and(|end| end - open.last_line > MAX_PAUSE);
            if open.end.is_none() && quiet {
                open.end = Some(open.last_line);
            }
            open.ongoing = open.end.is_none();
            self.close(open);
        }
        (self.closed.into(), self.dropped)
    }

    fn restart(&mut self, at: Time) {
        if let Some(mut open) = self.open.take() {
            open.ended_by(at);
            self.close(open);
        }
        self.started = Some(at);
        self.never_since = None;
    }

    fn recovered(&mut self, at: Time) {
        self.never_since = None;
        if let Some(open) = &mut self.open
            && at > open.last_line
        {
            open.ended_by(at);
        }
    }

    fn list_failed(&mut self, at: Time) {
        if let Some(open) = &mut self.open
            && at - open.last_line <= ADJACENT
        {
            open.list_errors += 1;
        }
        push_bounded(&mut self.list_errors, at);
    }

    fn status_blocked(&mut self, at: Time, subject: Option<&ContainerId>) {
        if let Some(open) = &mut self.open
            && at - open.last_line <= ADJACENT
        {
            open.blocked(subject);
        }
        push_bounded(&mut self.status_deadlines, (at, subject.cloned()));
    }

    /// A lag that no relist ever ended: harmless at a kubelet's start, an incident when it lasts.
    fn never(&mut self, event: &Event, at: Time) {
        let since = *self
            .never_since
            .get_or_insert(self.started.filter(|s| *s <= at).unwrap_or(at));
        if at - since > START_UP {
            self.stale(event, at, at - since);
            if let Some(open) = &mut self.open {
                open.never = true;
            }
        }
    }

    /// A lag that cannot be read: it is that of the line before, grown, or else the smallest that is logged.
    fn cut(&mut self, event: &Event, at: Time) {
        let last = self.open.as_ref().and_then(|open| open.samples.last());
        // To the millisecond: no finer than it was logged.
        let grown = last
            .filter(|(before, _)| (TimeDelta::zero()..=SAME_CULPRIT).contains(&(at - *before)))
            .map(|(before, lag)| (*lag + (at - *before)).num_milliseconds());
        let grown = grown.map(TimeDelta::milliseconds);
        let least = event.threshold.unwrap_or(THRESHOLD);
        self.stale(event, at, grown.unwrap_or(least));
    }

    fn stale(&mut self, event: &Event, at: Time, lag: TimeDelta) {
        let start = at.checked_sub_signed(lag).unwrap_or(at);
        if let Some(open) = self.open.take() {
            if self.continues(&open, start, at) {
                self.open = Some(self.extended(open, event, at, lag));
                return;
            }
            let mut open = open;
            open.end = open.end.or(Some(open.last_line));
            self.close(open);
        }
        let mut incident = Incident {
            start,
            end: None,
            ongoing: false,
            peak_lag: lag,
            threshold: event.threshold,
            shape: Shape::Single,
            lines: 1,
            rises: 1,
            peaks: Peaks::default(),
            never: false,
            samples: vec![(at, lag)],
            first: event.citation.clone(),
            last: event.citation.clone(),
            last_line: at,
            list_errors: 0,
            status_deadlines: 0,
            culprits: BTreeSet::new(),
        };
        incident.list_errors = self.list_errors.iter().filter(|t| **t >= start).count() as u64;
        // The relist before may have spent its time in the same call, and have ended in a deadline just before
        // the stamp that this lag counts from.
        let earliest = start - CALL_TIMEOUT - JITTER;
        for (_, subject) in self.status_deadlines.iter().filter(|(t, _)| *t >= earliest) {
            incident.blocked(subject.as_ref());
        }
        self.last_sample_step = 1;
        self.last_lag = lag;
        self.open = Some(incident);
    }

    /// Whether a stale line at `at` belongs to `open`, rather than to an outage of its own.
    fn continues(&self, open: &Incident, start: Time, at: Time) -> bool {
        if at < open.last_line {
            return open.last_line - at < CALL_TIMEOUT; // lines out of order, not a clock that was set back
        }
        let apart = start - open.last_line;
        let same_culprit = || {
            let since_then = self
                .status_deadlines
                .iter()
                .filter(|(t, _)| *t > open.last_line + ADJACENT);
            since_then
                .flat_map(|(_, id)| id)
                .any(|id| open.culprits.contains(id))
        };
        apart <= ADJACENT || (apart <= SAME_CULPRIT && same_culprit())
    }

    fn extended(
        &mut self,
        mut open: Incident,
        event: &Event,
        at: Time,
        lag: TimeDelta,
    ) -> Incident {
        let (before, lag_before) = open.samples.last().copied().unwrap_or((at, lag));
        if lag + JITTER < lag_before + (at - before) && lag < lag_before {
            open.rises += 1;
            open.peaks.add(self.last_lag);
        }
        self.last_lag = lag;
        open.end = None;
        open.lines += 1;
        open.last_line = open.last_line.max(at);
        open.last = event.citation.clone();
        open.threshold = open.threshold.or(event.threshold);
        open.peak_lag = open.peak_lag.max(lag);
        if open.lines.is_multiple_of(self.last_sample_step) {
            open.samples.push((at, lag));
        }
        if open.samples.len() > MAX_SAMPLES {
            open.thin_out();
            self.last_sample_step *= 2;
        }
        open
    }

    fn close(&mut self, mut incident: Incident) {
        incident.shape = incident.lag_shape();
        if self.closed.len() == MAX_INCIDENTS {
            self.closed.pop_front();
            self.dropped += 1;
        }
        self.closed.push_back(incident);
        let before = self.closed.len().checked_sub(WHOLE_INCIDENTS + 1);
        if let Some(old) = before.and_then(|at| self.closed.get_mut(at)) {
            while old.samples.len() > MAX_OLD_SAMPLES {
                old.thin_out();
            }
            old.samples.shrink_to_fit();
        }
    }
}

impl Incident {
    /// A sign at `at` shows that it is over: then, or since the stale lines stopped if that was well before.
    fn ended_by(&mut self, at: Time) {
        let prompt = at - self.last_line <= ADJACENT;
        self.end = self.end.or(Some(if prompt { at } else { self.last_line }));
    }

    fn thin_out(&mut self) {
        let mut index = 0;
        self.samples.retain(|_| {
            index += 1;
            index % 2 == 1
        });
    }

    fn blocked(&mut self, subject: Option<&ContainerId>) {
        self.status_deadlines += 1;
        if let Some(id) = subject
            && self.culprits.len() < MAX_CULPRITS
        {
            self.culprits.insert(id.clone());
        }
    }

    fn lag_shape(&self) -> Shape {
        // Each blocked pod costs a relist one time-out, or two where the kubelet (up to 1.31) inspects it again
        // at the relist's end; a minute on top for everything else.
        let blocked = i32::try_from(self.culprits.len().max(1)).unwrap_or(i32::MAX);
        let explained = CALL_TIMEOUT * 2 * blocked + TimeDelta::minutes(1);
        if self.rises > 1 {
            Shape::Sawtooth
        } else if self.list_errors > 0 || self.never || self.peak_lag > explained {
            Shape::Growing
        } else if self.status_deadlines > 0 {
            Shape::Sawtooth
        } else {
            Shape::Single
        }
    }
}

fn push_bounded<T>(times: &mut VecDeque<T>, time: T) {
    if times.len() == MAX_LOOKBACK {
        times.pop_front();
    }
    times.push_back(time);
}

#[cfg(test)]
mod tests;
