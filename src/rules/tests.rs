//! Stories told to the rules: lines of a log, answers of a daemon, and what may be concluded from them.

mod busy_mount;
mod clock_step;
mod cni_hang;
mod confirm;
mod container_pileup;
mod dead_container;
mod disk_saturated;
mod evented_pleg;
mod exclusions;
mod frozen_daemon;
mod hung_container;
mod hung_runtime;
mod known_bad_version;
mod kubelet;
mod leaked_shim;
mod list_too_large;
mod log_driver_blocked;
mod machine;
mod memory_starved;
mod network_storage;
mod not_pleg;
mod orphan_sandbox;
mod pleg_unexplained;
mod removal_race;
mod runtime_down;
mod runtime_stack;
mod shape;
mod slow_relist;
mod starting_up;
mod stored;
mod systemd_unresponsive;
mod tasks_exhausted;
mod windows_node;
mod xtables_lock;

use super::{support::old_form::OldRule, *};
use crate::{
    finding::SubjectKind,
    io::probe::{Outcome, Probe},
    kubelet::summary::tests::digest,
    node::{DEFAULT_ENDPOINT, Host, Process, Role, State, Threads},
    runtime::{Container, ContainerKind, Inspected, Runtime, RuntimeKind},
    syntax::{id::ContainerId, time::Time},
};
use chrono::DateTime;
use std::{collections::BTreeMap, time::Duration};

pub(super) const ID: &str = "b15929dfcea116df995b79d3dec656be07e9652f4685064f9d27cfc0b7d857b0";
pub(super) const OTHER: &str = "74a457c34b3abc731b76516a1517c0dd255898f8cbfe2dac291cc2352a743ca6";
pub(super) const UID: &str = "9b0e4a32-7fe5-45b4-b69e-1c76355b4249";
pub(super) const DEADLINE: &str =
    "rpc error: code = DeadlineExceeded desc = context deadline exceeded";

/// A moment of the story's day.
pub(super) fn at(time: &str) -> Time {
    DateTime::parse_from_rfc3339(&format!("2026-11-30T{time}Z")).unwrap()
}

/// A line of the kubelet, as klog writes it.
pub(super) fn line(time: &str, message: &str) -> String {
    format!("E1130 {time}.000000    2261 x.go:1] {message}")
}

/// The status call of sandbox `id` of pod default/web-2 timed out.
pub(super) fn status_deadline(time: &str, id: &str) -> String {
    line(
        time,
        &format!(
            "PodSandboxStatus of sandbox \"{id}\" for pod \"web-2_default({UID})\" error: {DEADLINE}"
        ),
    )
}

/// The node is Ready.
pub(super) fn ready(time: &str) -> String {
    line(time, "Recording NodeReady event message for node worker-3")
}

/// Stale lines for half a minute from 03:38:52 on: the last good relist began at 03:35:51.
pub(super) fn outage() -> Vec<String> {
    (0..6)
        .map(|n| {
            let time = at("03:38:52") + chrono::TimeDelta::seconds(5 * n);
            line(
                &time.format("%H:%M:%S").to_string(),
                &format!(
                    "skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m{}s ago; threshold is 3m0s",
                    1 + 5 * n
                ),
            )
        })
        .collect()
}

/// The evidence of a log, and of a daemon if there is one; the present is a second after the log's end.
pub(super) fn evidence(lines: &[String], runtime: Option<Runtime>) -> Evidence {
    let log = (!lines.is_empty()).then(|| digest(lines));
    let end = log.as_ref().and_then(|log| log.last);
    Evidence {
        now: end.unwrap_or_else(|| at("04:00:00")) + chrono::TimeDelta::seconds(1),
        log,
        runtime,
        host: None,
        kubelet: None,
        gaps: Vec::new(),
        notes: Vec::new(),
    }
}

pub(super) fn probe(outcome: Outcome, millis: u64) -> Probe {
    Probe {
        outcome,
        took: Duration::from_millis(millis),
        error: None,
    }
}

/// A daemon that answers all its own calls.
pub(super) fn daemon_with(containers: Vec<Container>) -> Runtime {
    let (asked_at, timeout) = (at("04:00:00"), Duration::from_secs(3));
    Runtime {
        containers,
        ..Runtime::new(RuntimeKind::Docker, DEFAULT_ENDPOINT, asked_at, timeout)
    }
    .with_own_calls(&probe(Outcome::Answered, 1))
    .with_list_bytes(1000)
}

/// A sandbox of default/web-2 that inspects as `state`, or `None`: does not answer.
pub(super) fn sandbox(id: &str, state: Option<&str>) -> Container {
    Container {
        id: ContainerId::parse(id).unwrap(),
        name: format!("k8s_POD_web-2_default_{UID}_0"),
        kind: ContainerKind::Sandbox,
        pod: Some(crate::syntax::id::PodName::new("default", "web-2")),
        uid: crate::syntax::id::PodUid::parse(UID),
        sandbox: None,
        labels: BTreeMap::new(),
        created: Some(at("03:00:00")),
        listed_state: "running".into(),
        listed_status: "Up 6 minutes".to_owned(),
        inspected: state.map(|state| Inspected {
            state: state.into(),
            running: state == "running",
            error: String::new(),
            started: Some(at("03:00:00")),
            finished: None,
            exit_code: 0,
            ..Inspected::default()
        }),
        probe: match state {
            Some(_) => probe(Outcome::Answered, 1),
            None => probe(Outcome::TimedOut, 3000),
        },
        disk: None,
    }
}

/// A process of that role, sleeping as daemons do, `seconds` old.
pub(super) fn process(pid: u32, ppid: u32, comm: &str, role: Role, seconds: u64) -> Process {
    Process {
        start_ticks: 1000,
        age: Some(Duration::from_secs(seconds)),
        wchan: Some("futex_do_wait".to_owned()),
        command: Some(vec![format!("/usr/bin/{comm}"), "--x".to_owned()]),
        threads: Threads {
            seen: 10,
            ..Threads::default()
        },
        ..Process::new((pid, ppid), comm, role, State::Sleeping)
    }
}

/// A machine with these processes.
pub(super) fn host(processes: Vec<Process>) -> Host {
    Host {
        root: "/".to_owned(),
        seen: processes.len(),
        processes,
        ..Host::default()
    }
}

/// A rule of either form.
pub(super) trait Named {
    fn id(&self) -> &'static str;
}

impl Named for Rule {
    fn id(&self) -> &'static str {
        self.id
    }
}

impl Named for OldRule {
    fn id(&self) -> &'static str {
        self.id
    }
}

/// What all rules find.
pub(super) fn check_all(evidence: &Evidence) -> Vec<Finding> {
    evaluate(evidence).findings
}

/// What a rule finds, beside the others.
pub(super) fn found(rule: &impl Named, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = check_all(evidence);
    findings.retain(|finding| finding.id == rule.id());
    findings
}

/// The one finding of a rule; none or several fail.
pub(super) fn only(rule: &impl Named, evidence: &Evidence) -> Finding {
    let mut findings = found(rule, evidence);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.remove(0)
}

/// Asserts that a rule says nothing.
pub(super) fn quiet(rule: &impl Named, evidence: &Evidence) {
    let findings = found(rule, evidence);
    assert!(findings.is_empty(), "{findings:#?}");
}
