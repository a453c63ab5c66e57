//! Processes and their threads: all of them briefly, those that matter closely.

use super::helper::ProcFile;
use super::proc_scan::ProcScan;
use super::{helper, proc_scan, programs, resample};
use crate::io::deadline;
use crate::io::deadline::Ended;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::node::parse::Stat;
use crate::node::{
    Host, OciCommand, Process, Role, State, Thread, Threads, parse, role, waits_for_file_system,
};
use crate::syntax::id::ContainerId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

const MAX_THREADS: usize = 1024;
/// How deep the calls go: daemon, shim, wrapper, runtime, `init`.
const MAX_DEPTH: usize = 5;
const MAX_SLEEPERS: usize = 64;
const MAX_IPTABLES: usize = 64;

pub(super) struct Seen {
    pub(super) stats: BTreeMap<u32, Stat>,
    pub(super) cgroups: BTreeMap<u32, String>,
}

pub(super) fn scan(
    tree: &Tree,
    uptime: Option<Duration>,
    until: Instant,
    host: &mut Host,
    gaps: &mut Vec<Gap>,
) -> Seen {
    let mut scan = proc_scan::scan(tree, until);
    // A recording of a part looks whole.
    let incomplete = tree.told("processes-incomplete", || scan.complaint.clone());
    scan.complaint = scan.complaint.or(incomplete);
    // A scan that was cut short is no proof of what is missing.
    host.blind = tree.told("blind", || {
        scan.complaint
            .is_none()
            .then(|| proc_scan::hidden_reason(&scan))
            .flatten()
    });
    host.whole = scan.is_whole() && host.blind.is_none();
    let ProcScan {
        stats, complaint, ..
    } = scan;
    if let Some(why) = complaint {
        gaps.push(Gap::new("this host's processes", why));
    }
    host.seen = stats.len();
    let lives = |stat: &&Stat| stat.state != State::Dead;
    host.living = stats.values().filter(lives).map(|stat| stat.pid).collect();
    let mut found = classify(tree, &stats, until, gaps);
    let (mut sleepers, mut filters) = (0, 0);
    for stat in stats.values() {
        if found.contains_key(&stat.pid) || stat.state == State::Dead {
            continue;
        }
        if role::is_iptables(&stat.comm) && filters < MAX_IPTABLES {
            filters += 1;
            found.insert(stat.pid, process(stat, Role::Iptables));
        } else if stat.state == State::Uninterruptible && sleepers < MAX_SLEEPERS {
            sleepers += 1;
            found.insert(stat.pid, process(stat, Role::Other));
        }
    }
    for process in found.values_mut() {
        process.age = uptime.map(|uptime| parse::age(process.start_ticks, uptime));
        let child = |stat: &&Stat| stat.ppid == process.pid && stat.state != State::Dead;
        // It counts where it matters whether there are any; to all, that would be a look at each for each.
        process.children = (host.whole && process.role == Role::Shim)
            .then(|| stats.values().filter(child).count());
    }
    scan_details(tree, &mut found, until, gaps);
    let texts = cgroups(tree, &found, until, gaps);
    let cgroups = assign_containers(&mut found, &texts);
    drop_workloads(&mut found, &cgroups);
    resample::resample(tree, &mut found, until, gaps);
    inherit(&mut found);
    host.processes = found.into_values().collect();
    Seen {
        stats,
        cgroups: texts,
    }
}

fn classify(
    tree: &Tree,
    stats: &BTreeMap<u32, Stat>,
    until: Instant,
    gaps: &mut Vec<Gap>,
) -> BTreeMap<u32, Process> {
    let mut found: BTreeMap<u32, Process> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    let mut told = helper::FilesRead::default();
    for _ in 0..MAX_DEPTH {
        let role_of = |pid: u32| {
            found
                .get(&pid)
                .map_or(Role::Other, |process: &Process| process.role)
        };
        let next: Vec<&Stat> = stats
            .values()
            .filter(|stat| !stat.kernel && stat.state != State::Dead && !asked.contains(&stat.pid))
            .filter(|stat| role::is_worth_asking(&stat.comm, role_of(stat.ppid)))
            .collect();
        if next.is_empty() {
            break;
        }
        let pids: Vec<u32> = next.iter().map(|stat| stat.pid).collect();
        helper::read(tree, ProcFile::Cmdline, &pids, until, &mut told);
        let mut known = Vec::new();
        for stat in next {
            asked.insert(stat.pid);
            let parent = role_of(stat.ppid);
            let words = told.files.remove(&stat.pid);
            let words = words.map(|bytes| helper::command_line(&bytes));
            let (role, container) = match &words {
                Some(words) => role::by_words(&stat.comm, words, parent),
                None => (role::by_name(&stat.comm, parent), None),
            };
            let only = found.get(&stat.ppid).and_then(role::only_container);
            let anothers = matches!(role, Role::OciRuntime(_))
                && only
                    .zip(container.as_ref())
                    .is_some_and(|(only, id)| only != id);
            if role != Role::Other && !anothers {
                let mut process = process(stat, role);
                process.command = words.filter(|words| role::may_keep_words(role, words));
                process.container = container;
                known.push(process);
            }
        }
        found.extend(known.into_iter().map(|process| (process.pid, process)));
    }
    gaps.extend(complaints(&told, ProcFile::Cmdline));
    found
}

pub(super) fn complaints(told: &helper::FilesRead, what: ProcFile) -> Vec<Gap> {
    let (one, all, why) = match what {
        ProcFile::Cmdline => (
            "the command line of 1 process",
            "command lines",
            "a process that is stuck with its memory locked blocks every reader of its command line",
        ),
        ProcFile::Cgroup => (
            "the cgroups of 1 process",
            "cgroups",
            "a task that is stuck with the kernel's cgroup lock blocks every reader of cgroups",
        ),
    };
    let mut gaps = Vec::new();
    if let Some(why) = &told.failed {
        gaps.push(Gap::new(
            format!("{all} of processes"),
            format!("cannot run the child that reads them: {why}"),
        ));
    }
    if !told.stuck.is_empty() {
        let pids: Vec<_> = told.stuck.iter().take(8).map(u32::to_string).collect();
        gaps.push(Gap::new(
            match told.stuck.len() {
                1 => one.to_owned(),
                more => format!("the {all} of {more} processes"),
            },
            format!("not read in time ({why}): {}", pids.join(", ")),
        ));
    }
    if let Some(&pid) = told.survivors.first() {
        gaps.push(Gap::new(
            format!("{all} of processes"),
            programs::stuck_child(pid),
        ));
    }
    gaps
}

pub(super) fn process(stat: &Stat, role: Role) -> Process {
    Process {
        start_ticks: stat.start_ticks,
        ..Process::new((stat.pid, stat.ppid), &stat.comm, role, stat.state)
    }
}

struct Details {
    pid: u32,
    wchan: Option<String>,
    stack: Vec<String>,
    tracer: Option<u32>,
    threads: Threads,
}

type Cgroups = BTreeMap<u32, ContainerId>;

fn scan_details(
    tree: &Tree,
    found: &mut BTreeMap<u32, Process>,
    until: Instant,
    gaps: &mut Vec<Gap>,
) {
    let wanted: Vec<(u32, Role, State)> = found
        .values()
        .map(|process| (process.pid, process.role, process.state))
        .collect();
    let tree = tree.clone();
    let mut seen = 0;
    let ended = deadline::read_until_deadline(
        until,
        move |to| {
            for (pid, role, state) in wanted {
                if to.send(details(&tree, pid, role, state)).is_err() {
                    return;
                }
            }
        },
        &mut |details: Details| {
            seen += 1;
            if let Some(process) = found.get_mut(&details.pid) {
                (process.wchan, process.stack) = (details.wchan, details.stack);
                (process.tracer, process.threads) = (details.tracer, details.threads);
            }
            true
        },
    );
    if !matches!(ended, Ok(Ended::Whole)) {
        gaps.push(Gap::new(
            "what this host's processes wait for",
            format!("only {seen} of {} could be read in time", found.len()),
        ));
    }
}

fn cgroups(
    tree: &Tree,
    found: &BTreeMap<u32, Process>,
    until: Instant,
    gaps: &mut Vec<Gap>,
) -> BTreeMap<u32, String> {
    let pids: Vec<u32> = found.keys().copied().collect();
    let mut told = helper::FilesRead::default();
    helper::read(tree, ProcFile::Cgroup, &pids, until, &mut told);
    gaps.extend(complaints(&told, ProcFile::Cgroup));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    told.files
        .into_iter()
        .map(|(pid, bytes)| (pid, text(bytes)))
        .collect()
}

/// Fills in whose container and pod each one is, by its cgroup; returns the containers of whose cgroups they are.
fn assign_containers(found: &mut BTreeMap<u32, Process>, texts: &BTreeMap<u32, String>) -> Cgroups {
    let mut cgroups = Cgroups::new();
    for (&pid, text) in texts {
        let Some(process) = found.get_mut(&pid) else {
            continue;
        };
        let (uid, id) = parse::cgroup(text);
        process.uid = uid;
        cgroups.extend(id.clone().map(|id| (pid, id)));
        // A runtime's command line alone names its container: its cgroup is its caller's.
        let called =
            matches!(process.role, Role::OciRuntime(command) if command != OciCommand::Init);
        process.container = process.container.take().or(id.filter(|_| !called));
        // A daemon within a container is a workload.
        if process.role.is_daemon() && process.is_contained() {
            process.command = None;
        }
    }
    cgroups
}

/// Takes workloads for what they are: of those that only looked like OCI runtimes nothing is kept but a deep sleep.
fn drop_workloads(found: &mut BTreeMap<u32, Process>, cgroups: &Cgroups) {
    let caller = |mut pid: u32| {
        // A wrapper stands between: whoever called it counts.
        for _ in 0..MAX_DEPTH {
            let process = found.get(&pid)?;
            if !matches!(process.role, Role::OciRuntime(_)) {
                return cgroups.get(&pid);
            }
            pid = process.ppid;
        }
        None
    };
    let workloads: Vec<u32> = found
        .values()
        .filter(|process| {
            let own = cgroups.get(&process.pid);
            role::is_workload(process.role, own, caller(process.ppid))
        })
        .map(|process| process.pid)
        .collect();
    for pid in workloads {
        let asleep = |process: &Process| process.state == State::Uninterruptible;
        if !found.get(&pid).is_some_and(asleep) {
            found.remove(&pid);
        } else if let Some(process) = found.get_mut(&pid) {
            (process.role, process.command) = (Role::Other, None);
            process.container = cgroups.get(&pid).cloned();
            process.threads = Threads::default();
        }
    }
}

fn details(tree: &Tree, pid: u32, role: Role, state: State) -> Details {
    let text = |name: &str| tree.text(&format!("proc/{pid}/{name}")).ok();
    let stopped = state.is_stopped();
    let runs = matches!(role, Role::OciRuntime(_) | Role::CniPlugin);
    Details {
        pid,
        wchan: text("wchan").as_deref().and_then(parse::wchan),
        stack: (runs || state == State::Uninterruptible)
            .then(|| text("stack").as_deref().map(parse::stack))
            .flatten()
            .unwrap_or_default(),
        tracer: stopped
            .then(|| text("status").as_deref().and_then(parse::tracer))
            .flatten(),
        threads: match role {
            Role::Iptables | Role::Other => Threads::default(),
            _ => threads(tree, pid),
        },
    }
}

fn threads(tree: &Tree, pid: u32) -> Threads {
    let mut threads = Threads::default();
    let tids = tree.numbers(&format!("proc/{pid}/task"));
    for tid in tids.unwrap_or_default().into_iter().take(MAX_THREADS) {
        let text = |name: &str| tree.text(&format!("proc/{pid}/task/{tid}/{name}")).ok();
        let Some(stat) = text("stat").as_deref().and_then(parse::stat) else {
            continue;
        };
        threads.seen += 1;
        let sleeps = stat.state == State::Uninterruptible;
        threads.uninterruptible += usize::from(sleeps);
        threads.stopped += usize::from(stat.state.is_stopped());
        let wchan = match stat.state {
            State::Sleeping | State::Uninterruptible => {
                text("wchan").as_deref().and_then(parse::wchan)
            }
            _ => None,
        };
        if sleeps || wchan.as_deref().is_some_and(waits_for_file_system) {
            threads.waiting.push(Thread {
                tid,
                state: stat.state,
                wchan,
                stack: text("stack")
                    .as_deref()
                    .map(parse::stack)
                    .unwrap_or_default(),
                still: None,
            });
        }
    }
    threads
}

/// An `init` works for the container of the command that made it, a plain call for that of its shim.
fn inherit(found: &mut BTreeMap<u32, Process>) {
    let containers: BTreeMap<u32, _> = found
        .values()
        .filter_map(|process| Some((process.pid, process.container.clone()?)))
        .collect();
    for process in found.values_mut() {
        let anonymous = matches!(process.role, Role::OciRuntime(_)) && process.container.is_none();
        let init = process.role == Role::OciRuntime(OciCommand::Init);
        if (anonymous || init)
            && let Some(id) = containers.get(&process.ppid)
        {
            process.container = Some(id.clone());
        }
    }
}

#[cfg(test)]
mod tests;
