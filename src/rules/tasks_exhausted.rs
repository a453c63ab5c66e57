//! `tasks-exhausted`: the machine, or a daemon's unit, is at or near its task limit: nothing new can be started, and Go
//! programs die of it.

use super::support::answer::{Absent, Answer, Draft};
use super::support::case::Case;
use super::support::log_lines::Episode;
use super::support::{cite, holders, step, subject};
use super::{Detection, Explains, Rule, Tier};
use crate::finding::{Remedy, Severity, Variant};
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::{Group, PAUSE};

pub(super) const RULE: Rule = Rule {
    id: "tasks-exhausted",
    title: "Task (PID) limit reached",
    page: include_str!("../../docs/findings/tasks-exhausted.md"),
    // A limit that is near explains nothing; calls that failed of it do.
    explains: Explains::LagIf(|finding| finding.variant == Variant::TaskLimitHit),
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// From this share of the limit on, in per cent, a start may fail: a container's start needs some dozens of tasks at
/// once.
const NEARLY: u64 = 95;
/// fork(2)'s EAGAIN, as Go, C and shells spell it.
const WORDS: &str = "esource temporarily unavailable";
/// One or two may be a moment's rush, or one pod at its own limit.
const MIN_LINES: u64 = 3;
/// What the runtime does in its own cgroup, or in none of the pod's yet. A command in a container may fail so at that
/// pod's own limit: it is no sign.
const CALLS: &[Kind] = &[
    Kind::RunSandboxFailed,
    Kind::CreateContainerFailed,
    Kind::StartContainerFailed,
    Kind::StopSandboxFailed,
    Kind::StopContainerFailed,
    Kind::RemoveSandboxFailed,
    Kind::RemoveContainerFailed,
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::RelistFailed,
];

fn evaluate(case: &Case) -> Answer {
    let mut drafts = near_a_limit(case);
    if drafts.is_empty() {
        drafts.extend(from_log(case));
    }
    if drafts.is_empty() {
        return absent(case).into();
    }
    Answer::Found(drafts)
}

fn absent(case: &Case) -> Absent {
    let absent = Absent::needs_host();
    let Some(pressure) = case.host().map(|host| &host.pressure) else {
        return absent;
    };
    let Some((tasks, limit)) = pressure.tasks.zip(pressure.tasks_limit) else {
        return absent;
    };
    // A unit's own limit is mostly the lower one.
    let daemons = holders::daemons(case.evidence);
    let is_counted = |pid: u32| {
        let mut limits = pressure.daemons.iter();
        limits.any(|it| it.pid == pid && it.tasks.is_some())
    };
    if daemons.is_empty() || !daemons.iter().all(|own| is_counted(own.pid)) {
        return absent.left_open(
            "the daemons' own limits were not seen",
            "systemctl show docker containerd -p TasksCurrent -p TasksMax",
        );
    }
    absent.ruled_out(
        format!("the machine has {tasks} tasks of {limit}, and no daemon is near its unit's limit"),
        &["loadavg"],
    )
}

fn near_a_limit(case: &Case) -> Vec<Draft> {
    let Some(host) = case.host() else {
        return Vec::new();
    };
    let draft = |what: String, source: &str, (tasks, limit): (u64, u64)| {
        let text = format!("{tasks} of {limit}");
        Draft::new(Severity::Warning, &what)
            .say(format!(
                "{what}. At the limit nothing new starts (\"resource temporarily unavailable\"): no container, no probe, no thread of the daemon itself, which may die of it."
            ))
            .cite([cite::host(case.evidence, source, text)])
    };
    let pressure = &host.pressure;
    let mut drafts = Vec::new();
    if let Some(near) = nearly(pressure.tasks, pressure.tasks_limit) {
        let (tasks, limit) = near;
        let what = format!("The machine has {tasks} tasks of {limit} that its kernel allows");
        drafts.push(
            draft(what, "loadavg, kernel.pid_max, kernel.threads-max", near)
                .steps(steps("sysctl kernel.pid_max kernel.threads-max")),
        );
    }
    let daemons = holders::daemons(case.evidence);
    let mut seen = Vec::new();
    for limits in &pressure.daemons {
        // Another Docker's daemons are not this node's runtime.
        let Some(process) = daemons.iter().find(|own| own.pid == limits.pid) else {
            continue;
        };
        let Some(near) = nearly(limits.tasks, limits.tasks_limit) else {
            continue;
        };
        // Daemons of one cgroup have one limit.
        if seen.contains(&near) {
            continue;
        }
        seen.push(near);
        let (comm, pid, (tasks, limit)) = (&process.comm, process.pid, near);
        let unit = match comm.as_str() {
            "dockerd" => "docker",
            other => other,
        };
        let mut about = subject::daemon(comm);
        about.pid = Some(pid);
        let what = format!(
            "{comm} (process {pid}) and what shares its cgroup have {tasks} tasks of {limit} that its unit allows"
        );
        let look = format!("cat /proc/{pid}/cgroup; systemd-cgls -u {unit}.service");
        let raise = step::disruptive(
            "Raise the unit's limit",
            format!("systemctl set-property {unit}.service TasksMax=infinity"),
            "nothing restarts; a leak then continues up to the machine's own limit",
        );
        drafts.push(
            draft(what, "pids.current, pids.max", near)
                .about([about])
                .steps(steps(&look))
                .steps([raise]),
        );
    }
    drafts
}

fn nearly(tasks: Option<u64>, limit: Option<u64>) -> Option<(u64, u64)> {
    let (tasks, limit) = tasks.zip(limit)?;
    let is_near = limit > 0 && tasks.saturating_mul(100) >= limit.saturating_mul(NEARLY);
    is_near.then_some((tasks, limit))
}

/// Several calls of one episode that failed since nothing could be started.
fn from_log(case: &Case) -> Option<Draft> {
    let is_spelled = |group: &Group| {
        let error = group.last.error.as_ref();
        error.is_some_and(|it| it.class == ErrorClass::NoResources && it.text.contains(WORDS))
    };
    let all = case.lines(CALLS).filter(is_spelled);
    let Episode {
        lines,
        active,
        first,
        last,
    } = all.episode(case.evidence, MIN_LINES, PAUSE)?;
    let (title, resolved) = if active {
        ("Cannot start processes: task limit reached", "")
    } else {
        (
            "Processes could not be started for a time: task limit reached",
            "It is resolved.",
        )
    };
    Some(
        Draft::new(Severity::Critical, title)
            .variant(Variant::TaskLimitHit)
            .active(active)
            .once_resolved(Severity::Warning)
            .say(format!(
                "The runtime could not start a process or a thread (\"resource temporarily unavailable\", {}, {first} to {last}): the machine, or the daemon's unit, is at its task limit. At the limit no container and no OCI runtime starts, and the daemon itself may die of it.",
                lines.counted()
            ))
            .say(resolved)
            .cite(lines.cite(4))
            .spans(&all)
            .steps(steps(
                "systemctl show -p TasksCurrent -p TasksMax docker containerd crio kubelet; cat /proc/loadavg /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max",
            )),
    )
}

fn steps(look: &str) -> [Remedy; 2] {
    [
        step::look(
            "See which processes have the most threads",
            "ps -eo nlwp,pid,ppid,args --sort=-nlwp | head -20",
        )
        .note("killing the one that leaks fixes it"),
        step::look("See the limit", look),
    ]
}
