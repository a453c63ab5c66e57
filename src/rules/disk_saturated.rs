//! `disk-saturated`: the disk that holds the runtime's data can do no more, or fails, and the runtime waits for it.
//!
//! A busy disk alone is nobody's trouble: a backup keeps one busy beside a runtime that is well. And a disk that
//! serves many requests at a time is busy for all of a second long before it can do no more: only how long requests
//! take tells that. So both must be seen: requests that take long, and someone of the runtime who waits.

use super::holders::{Task, doing};
use super::lines::Lines;
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{EACH, count, holders, hung_container, hung_runtime, is_cause};
use crate::evidence::{Evidence, FRESH};
use crate::finding::{Confidence, Finding, Severity, Subject, SubjectKind, Variant};
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::node::{Disk, Host, KernelKind, KernelLine, Process, Role, State, waits_for_disk};
use crate::runtime::Runtime;
use crate::syntax::citation::Citation;
use std::time::Duration;

mod logged;
mod words;

pub(super) const RULE: Rule = Rule {
    id: "disk-saturated",
    title: "The disk with the runtime's data is saturated",
    explains: true,
    bearing: Bearing {
        behind: &[
            "hung-container",
            "hung-runtime",
            "frozen-daemon",
            "slow-relist",
        ],
        feeds: &["container-pileup"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/disk-saturated.md"),
    check,
};

/// For this share of the time, in per cent, there was always something to do.
const BUSY: f64 = 90.0;
/// A request takes some milliseconds on a turning disk, less than one on others …
const SLOW: Duration = Duration::from_millis(100);
/// … and where the whole machine stands still for disks, in that share of the last ten seconds, less is slow, too.
const SLOW_FOR_ALL: Duration = Duration::from_millis(30);
const STALLED: f64 = 20.0;
/// Requests wait behind others.
const QUEUE: f64 = 2.0;
/// A call that takes that long is slow: an ordinary one takes some milliseconds.
const SLOW_CALL: Duration = Duration::from_secs(1);

/// What is wrong with a disk.
struct Sick<'a> {
    disk: &'a Disk,
    /// Whether requests take too long on it.
    slow: bool,
    /// What the kernel said of failures.
    errors: Vec<&'a KernelLine>,
}

/// Who shows that it matters.
struct Harm<'a> {
    /// Who of the runtime sleeps in the kernel for a disk.
    waiters: Vec<Task<'a>>,
    /// Docker's answers that are slow or missing, in words.
    docker: Option<String>,
    /// The kubelet's calls that time out.
    logged: Lines<'a>,
}

fn judge(scene: &Scene) -> Judged {
    let disk = scene.host().and_then(|host| {
        let well = sick(host).is_empty();
        host.disks
            .iter()
            .find(|disk| well && !disk.holds.is_empty())
    });
    let Some(disk) = disk else {
        return scene.needs_host();
    };
    let (name, busy) = (&disk.name, disk.busy);
    let because = format!(
        "the disk of the runtime's data, {name}, is busy {busy:.0} % of the time, and no request waits long"
    );
    Judged::out(because, "diskstats")
}

fn check(evidence: &Evidence, found: &[Finding]) -> Vec<Finding> {
    let Some(host) = &evidence.host else {
        return logged::by_the_log(evidence, found).into_iter().collect();
    };
    let sick = sick(host);
    if sick.is_empty() {
        return Vec::new();
    }
    let mut harm = harm(evidence, host);
    let told = harm.docker.is_some() || !harm.logged.is_empty();
    // On a busy disk everyone waits for a moment. Only who does not wake up waits by itself; the others count where
    // something is slow for which nothing else is to blame.
    if !told || is_something_else(host, found, &harm.waiters) {
        harm.waiters.retain(|waiter| waiter.still);
    }
    if harm.waiters.is_empty() && (!told || is_something_else(host, found, &harm.waiters)) {
        return Vec::new();
    }
    vec![accuse(evidence, &sick, &harm, told)]
}

/// Returns whether what is slow may be so for another reason: one that was found, or an OCI runtime that hangs.
fn is_something_else(host: &Host, found: &[Finding], waiters: &[Task]) -> bool {
    let waits = |pid| waiters.iter().any(|waiter| waiter.process.pid == pid);
    let hangs = |process: &Process| {
        matches!(process.role, Role::OciRuntime(_))
            && process.age.is_some_and(|age| age >= holders::STUCK)
            && !waits(process.pid)
    };
    found
        .iter()
        .any(|finding| is_cause(finding) && finding.active)
        || host.processes.iter().any(hangs)
}

/// Returns the runtime's disks that are slow or fail; of a mapped one and the disk below it the lower.
fn sick(host: &Host) -> Vec<Sick<'_>> {
    let ours = host.disks.iter().filter(|disk| !disk.holds.is_empty());
    let all: Vec<_> = ours
        .map(|disk| Sick {
            disk,
            slow: is_slow(host, disk),
            errors: errors(host, disk),
        })
        .filter(|sick| sick.slow || !sick.errors.is_empty())
        .collect();
    let below: Vec<_> = all
        .iter()
        .filter_map(|sick| sick.disk.through.clone())
        .collect();
    all.into_iter()
        .filter(|sick| !below.contains(&sick.disk.name))
        .collect()
}

fn is_slow(host: &Host, disk: &Disk) -> bool {
    let stalled = host.pressure.io.and_then(|io| io.full);
    let slow = match stalled.is_some_and(|full| full >= STALLED) {
        true => SLOW_FOR_ALL,
        false => SLOW,
    };
    let waits = disk.wait.is_some_and(|wait| wait >= slow);
    disk.is_stuck() || (waits && disk.busy >= BUSY && disk.queue >= QUEUE)
}

/// Returns what the kernel said of this disk's failures in the last minutes: `I/O error, dev sda, sector 1`.
fn errors<'a>(host: &'a Host, disk: &Disk) -> Vec<&'a KernelLine> {
    let fresh = FRESH.to_std().unwrap_or_default();
    let of = |line: &&KernelLine| {
        let mut words = line.text.split([' ', ',']);
        line.kind == KernelKind::DiskError
            && line.ago.is_some_and(|ago| ago <= fresh)
            && words.any(|word| word == disk.name)
    };
    host.kernel_lines.iter().filter(of).collect()
}

fn harm<'a>(evidence: &'a Evidence, host: &'a Host) -> Harm<'a> {
    let calls: Vec<_> = hung_runtime::CALLS
        .iter()
        .chain(hung_container::CALLS)
        .copied()
        .collect();
    let logged = Lines::failed(evidence, &calls, ErrorClass::Deadline).latest();
    Harm {
        waiters: waiters(evidence, host),
        docker: evidence.runtime.as_ref().and_then(slow_docker),
        logged: match logged.go_on(evidence) {
            true => logged,
            false => Lines::default(),
        },
    }
}

/// Returns who of the runtime sleeps in the kernel for a disk: its daemons, the kubelet, shims and OCI runtimes.
fn waiters<'a>(evidence: &'a Evidence, host: &'a Host) -> Vec<Task<'a>> {
    let daemons = holders::daemons(evidence);
    let ours = |process: &&Process| match process.role {
        // Another Docker's daemons are not this node's runtime.
        Role::Dockerd | Role::Containerd => daemons.iter().any(|own| own.pid == process.pid),
        Role::Kubelet | Role::Shim | Role::OciRuntime(_) => process.uid.is_none(),
        Role::CniPlugin | Role::Iptables | Role::Other => false,
    };
    let for_disk = |task: &Task| {
        task.state == State::Uninterruptible && waits_for_disk(task.wchan, task.stack)
    };
    let processes = host.processes.iter().filter(ours);
    let tasks = processes.flat_map(holders::tasks);
    let mut waiters: Vec<_> = tasks.filter(for_disk).collect();
    waiters.sort_by_key(|waiter| {
        (
            !waiter.still,
            waiter.process.role,
            waiter.process.pid,
            waiter.tid,
        )
    });
    waiters
}

/// Returns how Docker shows that it is slow, if it is: calls without an answer, or answers that take long.
fn slow_docker(runtime: &Runtime) -> Option<String> {
    let own = runtime.own_calls().map(|(_, probe)| probe);
    let inspects = runtime.containers.iter().map(|container| &container.probe);
    let all: Vec<_> = own.into_iter().chain(inspects).collect();
    let of = |outcome| all.iter().filter(move |probe| probe.outcome == outcome);
    let slowest = of(Outcome::Answered).map(|probe| probe.took).max();
    let timeout = runtime.probe_timeout.as_secs_f64();
    match (
        of(Outcome::TimedOut).count(),
        slowest.filter(|&took| took >= SLOW_CALL),
    ) {
        (0, took) => {
            took.map(|took| format!("Docker took {:.1} s for an answer.", took.as_secs_f64()))
        }
        (late, _) => Some(format!(
            "Docker did not answer {late} of {} in {timeout:.1} s.",
            count(all.len(), "call")
        )),
    }
}

fn accuse(evidence: &Evidence, sick: &[Sick], harm: &Harm, told: bool) -> Finding {
    let waits = !harm.waiters.is_empty();
    let mut citations = harm.logged.cite(3);
    citations.extend(sick.iter().flat_map(|sick| cite(evidence, sick)));
    citations.extend(harm.waiters.iter().take(2).map(|waiter| {
        let text = format!(
            "{}: thread {}, {}",
            waiter.process.comm,
            waiter.tid,
            doing(State::Uninterruptible, waiter.wchan)
        );
        holders::cite(evidence, format!("process {}", waiter.process.pid), text)
    }));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: words::title(sick),
        severity: match waits && !harm.logged.is_empty() {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence: match waits && told {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active: true,
        explanation: words::explain(evidence, sick, harm),
        subjects: subjects(sick, harm),
        citations,
        remedies: words::remedies(sick),
        spans: harm.logged.spans(),
    }
}

fn cite(evidence: &Evidence, sick: &Sick) -> Vec<Citation> {
    let disk = sick.disk;
    let mut cited = Vec::new();
    if sick.slow {
        let text = format!("{}: {}", disk.name, words::figures(disk));
        cited.push(holders::cite(evidence, "diskstats", text));
    }
    let last = sick.errors.last();
    cited.extend(last.map(|line| holders::cite(evidence, "kernel", line.text.clone())));
    cited
}

fn subjects(sick: &[Sick], harm: &Harm) -> Vec<Subject> {
    let disk = |sick: &Sick| Subject {
        kind: SubjectKind::Disk,
        id: None,
        name: Some(sick.disk.name.clone()),
        pod: None,
        uid: None,
        pid: None,
    };
    let mut processes: Vec<_> = harm.waiters.iter().map(|waiter| waiter.process).collect();
    processes.dedup_by_key(|process| process.pid);
    let process = |process: &Process| Subject {
        kind: match process.role {
            Role::Dockerd | Role::Containerd | Role::Kubelet => SubjectKind::Daemon,
            _ => SubjectKind::Process,
        },
        id: process.container.clone(),
        name: Some(process.comm.clone()),
        pod: None,
        uid: None,
        pid: Some(process.pid),
    };
    let waiting = processes.into_iter().take(EACH).map(process);
    sick.iter().map(disk).chain(waiting).collect()
}
