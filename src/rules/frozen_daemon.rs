//! `frozen-daemon`: dockerd or containerd is there and does not run: stopped by a signal or a debugger, in a frozen
//! cgroup, or asleep in the kernel with most of its threads.
//!
//! `hung-runtime` says that a daemon does not answer; this says why, where the kernel tells.

use super::support::answer::{Absent, Answer, Draft};
use super::support::calls::WHOLE_RUNTIME;
use super::support::case::{Case, LOOK};
use super::support::holders::{self, doing};
use super::support::log_lines::LogMatches;
use super::support::remedies::restart_runtime;
use super::support::wording::count;
use super::support::{cite, step, subject};
use super::{Detection, Explains, Rule, Tier};
use crate::evidence::Evidence;
use crate::finding::{Remedy, Severity, Subject};
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::node::{Process, Role, State};
use crate::runtime::Runtime;

pub(super) const RULE: Rule = Rule {
    id: "frozen-daemon",
    title: "dockerd or containerd is stopped or blocked in the kernel",
    page: include_str!("../../docs/findings/frozen-daemon.md"),
    explains: Explains::Lag,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// Fewer threads than a Go daemon ever has say nothing in numbers.
const MIN_THREADS: usize = 4;

/// How a daemon is frozen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frozen {
    /// By a signal.
    Stopped,
    /// By who traces it.
    Traced,
    /// With its cgroup.
    Cgroup,
    /// In the kernel, without anyone's will.
    Asleep,
}

fn evaluate(case: &Case) -> Answer {
    let daemons = holders::daemons(case.evidence);
    let frozen = daemons
        .iter()
        .filter_map(|it| describe(case, it, frozen(it)?));
    let drafts: Vec<_> = frozen.collect();
    if drafts.is_empty() {
        return absent(case, &daemons).into();
    }
    Answer::Found(drafts)
}

fn absent(case: &Case, daemons: &[&Process]) -> Absent {
    let absent = Absent::needs_host();
    let (Some(_), Some(first)) = (case.host(), daemons.first()) else {
        return absent;
    };
    let has = |role: Role| daemons.iter().any(|it| it.role == role);
    if has(Role::Dockerd) && !has(Role::Containerd) {
        return absent.left_open("Docker's containerd was not seen", LOOK);
    }
    // Seen for a moment only, or while all was answered: no finding, and no proof of the contrary.
    if daemons.iter().any(|it| may_be_frozen(it)) {
        return absent.left_open("a daemon stood still when it was observed", LOOK);
    }
    let names: Vec<_> = daemons.iter().map(|it| it.comm.as_str()).collect();
    let (run, them) = match daemons.len() {
        1 => ("runs", "it"),
        _ => ("run", "them"),
    };
    let asleep = match daemons.iter().all(|it| it.threads.seen >= MIN_THREADS) {
        true => ", and most threads are not blocked in the kernel",
        false => "",
    };
    absent.ruled_out(
        format!(
            "{} {run}: no signal and no debugger stops {them}{asleep}",
            names.join(" and ")
        ),
        &[&format!("process {}", first.pid)],
    )
}

/// Where a task of a frozen cgroup sleeps: in state S (cgroup v2, kernel/signal.c) or D (v1, kernel/freezer.c).
const FREEZERS: &[&str] = &["do_freezer_trap", "__refrigerator"];

/// Whether most of a process's threads are these.
fn are_most(process: &Process, some: usize) -> bool {
    process.threads.seen >= MIN_THREADS && some * 2 > process.threads.seen
}

/// Whether it sleeps as the tasks of a frozen cgroup do.
fn is_in_freezer(process: &Process) -> bool {
    let wchan = process.wchan.as_deref();
    wchan.is_some_and(|wchan| FREEZERS.contains(&wchan))
}

/// Whether it stood still at that moment, for whatever reason.
fn may_be_frozen(process: &Process) -> bool {
    process.state.is_stopped() || are_most(process, process.threads.uninterruptible)
}

fn frozen(process: &Process) -> Option<Frozen> {
    let threads = &process.threads;
    match process.state {
        // strace and debuggers stop it for moments: only one that was seen to stay so is frozen.
        State::Stopped | State::Traced if process.still.is_none() => None,
        State::Stopped if process.tracer.is_none_or(|pid| pid == 0) => Some(Frozen::Stopped),
        State::Stopped | State::Traced => Some(Frozen::Traced),
        _ if is_in_freezer(process) => Some(Frozen::Cgroup),
        _ if are_most(process, threads.uninterruptible) => Some(Frozen::Asleep),
        _ => None,
    }
}

fn describe(case: &Case, process: &Process, frozen: Frozen) -> Option<Draft> {
    let mut lines = case.failed(WHOLE_RUNTIME, ErrorClass::Deadline).latest();
    if !lines.go_on(case.evidence) {
        lines = LogMatches::default();
    }
    let calls = case.evidence.runtime.iter().flat_map(Runtime::own_calls);
    let silent = calls.filter(|(_, probe)| probe.outcome == Outcome::TimedOut);
    let silent: Vec<_> = silent.map(|(call, _)| call.as_str()).collect();
    let is_missed = !silent.is_empty() || !lines.is_empty();
    // Threads meet on a slow disk for moments, too: only with silence it is a freeze.
    if frozen == Frozen::Asleep && !is_missed {
        return None;
    }
    let severity = match is_missed {
        true => Severity::Critical,
        false => Severity::Warning,
    };
    let hangs = match silent.as_slice() {
        [] => String::new(),
        silent => format!("Docker does not answer: {}.", silent.join(", ")),
    };
    let timeouts = match lines.is_empty() {
        true => "",
        false => "The kubelet's calls that concern the whole runtime time out.",
    };
    Some(
        Draft::new(severity, title(process, frozen))
            .say(state(process, frozen))
            .say(hangs)
            .say(timeouts)
            .say("The kernel still accepts connections for it, so callers wait instead of failing, and the node is NotReady.")
            .about([Subject {
                pid: Some(process.pid),
                ..subject::daemon(&process.comm)
            }])
            .cite(lines.cite(4))
            .cite([cite::process(case.evidence, process)])
            .confirmed_if(is_missed)
            .spans(&lines)
            .steps(steps(case.evidence, process, frozen)),
    )
}

fn title(process: &Process, frozen: Frozen) -> String {
    let (comm, pid) = (&process.comm, process.pid);
    match frozen {
        Frozen::Stopped => format!("{comm} (process {pid}) is stopped"),
        Frozen::Traced => format!("{comm} (process {pid}) is stopped by a debugger"),
        Frozen::Cgroup => format!("{comm} (process {pid}) is in a frozen cgroup"),
        Frozen::Asleep => format!("{comm} (process {pid}) is blocked in the kernel"),
    }
}

fn state(process: &Process, frozen: Frozen) -> String {
    let (comm, pid, threads) = (&process.comm, process.pid, &process.threads);
    let plain = doing(process.state, None);
    match frozen {
        Frozen::Stopped => format!(
            "{comm}, process {pid}, is stopped ({plain}) by a signal (SIGSTOP) until it gets SIGCONT."
        ),
        Frozen::Traced => {
            let tracer = process.tracer.filter(|&pid| pid > 0);
            let tracer = tracer.map_or_else(String::new, |pid| format!(", {pid}"));
            format!(
                "{comm}, process {pid}, is held by the process that traces it{tracer} ({plain}): a debugger or strace."
            )
        }
        Frozen::Cgroup => format!(
            "{comm}, process {pid}, is in a frozen cgroup ({}): it runs again once that is thawed.",
            doing(process.state, process.wchan.as_deref())
        ),
        Frozen::Asleep => {
            let mut waits = threads.waiting.iter();
            let waits = waits.find_map(|thread| thread.wchan.as_deref());
            let waits = waits.map_or_else(String::new, |wchan| format!(", in {wchan}"));
            format!(
                "{} of {} of {comm}, process {pid}, are blocked in the kernel (state D{waits}): a disk, a file system or the kernel itself does not respond.",
                threads.uninterruptible,
                count(threads.seen, "thread"),
            )
        }
    }
}

fn steps(evidence: &Evidence, process: &Process, frozen: Frozen) -> Vec<Remedy> {
    let (pid, comm) = (process.pid, &process.comm);
    let still = step::look(
        "Check that this is still the case",
        format!("ps -o pid,stat,etime,wchan:24,args -p {pid}"),
    );
    match frozen {
        Frozen::Stopped => vec![
            still,
            step::disruptive(
                "Resume it (SIGCONT)",
                format!("kill -CONT {pid}"),
                "nothing is lost: it works through its backlog; check first why it was stopped",
            )
            .actions(holders::go_on(process)),
        ],
        Frozen::Traced => {
            let tracer = process.tracer.filter(|&tracer| tracer > 0);
            let look = tracer.map(|tracer| {
                step::look(
                    "See which process holds it; killing that resumes it",
                    format!("ps -o pid,stat,etime,args -p {tracer}"),
                )
            });
            [still].into_iter().chain(look).collect()
        }
        Frozen::Cgroup => vec![
            step::look(
                "See which cgroup that is",
                format!("cat /proc/{pid}/cgroup"),
            ),
            step::disruptive(
                "Thaw it",
                format!("systemctl thaw {}", unit(comm)),
                "nothing is lost: it works through its backlog; a cgroup frozen by hand is thawed through its file (cgroup.freeze: 0; freezer.state: THAWED)",
            ),
        ],
        Frozen::Asleep => vec![
            step::look(
                "Save where in the kernel its threads are blocked",
                format!("tail -n +1 /proc/{pid}/task/*/stack > {comm}-kernel-stacks.txt"),
            ),
            step::look(
                "See what the kernel says of disks and tasks",
                "dmesg -T | grep -iE 'blocked for more than|not responding|I/O error' | tail",
            ),
            restart_runtime(evidence),
        ],
    }
}

/// The unit that a daemon usually runs in.
fn unit(comm: &str) -> &str {
    match comm {
        "dockerd" => "docker.service",
        _ => "containerd.service",
    }
}
