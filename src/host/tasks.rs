//! Processes and their threads: all of them briefly, those that matter closely.

use super::{
    files::Tree,
    walk::{Walk, blind, walk},
    watch, words,
};
use crate::{
    evidence::Gap,
    id::ContainerId,
    log::pump::{self, Ended},
    node::{
        Host, OciCommand, Process, Role, State, Thread, Threads,
        parse::{self, Stat},
        role, waits_for_file_system,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

/// Most threads of one process that are looked at.
const THREADS: usize = 1024;
/// How deep the calls go: daemon, shim, wrapper, runtime, `init`.
const GENERATIONS: usize = 5;
/// Most processes in uninterruptible sleep that are kept for that alone.
const SLEEPERS: usize = 64;

/// Fills in `host.processes`.
pub(super) fn look(
    tree: &Tree,
    uptime: Option<Duration>,
    until: Instant,
    host: &mut Host,
    gaps: &mut Vec<Gap>,
) {
    let walk = walk(tree, until);
    // A walk that was cut short is no proof of what is missing.
    host.blind = tree.told("blind", || {
        walk.complaint.is_none().then(|| blind(&walk)).flatten()
    });
    let Walk {
        stats, complaint, ..
    } = walk;
    if let Some(why) = complaint {
        gaps.push(Gap {
            what: "this host's processes".to_owned(),
            why,
        });
    }
    host.seen = stats.len();
    let mut found = classify(tree, &stats, until, gaps);
    let mut sleepers = 0;
    for stat in stats.values() {
        let sleeps = stat.state == State::Uninterruptible && !found.contains_key(&stat.pid);
        if sleeps && sleepers < SLEEPERS {
            sleepers += 1;
            found.insert(stat.pid, process(stat, Role::Other));
        }
    }
    for process in found.values_mut() {
        process.age = uptime.map(|uptime| parse::age(process.start_ticks, uptime));
    }
    let cgroups = look_closely(tree, &mut found, until, gaps);
    drop_workloads(&mut found, &cgroups);
    watch::watch(tree, &mut found, until);
    inherit(&mut found);
    host.processes = found.into_values().collect();
}

/// Returns the processes that have a role, each found below the one that called it.
fn classify(
    tree: &Tree,
    stats: &BTreeMap<u32, Stat>,
    until: Instant,
    gaps: &mut Vec<Gap>,
) -> BTreeMap<u32, Process> {
    let mut found: BTreeMap<u32, Process> = BTreeMap::new();
    let mut asked = BTreeSet::new();
    let mut told = words::Told::default();
    for _ in 0..GENERATIONS {
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
        words::read(tree, &pids, until, &mut told);
        let mut known = Vec::new();
        for stat in next {
            asked.insert(stat.pid);
            let parent = role_of(stat.ppid);
            let words = told.words.remove(&stat.pid);
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
    gaps.extend(complaints(&told));
    found
}

fn complaints(told: &words::Told) -> Vec<Gap> {
    let what = "command lines of processes".to_owned();
    let mut gaps = Vec::new();
    if let Some(why) = &told.failed {
        gaps.push(Gap {
            what: what.clone(),
            why: format!("the child that reads them can't be run: {why}"),
        });
    }
    if !told.stuck.is_empty() {
        let pids: Vec<_> = told.stuck.iter().take(8).map(u32::to_string).collect();
        gaps.push(Gap {
            what: match told.stuck.len() {
                1 => "the command line of 1 process".to_owned(),
                more => format!("the command lines of {more} processes"),
            },
            why: format!(
                "not read in time (a process stuck with its memory locked hangs whoever reads its command line): {}",
                pids.join(", ")
            ),
        });
    }
    if let Some(pid) = told.survivors.first() {
        gaps.push(Gap {
            what,
            why: format!(
                "process {pid}, a child of plegdoctor's own that reads them, hangs in the kernel and ends once it is let go"
            ),
        });
    }
    gaps
}

pub(super) fn process(stat: &Stat, role: Role) -> Process {
    Process {
        pid: stat.pid,
        ppid: stat.ppid,
        comm: stat.comm.clone(),
        role,
        state: stat.state,
        start_ticks: stat.start_ticks,
        age: None,
        wchan: None,
        stack: Vec::new(),
        still: None,
        command: None,
        container: None,
        uid: None,
        tracer: None,
        threads: Threads::default(),
    }
}

/// What is looked at closely, of one process.
struct Details {
    pid: u32,
    wchan: Option<String>,
    stack: Vec<String>,
    cgroup: Option<String>,
    tracer: Option<u32>,
    threads: Threads,
}

/// The containers that the cgroups of processes name.
type Cgroups = BTreeMap<u32, ContainerId>;

/// Looks closely; returns the containers of whose cgroups the processes are.
fn look_closely(
    tree: &Tree,
    found: &mut BTreeMap<u32, Process>,
    until: Instant,
    gaps: &mut Vec<Gap>,
) -> Cgroups {
    let wanted: Vec<(u32, Role, State)> = found
        .values()
        .map(|process| (process.pid, process.role, process.state))
        .collect();
    let tree = tree.clone();
    let (mut seen, mut cgroups) = (0, Cgroups::new());
    let ended = pump::pump(
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
                let (uid, id) = details
                    .cgroup
                    .as_deref()
                    .map(parse::cgroup)
                    .unwrap_or_default();
                process.uid = uid;
                cgroups.extend(id.clone().map(|id| (details.pid, id)));
                // A runtime's command line alone names its container: its cgroup is its caller's.
                let called = matches!(process.role, Role::OciRuntime(command) if command != OciCommand::Init);
                process.container = process.container.take().or(id.filter(|_| !called));
                // A daemon within a container is a workload.
                let daemon = matches!(
                    process.role,
                    Role::Dockerd | Role::Containerd | Role::Kubelet
                );
                if daemon && process.is_contained() {
                    process.command = None;
                }
            }
            true
        },
    );
    if !matches!(ended, Ok(Ended::Whole)) {
        gaps.push(Gap {
            what: "what this host's processes wait for".to_owned(),
            why: format!("only {seen} of {} could be read in time", found.len()),
        });
    }
    cgroups
}

/// Takes workloads for what they are: of those that only looked like OCI runtimes nothing is kept but a deep sleep.
fn drop_workloads(found: &mut BTreeMap<u32, Process>, cgroups: &Cgroups) {
    let caller = |mut pid: u32| {
        // A wrapper stands between: whoever called it counts.
        for _ in 0..GENERATIONS {
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
    let stopped = matches!(state, State::Stopped | State::Traced);
    let runs = matches!(role, Role::OciRuntime(_) | Role::CniPlugin);
    Details {
        pid,
        wchan: text("wchan").as_deref().and_then(parse::wchan),
        stack: match runs || state == State::Uninterruptible {
            true => text("stack")
                .map(|stack| parse::stack(&stack))
                .unwrap_or_default(),
            false => Vec::new(),
        },
        cgroup: text("cgroup"),
        tracer: stopped
            .then(|| text("status").as_deref().and_then(parse::tracer))
            .flatten(),
        threads: match role {
            Role::Other => Threads::default(),
            _ => threads(tree, pid),
        },
    }
}

fn threads(tree: &Tree, pid: u32) -> Threads {
    let mut threads = Threads::default();
    let tids = tree.numbers(&format!("proc/{pid}/task"));
    for tid in tids.unwrap_or_default().into_iter().take(THREADS) {
        let text = |name: &str| tree.text(&format!("proc/{pid}/task/{tid}/{name}")).ok();
        let Some(stat) = text("stat").as_deref().and_then(parse::stat) else {
            continue;
        };
        threads.seen += 1;
        let sleeps = stat.state == State::Uninterruptible;
        threads.uninterruptible += usize::from(sleeps);
        threads.stopped += usize::from(matches!(stat.state, State::Stopped | State::Traced));
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
                    .map(|stack| parse::stack(&stack))
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
