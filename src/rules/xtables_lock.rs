//! `xtables-lock`: iptables cannot work on this node, since another run of it holds its lock.
//!
//! Nobody who met it had a line of the PLEG: pods' networks are not set up or not taken down, and services not routed.

use super::{
    Bearing, Judged, Rule, Scene, clock,
    holders::{self, span},
    lines::Lines,
    node,
    remedies::remedy,
};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant},
    kubelet::{
        event::{ErrorTail, Kind},
        summary::{Group, PAUSE},
    },
    node::{FileLock, Process, Role},
    syntax::citation::Citation,
};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "xtables-lock",
    title: "iptables' lock is held, so that networks are not set up",
    explains: false,
    bearing: Bearing {
        feeds: &["cni-hang"],
        judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/xtables-lock.md"),
    check,
};

/// What iptables says, in whatever message.
const LOCK: &str = "xtables lock";
/// The calls within which networks are set up and taken down.
const NETWORK: &[Kind] = &[Kind::RunSandboxFailed, Kind::StopSandboxFailed];
/// One or two such lines stand in healthy logs: the kubelet tries again.
const OFTEN: u64 = 3;
/// A run of iptables takes moments, and minutes with tens of thousands of rules.
const LONG: Duration = Duration::from_secs(30);

/// Functions of the kernel in which a run of iptables waits for the lock: those of `flock` (1.8.8 and later, and all that
/// are to wait without an end), and those of the pause before it tries again.
const WAITS: &[&str] = &[
    "locks_lock_inode_wait",
    "flock_lock_inode_wait",
    "flock_lock_file_wait",
    "poll_schedule_timeout",
    "do_select",
    "core_sys_select",
    "schedule_hrtimeout",
    "hrtimer_nanosleep",
    "do_nanosleep",
];

/// What is seen of the lock now.
#[derive(Default)]
struct Seen<'a> {
    /// The lock and who holds it, if the kernel tells.
    lock: Option<&'a FileLock>,
    /// Whether the kernel's table of locks was read: a run that is not in it holds none.
    asked: bool,
    /// The runs of iptables that last for long, the oldest first: each may hold it or wait for it.
    old: Vec<&'a Process>,
}

impl<'a> Seen<'a> {
    fn of(evidence: &'a Evidence) -> Self {
        let Some(host) = &evidence.host else {
            return Self::default();
        };
        let is_run = |process: &&Process| process.role == Role::Iptables;
        let is_old = |process: &&Process| process.age.is_some_and(|age| age >= LONG);
        let runs = || host.processes.iter().filter(is_run);
        let mut old: Vec<_> = runs().filter(is_old).collect();
        old.sort_by_key(|process| (process.start_ticks, process.pid));
        // Containers with a network of their own may have a lock of their own, too: the one that most wait for.
        let locks = host.locks.iter().flatten();
        let concerned = locks.filter(|lock| runs().any(|run| lock.concerns(run)));
        let lock = concerned.max_by_key(|lock| lock.waiters.len());
        let asked = host.locks.is_some();
        Self { lock, asked, old }
    }

    /// Returns the run of iptables that is proved to hold it, if it has lasted for long.
    fn holder(&self) -> Option<&'a Process> {
        let lock = self.lock?;
        self.old.iter().copied().find(|run| run.pid == lock.holder)
    }

    /// Returns the runs that may hold it: the one that is proved to, or those that last for long and are not seen to wait.
    fn suspects(&self) -> Vec<&'a Process> {
        let waits = |wchan: &str| WAITS.iter().any(|name| wchan.starts_with(name));
        let busy = |run: &&Process| !run.wchan.as_deref().is_some_and(waits);
        match self.asked {
            true => self.holder().into_iter().collect(),
            false => self.old.iter().copied().filter(busy).collect(),
        }
    }

    /// Whether the kernel shows that somebody has held it for long, or that one who wants it has waited for long.
    fn proved(&self) -> bool {
        let waits = |lock: &FileLock| self.old.iter().any(|run| lock.concerns(run));
        self.lock.is_some_and(waits)
    }
}

/// The PLEG does not wait for it: it is asked for only where networks of pods are not set up or taken down.
fn judge(scene: &Scene) -> Judged {
    let fails = |group: &&Group| {
        let error = group.first.error.as_ref();
        NETWORK.contains(&group.first.kind) && error.is_some_and(ErrorTail::is_of_network)
    };
    let mut groups = scene.evidence.log.iter().flat_map(|log| &log.groups);
    if !groups.any(|group| fails(&group)) {
        return Judged::Unasked;
    }
    let told = !locked(scene.evidence).is_empty();
    match scene.whole_host() {
        Some(_) if Seen::of(scene.evidence).old.is_empty() && !told => Judged::out(
            "nobody says that it is held, and no run of iptables has lasted for 30 seconds",
            "the host's processes",
        ),
        Some(_) => scene.open(
            "iptables may have waited for it, and who held it was not seen",
            "grep FLOCK /proc/locks; ls -i /run/xtables.lock",
        ),
        None => scene.needs_host(),
    }
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let lines = locked(evidence).latest();
    if lines.number() < OFTEN {
        return Vec::new();
    }
    let active = lines.are_recent(evidence, PAUSE);
    // Of what is over the present processes tell nothing.
    let seen = match active {
        true => Seen::of(evidence),
        false => Seen::default(),
    };
    vec![tell(evidence, &lines, &seen, active)]
}

fn locked(evidence: &Evidence) -> Lines<'_> {
    let says = |group: &&Group| {
        let error = group.first.error.as_ref();
        group.first.kind == Kind::XtablesLocked
            || error.is_some_and(|error| error.text.contains(LOCK))
    };
    let all = evidence.log.iter().flat_map(|log| &log.groups);
    Lines(all.filter(says).collect())
}

fn tell(evidence: &Evidence, lines: &Lines, seen: &Seen, active: bool) -> Finding {
    let mut citations = lines.cite(3);
    citations.extend(seen.lock.map(|lock| cite_lock(evidence, lock)));
    let suspects = seen.suspects();
    let shown = match suspects.is_empty() {
        true => &seen.old,
        false => &suspects,
    };
    citations.extend(shown.iter().take(2).map(|process| {
        let (source, text) = holders::cited(process);
        holders::cite(evidence, source, text)
    }));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: RULE.title.to_owned(),
        severity: match active {
            true => Severity::Warning,
            false => Severity::Info,
        },
        confidence: match seen.proved() {
            true => Confidence::Confirmed,
            false => Confidence::Suspected,
        },
        active,
        explanation: format!(
            "From {} to {} iptables said {} that another run of it holds the lock. {}Until it is let go, networks of pods are neither set up nor taken down, and services are not routed. The PLEG does not wait for it: where others met this, no line of the PLEG was seen.",
            clock(evidence, lines.first()),
            clock(evidence, lines.last()),
            match lines.number() {
                1 => "once".to_owned(),
                times => format!("{times} times"),
            },
            who(seen, &suspects),
        ),
        subjects: vec![subject(seen, &suspects).unwrap_or_else(|| node(evidence))],
        citations,
        remedies: match active {
            true => remedies(seen),
            false => Vec::new(),
        },
        spans: Vec::new(),
    }
}

/// Returns who holds the lock, or what is known instead; empty where nobody looked, or no run lasts for long.
fn who(seen: &Seen, suspects: &[&Process]) -> String {
    if let Some(lock) = seen.lock {
        let holder = seen.holder().map_or_else(|| called(lock), named);
        let waiting = match lock.waiters.len() {
            0 => String::new(),
            1 => ", and 1 process waits for it".to_owned(),
            more => format!(", and {more} processes wait for it"),
        };
        let holds = match lock.comm {
            Some(_) => "holds it now",
            None => "took it, and is not seen any more: what it started may hold it on",
        };
        return format!("By the kernel's table of locks {holder} {holds}{waiting}. ");
    }
    let old = match seen.old.len() {
        0 => return String::new(),
        1 => "1 run of iptables has lasted for long".to_owned(),
        more => format!("{more} runs of iptables have lasted for long"),
    };
    match suspects {
        _ if seen.asked => {
            format!("{old}, and held no lock at this moment, by the kernel's table of locks. ")
        }
        [] => format!(
            "{old}, and only wait{} for the lock: who holds it was not seen. ",
            if seen.old.len() == 1 { "s" } else { "" }
        ),
        [one] => format!(
            "{old}: {} is not seen to wait for the lock, and may hold it. ",
            named(one)
        ),
        [oldest, ..] => format!(
            "{old}, the oldest is {}: which of them holds the lock, and which wait for it, was not seen. ",
            named(oldest)
        ),
    }
}

fn named(process: &Process) -> String {
    let age = span(process.age.unwrap_or_default());
    format!("{} (process {}, {age} old)", process.comm, process.pid)
}

fn called(lock: &FileLock) -> String {
    match &lock.comm {
        Some(comm) => format!("{comm} (process {})", lock.holder),
        None => format!("process {}", lock.holder),
    }
}

fn cite_lock(evidence: &Evidence, lock: &FileLock) -> Citation {
    let waiters = lock.waiters.iter().map(u32::to_string);
    let waiters: Vec<_> = waiters.collect();
    let waiting = match waiters.is_empty() {
        true => "nobody is queued for it".to_owned(),
        false => format!("queued for it: {}", waiters.join(", ")),
    };
    let text = format!("flock held by {}; {waiting}", called(lock));
    holders::cite(evidence, "file locks", text)
}

fn subject(seen: &Seen, suspects: &[&Process]) -> Option<Subject> {
    let process = |pid, name: Option<&String>, uid| Subject {
        kind: SubjectKind::Process,
        id: None,
        name: name.cloned(),
        pod: None,
        uid,
        pid: Some(pid),
    };
    match (seen.lock, suspects) {
        (_, [one]) => Some(process(one.pid, Some(&one.comm), one.uid.clone())),
        (Some(lock), _) if lock.comm.is_some() => {
            Some(process(lock.holder, lock.comm.as_ref(), None))
        }
        (Some(_) | None, _) => None,
    }
}

fn remedies(seen: &Seen) -> Vec<Remedy> {
    let mut remedies = vec![remedy(
        "See who holds the lock, and how many rules there are",
        Risk::Safe,
        "grep FLOCK /proc/locks; ls -i /run/xtables.lock; ps -eo etimes,pid,ppid,wchan:24,args | grep -E '[i]p6?tables' | sort -n; iptables-save | wc -l",
        "nothing; the process in the line with that file's number holds it, those behind -> wait; tens of thousands of rules make each run take long: fewer services, or kube-proxy by nftables or IPVS, cure that",
    )];
    // One that only waits ends by itself, and to kill it frees nobody.
    if let Some(process) = seen.holder() {
        remedies.push(remedy(
            "End that one run, if it does not end by itself",
            Risk::Disruptive,
            format!("kill {}", process.pid),
            "tables that it has not written yet stay as they are; whoever called it tries again",
        ));
    }
    remedies
}
