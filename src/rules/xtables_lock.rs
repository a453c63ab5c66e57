//! `xtables-lock`: iptables cannot work on this node, since another run of it holds its lock.
//!
//! In no incident that names it was a line of the PLEG seen: pods' networks are not set up or not taken down, and services
//! not routed.

use super::support::answer::{Absent, Answer, Draft};
use super::support::case::Case;
use super::support::holders::span;
use super::support::log_lines::LogMatches;
use super::support::wording::{clock, times};
use super::support::{calls, cite, step, subject};
use super::{Detection, Explains, Rule, Tier};
use crate::finding::{Remedy, Severity, Subject};
use crate::kubelet::event::{ErrorTail, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::node::{FileLock, Process, Role};
use crate::syntax::citation::Citation;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "xtables-lock",
    title: "The iptables lock is held, so networks are not set up",
    page: include_str!("../../docs/findings/xtables-lock.md"),
    explains: Explains::Nothing,
    tier: Tier::First,
    detection: Detection::Custom(evaluate),
};

/// What iptables says, in whatever message.
const LOCK: &str = "xtables lock";
/// One or two such lines stand in healthy logs: the kubelet tries again.
const MIN_LINES: u64 = 3;
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
    fn new(case: &Case<'a>) -> Self {
        let Some(host) = case.host() else {
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

    /// The run of iptables that is proved to hold it, if it has lasted for long.
    fn holder(&self) -> Option<&'a Process> {
        let lock = self.lock?;
        self.old.iter().copied().find(|run| run.pid == lock.holder)
    }

    /// The runs that may hold it: the one that is proved to, or those that last for long and are not seen to wait.
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

fn evaluate(case: &Case) -> Answer {
    let all = LogMatches::all(case.evidence, |group| {
        let error = group.first.error.as_ref();
        group.first.kind == Kind::XtablesLocked || error.is_some_and(|it| it.text.contains(LOCK))
    });
    let lines = all.latest();
    if lines.number() < MIN_LINES {
        return absent(case, all.is_empty());
    }
    let active = lines.are_recent(case.evidence, PAUSE);
    // Of what is over the present processes show nothing.
    let seen = match active {
        true => Seen::new(case),
        false => Seen::default(),
    };
    describe(case, &lines, &seen).active(active).into()
}

/// The PLEG does not wait for it: it is asked for only where networks of pods are not set up or taken down.
fn absent(case: &Case, unnamed: bool) -> Answer {
    let fails = |group: &Group| {
        let error = group.first.error.as_ref();
        calls::NETWORK.contains(&group.first.kind) && error.is_some_and(ErrorTail::is_of_network)
    };
    if LogMatches::all(case.evidence, fails).is_empty() {
        return Answer::Silent;
    }
    let absent = Absent::needs_host();
    match case.whole_host() {
        Some(_) if unnamed && Seen::new(case).old.is_empty() => absent.ruled_out(
            "no line says that it is held, and no run of iptables has lasted for 30 seconds",
            &["the host's processes"],
        ),
        Some(_) => absent.left_open(
            "iptables may have waited for it, and which process held it was not seen",
            "grep FLOCK /proc/locks; ls -i /run/xtables.lock",
        ),
        None => absent,
    }
    .into()
}

fn describe(case: &Case, lines: &LogMatches, seen: &Seen) -> Draft {
    let suspects = seen.suspects();
    let shown = match suspects.is_empty() {
        true => &seen.old,
        false => &suspects,
    };
    Draft::new(Severity::Warning, RULE.title)
        .once_resolved(Severity::Info)
        .say(format!(
            "From {} to {} iptables said {} that another run of it holds the lock.",
            clock(case.evidence, lines.first()),
            clock(case.evidence, lines.last()),
            times(lines.number()),
        ))
        .say(holder_text(seen, &suspects))
        .say("Until it is released, networks of pods are neither set up nor taken down, and services are not routed. The PLEG does not wait for it: where others met this, no line of the PLEG was seen.")
        .about(subject(seen, &suspects))
        .lines(lines, 3)
        .cite(seen.lock.map(|lock| cite_lock(case, lock)))
        .cite(shown.iter().take(2).map(|it| cite::process(case.evidence, it)))
        .confirmed_if(seen.proved())
        .steps(steps(seen))
}

/// The holder of the lock, or what is known instead; empty where the host was not seen, or no run lasts for long.
fn holder_text(seen: &Seen, suspects: &[&Process]) -> String {
    if let Some(lock) = seen.lock {
        let holder = seen.holder().map_or_else(|| display_name(lock), named);
        let waiting = match lock.waiters.len() {
            0 => String::new(),
            1 => ", and 1 process waits for it".to_owned(),
            more => format!(", and {more} processes wait for it"),
        };
        let holds = match lock.comm {
            Some(_) => "holds it now",
            None => "took it, and is not seen any more: what it started may hold it on",
        };
        return format!("By the kernel's table of locks {holder} {holds}{waiting}.");
    }
    let old = match seen.old.len() {
        0 => return String::new(),
        1 => "1 run of iptables has lasted for long".to_owned(),
        more => format!("{more} runs of iptables have lasted for long"),
    };
    match suspects {
        _ if seen.asked => {
            format!("{old}, and held no lock at this moment, by the kernel's table of locks.")
        }
        [] => format!(
            "{old}, and only wait{} for the lock: who holds it was not seen.",
            if seen.old.len() == 1 { "s" } else { "" }
        ),
        [one] => format!(
            "{old}: {} is not seen to wait for the lock, and may hold it.",
            named(one)
        ),
        [oldest, ..] => format!(
            "{old}, the oldest is {}: which of them holds the lock, and which wait for it, was not seen.",
            named(oldest)
        ),
    }
}

fn named(process: &Process) -> String {
    let age = span(process.age.unwrap_or_default());
    format!("{} (process {}, {age} old)", process.comm, process.pid)
}

fn display_name(lock: &FileLock) -> String {
    match &lock.comm {
        Some(comm) => format!("{comm} (process {})", lock.holder),
        None => format!("process {}", lock.holder),
    }
}

fn cite_lock(case: &Case, lock: &FileLock) -> Citation {
    let waiters: Vec<_> = lock.waiters.iter().map(u32::to_string).collect();
    let waiting = match waiters.is_empty() {
        true => "no process is queued for it".to_owned(),
        false => format!("queued for it: {}", waiters.join(", ")),
    };
    let text = format!("flock held by {}; {waiting}", display_name(lock));
    cite::host(case.evidence, "file locks", text)
}

fn subject(seen: &Seen, suspects: &[&Process]) -> Option<Subject> {
    match (seen.lock, suspects) {
        (_, [one]) => Some(subject::process_of_pod(one)),
        (Some(lock), _) => {
            let comm = lock.comm.as_deref()?;
            Some(subject::process(lock.holder, Some(comm)))
        }
        (None, _) => None,
    }
}

fn steps(seen: &Seen) -> Vec<Remedy> {
    let look = step::look(
        "See which process holds the lock, and how many rules there are",
        "grep FLOCK /proc/locks; ls -i /run/xtables.lock; ps -eo etimes,pid,ppid,wchan:24,args | grep -E '[i]p6?tables' | sort -n; iptables-save | wc -l",
    )
    .note("the process in the line with that file's number holds it, those behind -> wait; tens of thousands of rules make each run take long: fewer services, or kube-proxy by nftables or IPVS, cure that");
    // One that only waits ends without help, and to kill it releases nothing.
    let kill = seen.holder().map(|process| {
        step::disruptive(
            "Kill that one run, if it does not end",
            format!("kill {}", process.pid),
            "tables that it has not written yet stay as they are; its caller tries again",
        )
    });
    [Some(look), kill].into_iter().flatten().collect()
}
