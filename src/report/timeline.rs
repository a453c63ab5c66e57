//! What happened in an outage, in order, and what came before it: out of memory, commands that timed out, a daemon or
//! the kubelet that started anew, a task of the kernel that hung, the first call that timed out, the first stale line,
//! NodeNotReady, recovery.
//!
//! Each with its first, its last, and how many: the fold keeps no more of equal messages. Before an outage it
//! looks back to the end of the one before, and no further than half a day.

use crate::evidence::Evidence;
use crate::kubelet::event::{ErrorClass, Event, Kind};
use crate::kubelet::incident::Incident;
use crate::kubelet::summary::{Group, Log};
use crate::node::KernelKind;
use crate::rules;
use crate::syntax::citation::Citation;
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::{sync::Arc, time::Duration};

/// What has its place in an outage's story. Of two at the same time the first in this order comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MomentKind {
    /// The machine ran out of memory, by the kubelet or the kernel.
    OutOfMemory,
    /// A command in a container, a probe mostly, timed out.
    ExecTimeout,
    /// The kernel says that a task hangs.
    HungTask,
    /// The kernel says that a file system's server does not answer.
    ServerSilent,
    /// The kernel says that it answers again.
    ServerAnswers,
    /// The kernel cannot remove a network device.
    NetdeviceHeld,
    /// The kernel says that a disk fails.
    DiskError,
    /// systemd says that the kubelet or a daemon of the runtime ended.
    DaemonEnd,
    /// The runtime's socket refused a call.
    Refused,
    /// The answer to a list was too large.
    TooLarge,
    /// A daemon of the runtime started.
    DaemonStart,
    KubeletStart,
    /// The last relist that listed began: the lag counts from here.
    LastRelist,
    /// A call to the runtime timed out.
    Timeout,
    /// The kubelet called its PLEG unhealthy.
    Stale,
    NotReady,
    Recovered,
}

/// One of these, with its place in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    pub what: MomentKind,
    pub at: Time,
    /// When last; the same where it happened once.
    pub last: Time,
    pub count: u64,
    /// Which daemon, task, server or device; or which message, by its name.
    pub detail: Option<String>,
    pub citation: Option<Citation>,
}

/// So long before an outage something may be its forerunner.
const LOOKBACK: TimeDelta = TimeDelta::hours(12);
/// A kubelet that started longer before has nothing to do with it.
const START_LOOKBACK: TimeDelta = TimeDelta::minutes(30);
/// So soon after the last stale line the node is reported NotReady, if it is: it is reported every 10 s.
const NOT_READY_DELAY: TimeDelta = TimeDelta::seconds(60);

pub(super) fn build(evidence: &Evidence) -> Vec<Vec<Moment>> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    let mut before = None;
    let mut stories = Vec::new();
    for incident in &log.incidents {
        let from = incident.start - LOOKBACK;
        let from = before.map_or(from, |before: Time| before.max(from));
        stories.push(story(evidence, log, incident, from));
        before = Some(incident.end.unwrap_or(incident.last_line));
    }
    stories
}

fn story(evidence: &Evidence, log: &Log, incident: &Incident, from: Time) -> Vec<Moment> {
    let window = (from, incident.last_line);
    // The kernel names whom it killed; the kubelet logs the same kills.
    let named = log.of(&[Kind::OutOfMemory]).next().is_some();
    let out_of_memory = if named {
        Kind::OutOfMemory
    } else {
        Kind::SystemOom
    };
    let of_kind = [
        (MomentKind::OutOfMemory, out_of_memory),
        (MomentKind::HungTask, Kind::HungTask),
        (MomentKind::ServerSilent, Kind::ServerSilent),
        (MomentKind::ServerAnswers, Kind::ServerAnswers),
        (MomentKind::NetdeviceHeld, Kind::NetdeviceHeld),
        (MomentKind::DiskError, Kind::DiskError),
        (MomentKind::DaemonEnd, Kind::UnitEnded),
    ]
    .map(|(what, kind)| logged(log, what, &|event| event.kind == kind, window));
    let failed = [
        (MomentKind::Refused, ErrorClass::Unavailable),
        (MomentKind::TooLarge, ErrorClass::TooLarge),
        (MomentKind::Timeout, ErrorClass::Deadline),
    ]
    .map(|(what, class)| logged(log, what, &|event| fails(event, class), window));
    let exec = logged(log, MomentKind::ExecTimeout, &is_exec_timeout, window);
    let mut moments: Vec<Moment> = of_kind
        .into_iter()
        .chain(failed)
        .chain([exec])
        .flatten()
        .collect();
    moments.extend(logged(
        log,
        MomentKind::NotReady,
        &is_not_ready,
        (incident.start, incident.last_line + NOT_READY_DELAY),
    ));
    // What stands in the log is not repeated from the kernel's own buffer.
    let logged: Vec<_> = moments.iter().map(|moment| moment.what).collect();
    let kernel = kernel(evidence, window).into_iter();
    moments.extend(kernel.filter(|moment| !logged.contains(&moment.what)));
    moments.extend(daemons(evidence, incident, window));
    let starts = log.starts.iter();
    let lately = (
        from.max(incident.start - START_LOOKBACK),
        incident.last_line,
    );
    moments.extend(kubelet_starts(starts, lately));
    moments.push(Moment::new(MomentKind::LastRelist, incident.start, None));
    moments.push(Moment {
        last: incident.last_line,
        count: incident.lines,
        ..Moment::new(
            MomentKind::Stale,
            incident.first.time.unwrap_or(incident.start),
            Some(incident.first.clone()),
        )
    });
    let end = incident.end;
    moments.extend(end.map(|end| Moment::new(MomentKind::Recovered, end, None)));
    moments.sort_by_key(|moment| (moment.at, moment.what));
    moments
}

impl Moment {
    fn new(what: MomentKind, at: Time, citation: Option<Citation>) -> Self {
        Self {
            what,
            at,
            last: at,
            count: 1,
            detail: None,
            citation,
        }
    }

    fn from_event(what: MomentKind, at: Time, event: &Event) -> Self {
        let named = event.detail.clone();
        let named = named.filter(|_| event.kind.is_of_machine());
        Self {
            detail: named.or_else(|| Some(event.kind.id().to_owned())),
            ..Self::new(what, at, Some(event.citation.clone()))
        }
    }
}

/// The first of the log's lines that fit, with the last of its kind and how many there are.
fn logged(
    log: &Log,
    what: MomentKind,
    fits: &dyn Fn(&Event) -> bool,
    (from, to): (Time, Time),
) -> Option<Moment> {
    let mut found: Option<Moment> = None;
    for group in log.groups.iter().filter(|group| fits(&group.first)) {
        let Some((event, last, count)) = within(group, from, to) else {
            continue;
        };
        let Some(at) = event.at else { continue };
        found = Some(match found.take() {
            None => Moment {
                last,
                count,
                ..Moment::from_event(what, at, event)
            },
            Some(first) if first.at <= at => Moment {
                last: first.last.max(last),
                count: first.count + count,
                ..first
            },
            Some(later) => Moment {
                last: later.last.max(last),
                count: later.count + count,
                ..Moment::from_event(what, at, event)
            },
        });
    }
    found
}

/// A group that begins in the window, its last line and how many it has; or, of one that began before, its last
/// line alone, if that is in the window: the others between are not kept.
fn within(group: &Group, from: Time, to: Time) -> Option<(&Event, Time, u64)> {
    let (first, last) = (group.first.at?, group.last.at?);
    let inside = |at| at >= from && at <= to;
    if inside(first) {
        Some((&group.first, last, group.count))
    } else {
        inside(last).then_some((&group.last, last, 1))
    }
}

fn is_exec_timeout(event: &Event) -> bool {
    event.kind == Kind::ExecSyncFailed && event.is_deadline()
}

fn is_not_ready(event: &Event) -> bool {
    let recorded =
        event.kind == Kind::RecordingEvent && event.detail.as_deref() == Some("NodeNotReady");
    event.kind == Kind::NodeNotReady || recorded
}

/// Whether a call to the runtime, other than a command in a container, ended so.
fn fails(event: &Event, class: ErrorClass) -> bool {
    let call = event.kind.is_list()
        || event.kind.is_status()
        || matches!(
            event.kind,
            Kind::RuntimeVersionFailed
                | Kind::RuntimeStatusFailed
                | Kind::RuntimeSanityFailed
                | Kind::CriConnectFailed
                | Kind::StopSandboxFailed
                | Kind::RemoveSandboxFailed
                | Kind::RunSandboxFailed
                | Kind::CreateContainerFailed
                | Kind::StartContainerFailed
                | Kind::StopContainerFailed
                | Kind::RemoveContainerFailed
                | Kind::GcStopContainerFailed
        );
    call && event.error_class() == Some(class)
}

fn kernel(evidence: &Evidence, (from, to): (Time, Time)) -> Vec<Moment> {
    let kinds = [
        (KernelKind::OutOfMemory, MomentKind::OutOfMemory),
        (KernelKind::HungTask, MomentKind::HungTask),
    ];
    let lines = |kind| {
        let host = evidence.host.iter();
        host.flat_map(|host| &host.kernel_lines)
            .filter(move |line| line.kind == kind)
            .filter_map(|line| Some((ago(evidence, line.ago?)?, line)))
            .filter(|(at, _)| *at >= from && *at <= to)
    };
    let moment = |(kind, what)| {
        let (at, first) = lines(kind).min_by_key(|(at, _)| *at)?;
        let last = lines(kind).map(|(at, _)| at).max().unwrap_or(at);
        let citation = Citation {
            source: Arc::from("kernel"),
            is_call: true,
            line: None,
            time: Some(at),
            text: first.text.as_str().into(),
        };
        Some(Moment {
            last,
            count: u64::try_from(lines(kind).count()).unwrap_or(u64::MAX),
            ..Moment::new(what, at, Some(citation))
        })
    };
    kinds.into_iter().filter_map(moment).collect()
}

/// The starts of the runtime's daemons in the window, or since an outage that goes on.
fn daemons(evidence: &Evidence, incident: &Incident, (from, to): (Time, Time)) -> Vec<Moment> {
    let to = if incident.ongoing { evidence.now } else { to };
    let start = |process: &crate::node::Process| {
        let at = ago(evidence, process.age?)?;
        let name = process.comm.clone();
        (at >= from && at <= to).then(|| Moment {
            detail: Some(name),
            ..Moment::new(MomentKind::DaemonStart, at, None)
        })
    };
    let daemons = rules::daemons(evidence).into_iter();
    daemons.filter_map(start).collect()
}

fn ago(evidence: &Evidence, ago: Duration) -> Option<Time> {
    let log = evidence.log.as_ref();
    let zone = log.and_then(|log| log.last).map(|last| *last.offset());
    let now = evidence
        .now
        .with_timezone(&zone.unwrap_or(*evidence.now.offset()));
    now.checked_sub_signed(TimeDelta::from_std(ago).ok()?)
}

fn kubelet_starts<'a>(
    starts: impl Iterator<Item = &'a Event>,
    (from, to): (Time, Time),
) -> Option<Moment> {
    let inside = |start: &'a Event| Some((start.at.filter(|at| *at >= from && *at <= to)?, start));
    let mut starts = starts.filter_map(inside);
    let (at, first) = starts.next()?;
    let moment = Moment::from_event(MomentKind::KubeletStart, at, first);
    Some(starts.fold(moment, |moment, (at, _)| Moment {
        last: at,
        count: moment.count + 1,
        ..moment
    }))
}

#[cfg(test)]
mod tests;
