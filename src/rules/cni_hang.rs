//! `cni-hang`: a network plugin does not end, so its sandbox is neither made nor removed.
//!
//! The kubelet (with Docker) or containerd calls the plugin and waits; Docker itself answers all the while.

use super::{
    Bearing, Judged, Rule, Scene, clock,
    holders::{self, doing, span},
    lines::Lines,
    subject_from,
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant},
    kubelet::{
        event::{ErrorClass, Kind},
        incident::CALL_TIMEOUT,
        summary::Log,
    },
    node::{Host, Process, Role, State},
    syntax::citation::Citation,
};
use chrono::TimeDelta;

pub(super) const RULE: Rule = Rule {
    id: "cni-hang",
    title: "A network plugin does not end",
    explains: true,
    bearing: Bearing {
        behind: &["hung-container", "hung-runtime", "not-pleg"],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/cni-hang.md"),
    check,
};

/// The calls that wait for a network plugin.
const CALLS: &[Kind] = &[Kind::RunSandboxFailed, Kind::StopSandboxFailed];
/// … and the one within which dockershim asks the plugin: what a relist may wait for.
const ALL_CALLS: &[Kind] = &[
    Kind::RunSandboxFailed,
    Kind::StopSandboxFailed,
    Kind::SandboxStatusFailed,
];
/// One that waited in vain may have met an agent that was just restarted.
const AGAIN: u64 = 3;
/// The kubelet tries again at least that often.
const RETRIES: TimeDelta = TimeDelta::minutes(5);

fn judge(scene: &Scene) -> Judged {
    // A plugin is known by who called it: CRI-O's are not.
    let known = |_: &&Host| !holders::daemons(scene.evidence).is_empty();
    if scene.whole_host().is_some_and(|host| known(&host)) {
        return Judged::out(
            "no network plugin has run for 2 minutes",
            "the host's processes",
        );
    }
    match scene.without(ALL_CALLS, ErrorClass::Deadline) {
        Some((log, outage)) if outage.list_errors > 0 && outage.rises == 1 => Judged::silent(
            log,
            "each relist failed at its list, before any sandbox's status was asked for",
        ),
        // Each relist came to its end, so that no status waits for ever, and what waits for a while is given up.
        Some((log, outage)) if outage.rises > 1 => Judged::silent(
            log,
            "no call that waits for a network plugin timed out: to make, stop or inspect a sandbox",
        ),
        _ => scene.needs_host(),
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let hung = evidence.host.as_ref().map(hung).unwrap_or_default();
    let Some(first) = hung.first() else {
        return logged(evidence).into_iter().collect();
    };
    let lines = Lines::failed(evidence, CALLS, ErrorClass::Deadline).latest();
    let age = first.age.unwrap_or_default();
    // Relists may go on all the while: what counts is that the call was given up while the plugin ran.
    let started = TimeDelta::from_std(age).ok().map(|age| evidence.now - age);
    let logged = lines
        .last()
        .zip(started)
        .is_some_and(|(last, started)| last >= started);
    let held_up = logged && lines.go_on(evidence);
    let more = match hung.len() {
        1 => String::new(),
        number => format!(" So are {} others.", number - 1),
    };
    let seen = hung.iter().take(3).map(|process| cite(evidence, process));
    let told = if logged { lines.cite(2) } else { Vec::new() };
    vec![Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!(
            "The network plugin {} (process {}) does not end",
            first.program(),
            first.pid
        ),
        severity: if held_up {
            Severity::Critical
        } else {
            Severity::Warning
        },
        confidence: if logged {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: format!(
            "The network plugin {}, process {}, has run for {} ({}); plugins take seconds, and the kubelet gives up after 2 minutes.{more} Until it ends, the pod's sandbox is neither made nor removed, and a kubelet that calls the plugin by itself may wait with its relist.",
            first.program(),
            first.pid,
            span(age),
            doing(first.state, first.wchan.as_deref())
        ),
        subjects: hung.iter().map(|process| subject(process)).collect(),
        citations: told.into_iter().chain(seen).collect(),
        remedies: remedies(first),
        spans: Vec::new(),
    }]
}

/// What the log alone tells: again and again a plugin gave up waiting, and the runtime passes that on.
fn logged(evidence: &Evidence) -> Option<Finding> {
    let lines = Lines::failed_network(evidence, CALLS, ErrorClass::Deadline).latest();
    let last = lines.0.iter().max_by_key(|group| group.last.at)?;
    let error = last.last.error.as_ref()?;
    if lines.number() < AGAIN || !lines.are_recent(evidence, RETRIES) {
        return None;
    }
    // Only dockershim and cri-dockerd ask a plugin within a status. In an outage of another runtime, whose words are
    // others, this would hide that its cause is not known.
    if evidence.log.as_ref().is_some_and(Log::has_outage) && !error.text.contains("etworkPlugin ") {
        return None;
    }
    let (first, until) = (
        clock(evidence, lines.first()),
        clock(evidence, lines.last()),
    );
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: "A network plugin waits in vain, and its sandboxes are neither made nor removed"
            .to_owned(),
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "The runtime passes on that a network plugin gave up waiting ({}, {first} to {until}): \"{}\". The sandbox is neither made nor removed meanwhile, and a kubelet that calls the plugin by itself may wait with its relist.",
            lines.counted(),
            error.text
        ),
        subjects: lines
            .0
            .iter()
            .map(|group| subject_from(&group.first))
            .collect(),
        citations: lines.cite(4),
        remedies: vec![see_plugins()],
        spans: lines.spans(),
    })
}

fn see_plugins() -> Remedy {
    Remedy {
        title: "See which plugins run, and since when (they take a second or two)".to_owned(),
        risk: Risk::Safe,
        command: "ps -eo pid,ppid,stat,etime,wchan:24,args | grep -E '/opt/cni/bin/[a-z]'".to_owned(),
        cost: "nothing; mostly a plugin waits for its agent or for the API server, and mending that is the cure".to_owned(),
        actions: Vec::new(),
    }
}

/// Returns the plugins that have outlasted the kubelet's call, the oldest first; of a plugin and the one that it
/// called in turn, the latter.
fn hung(host: &Host) -> Vec<&Process> {
    let limit = CALL_TIMEOUT.to_std().unwrap_or(holders::STUCK);
    let plugins = || {
        host.processes
            .iter()
            .filter(|process| process.role == Role::CniPlugin && process.state != State::Dead)
    };
    let mut hung: Vec<_> = plugins()
        .filter(|process| process.age.is_some_and(|age| age >= limit))
        .filter(|process| !plugins().any(|other| other.ppid == process.pid))
        .collect();
    hung.sort_by_key(|process| process.start_ticks);
    hung
}

fn subject(process: &Process) -> Subject {
    Subject {
        kind: SubjectKind::Process,
        id: None,
        name: Some(process.program().to_owned()),
        pod: None,
        uid: None,
        pid: Some(process.pid),
    }
}

fn cite(evidence: &Evidence, process: &Process) -> Citation {
    let (source, text) = holders::cited(process);
    holders::cite(evidence, source, text)
}

fn remedies(process: &Process) -> Vec<Remedy> {
    let pid = process.pid;
    vec![
        Remedy {
            title: "See what it waits for".to_owned(),
            risk: Risk::Safe,
            command: format!("ps -o pid,ppid,stat,etime,wchan:24,args --pid {pid} --ppid {pid}; ls -l /proc/{pid}/fd"),
            cost: "nothing; mostly it waits for its agent or its address server, and mending that is the cure".to_owned(),
            actions: Vec::new(),
        },
        Remedy {
            title: "End that one plugin".to_owned(),
            risk: Risk::Disruptive,
            command: format!("kill {pid}"),
            cost: "that one sandbox fails, and the kubelet tries again; an address may be left reserved".to_owned(),
            actions: Vec::new(),
        },
    ]
}
