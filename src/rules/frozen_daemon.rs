//! `frozen-daemon`: dockerd or containerd is there and does not run: stopped by a signal or a debugger, in a frozen
//! cgroup, or asleep in the kernel with most of its threads.
//!
//! `hung-runtime` says that a daemon does not answer; this says why, where the kernel tells.

use super::bearing::LOOK;
use super::holders::doing;
use super::lines::Lines;
use super::remedies::restart_runtime;
use super::support::old_form::{Bearing, Judged, OldRule as Rule, Scene};
use super::{count, daemon, holders, hung_runtime};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Variant};
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::node::{Process, Role, State};
use crate::runtime::Runtime;

pub(super) const RULE: Rule = Rule {
    id: "frozen-daemon",
    title: "dockerd or containerd is stopped or blocked in the kernel",
    explains: true,
    bearing: Bearing {
        behind: &["hung-runtime", "hung-container", "not-pleg"],
        feeds: &[],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/frozen-daemon.md"),
    check,
};

/// Fewer threads than a Go daemon ever has say nothing in numbers.
const FEWEST: usize = 4;

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

fn judge(scene: &Scene) -> Judged {
    let daemons = holders::daemons(scene.evidence);
    let (Some(_), Some(first)) = (scene.host(), daemons.first()) else {
        return scene.needs_host();
    };
    let both = [Role::Dockerd, Role::Containerd];
    let both = both.map(|role| daemons.iter().any(|it| it.role == role));
    if both == [true, false] {
        return scene.open("Docker's containerd was not seen", LOOK);
    }
    // Seen for a moment only, or with nobody who missed its answers: no finding, and no proof of the contrary.
    if daemons.iter().any(|it| may_be_frozen(it)) {
        return scene.open("a daemon stood still as it was looked at", LOOK);
    }
    let names: Vec<_> = daemons.iter().map(|it| it.comm.as_str()).collect();
    let (names, run) = (
        names.join(" and "),
        if daemons.len() == 1 { "runs" } else { "run" },
    );
    let asleep = match daemons.iter().all(|it| it.threads.seen >= FEWEST) {
        true => ", and the kernel lets most threads wake up",
        false => "",
    };
    let because = format!("{names} {run}: no signal and no debugger stops them{asleep}");
    let because = if daemons.len() == 1 {
        because.replace("stops them", "stops it")
    } else {
        because
    };
    Judged::out(because, &format!("process {}", first.pid))
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    holders::daemons(evidence)
        .into_iter()
        .filter_map(|process| accuse(evidence, process, frozen(process)?))
        .collect()
}

/// Where a task of a frozen cgroup sleeps: in state S (cgroup v2, kernel/signal.c) or D (v1, kernel/freezer.c).
const FREEZERS: &[&str] = &["do_freezer_trap", "__refrigerator"];

/// Whether most of a process's threads are these.
fn are_most(process: &Process, some: usize) -> bool {
    process.threads.seen >= FEWEST && some * 2 > process.threads.seen
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

fn accuse(evidence: &Evidence, process: &Process, frozen: Frozen) -> Option<Finding> {
    let mut logged = Lines::failed(evidence, hung_runtime::CALLS, ErrorClass::Deadline).latest();
    if !logged.go_on(evidence) {
        logged = Lines::default();
    }
    let silent: Vec<&str> = evidence
        .runtime
        .iter()
        .flat_map(Runtime::own_calls)
        .filter(|(_, probe)| probe.outcome == Outcome::TimedOut)
        .map(|(call, _)| call.as_str())
        .collect();
    let told = !silent.is_empty() || !logged.is_empty();
    // Threads meet on a slow disk for moments, too: only with silence it is a freeze.
    if frozen == Frozen::Asleep && !told {
        return None;
    }
    let mut citations = logged.cite(4);
    let (source, text) = holders::cited(process);
    citations.push(holders::cite(evidence, source, text));
    let mut subject = daemon(&process.comm);
    subject.pid = Some(process.pid);
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: title(process, frozen),
        severity: if told {
            Severity::Critical
        } else {
            Severity::Warning
        },
        confidence: if told {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: explain(process, frozen, &silent, !logged.is_empty()),
        subjects: vec![subject],
        citations,
        remedies: remedies(evidence, process, frozen),
        spans: logged.spans(),
    })
}

fn title(process: &Process, frozen: Frozen) -> String {
    let (comm, pid) = (&process.comm, process.pid);
    match frozen {
        Frozen::Stopped => format!("{comm} (process {pid}) is stopped"),
        Frozen::Traced => format!("{comm} (process {pid}) is stopped by a debugger"),
        Frozen::Cgroup => format!("{comm} (process {pid}) is in a frozen cgroup"),
        Frozen::Asleep => format!("{comm} (process {pid}) is asleep in the kernel"),
    }
}

fn explain(process: &Process, frozen: Frozen, silent: &[&str], logged: bool) -> String {
    let (comm, pid, threads) = (&process.comm, process.pid, &process.threads);
    let mut text = vec![match frozen {
        Frozen::Stopped => format!(
            "{comm}, process {pid}, is stopped ({}): a signal (SIGSTOP) did that, and it stays so until it gets SIGCONT.",
            doing(process.state, None)
        ),
        Frozen::Traced => format!(
            "{comm}, process {pid}, is held by the process that traces it{} ({}): a debugger or strace.",
            process
                .tracer
                .filter(|&pid| pid > 0)
                .map_or_else(String::new, |pid| format!(", {pid}")),
            doing(process.state, None)
        ),
        Frozen::Cgroup => format!(
            "{comm}, process {pid}, is in a frozen cgroup ({}): it runs again when that is thawed.",
            doing(process.state, process.wchan.as_deref())
        ),
        Frozen::Asleep => {
            let waits = threads
                .waiting
                .iter()
                .find_map(|thread| thread.wchan.as_deref());
            format!(
                "{} of {} of {comm}, process {pid}, sleep in the kernel (state D{}): a disk, a file system or the kernel itself does not answer them.",
                threads.uninterruptible,
                count(threads.seen, "thread"),
                waits.map_or_else(String::new, |wchan| format!(", in {wchan}"))
            )
        }
    }];
    if !silent.is_empty() {
        text.push(format!("Docker does not answer: {}.", silent.join(", ")));
    }
    if logged {
        text.push("The kubelet's calls that concern the whole runtime time out.".to_owned());
    }
    text.push("The kernel still accepts connections for it, so callers wait instead of failing, and the node is NotReady.".to_owned());
    text.join(" ")
}

fn remedies(evidence: &Evidence, process: &Process, frozen: Frozen) -> Vec<Remedy> {
    let pid = process.pid;
    let look = |title: &str, command: String| Remedy {
        title: title.to_owned(),
        risk: Risk::Safe,
        command,
        cost: "nothing".to_owned(),
        actions: Vec::new(),
    };
    let again = look(
        "See that it is still so",
        format!("ps -o pid,stat,etime,wchan:24,args -p {pid}"),
    );
    match frozen {
        Frozen::Stopped => vec![
            again,
            Remedy {
                title: "Resume it (SIGCONT)".to_owned(),
                risk: Risk::Disruptive,
                command: format!("kill -CONT {pid}"),
                cost: "nothing is lost: it answers what has piled up; whoever stopped it may have had a reason".to_owned(),
                actions: holders::go_on(process),
            },
        ],
        Frozen::Traced => match process.tracer.filter(|&tracer| tracer > 0) {
            Some(tracer) => vec![
                again,
                look(
                    "See who holds it; killing that resumes it",
                    format!("ps -o pid,stat,etime,args -p {tracer}"),
                ),
            ],
            None => vec![again],
        },
        Frozen::Cgroup => vec![
            look("See which cgroup that is", format!("cat /proc/{pid}/cgroup")),
            Remedy {
                title: "Thaw it".to_owned(),
                risk: Risk::Disruptive,
                command: format!("systemctl thaw {}", unit(&process.comm)),
                cost: "nothing is lost: it answers what has piled up; one that was frozen by hand is thawed through its file (cgroup.freeze: 0; freezer.state: THAWED)".to_owned(),
                actions: Vec::new(),
            },
        ],
        Frozen::Asleep => vec![
            look(
                "Save where in the kernel its threads sleep",
                format!("tail -n +1 /proc/{pid}/task/*/stack > {}-kernel-stacks.txt", process.comm),
            ),
            look(
                "See what the kernel says of disks and tasks",
                "dmesg -T | grep -iE 'blocked for more than|not responding|I/O error' | tail".to_owned(),
            ),
            restart_runtime(evidence),
        ],
    }
}

/// Returns the unit that a daemon usually runs in.
fn unit(comm: &str) -> &str {
    match comm {
        "dockerd" => "docker.service",
        _ => "containerd.service",
    }
}
