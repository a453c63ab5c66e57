//! `network-storage`: tasks sleep in the kernel until a file system's server answers, and it does not.
//!
//! Everyone waits for milliseconds for such a server; only who was watched in one sleep for a second counts. Which
//! mount a task waits for the kernel does not tell: a server is accused only where no other is mounted.

mod judged;
mod logged;
mod words;

use super::holders::{Task, doing};
use super::lines::Lines;
use super::remedies::{remedy, restart_runtime};
use super::shares::Share;
use super::support::old_form::{Bearing, OldRule as Rule};
use super::{holders, hung_container, shares};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Subject, SubjectKind, Variant};
use crate::io::probe::Outcome;
use crate::kubelet::event::ErrorClass;
use crate::node::{Host, KernelKind, KernelLine, Mount, Process, Role, State, server_wait};
use crate::runtime::Container;
use crate::syntax::citation::Citation;
use crate::syntax::id::PodName;
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "network-storage",
    title: "The runtime is blocked on a dead file server",
    explains: true,
    bearing: Bearing {
        behind: &[
            "hung-container",
            "hung-runtime",
            "frozen-daemon",
            "not-pleg",
        ],
        feeds: &[],
        judge: judged::judge,
        ..Bearing::NONE
    },
    page: include_str!("../../docs/findings/network-storage.md"),
    check,
};

/// Most mounts that are named.
const MOUNTS: usize = 3;

/// The kernel's words of a CIFS server that does not answer, and how often it says so.
const CIFS: &str = "has not responded in";
const CIFS_REPEATS: Duration = Duration::from_secs(600);

/// A task that is stuck.
struct Stuck<'a> {
    process: &'a Process,
    tid: u32,
    state: State,
    function: &'a str,
}

fn check(evidence: &Evidence, _: &[Finding]) -> Vec<Finding> {
    let Some(host) = &evidence.host else {
        return logged::by_the_log(evidence).into_iter().collect();
    };
    let stuck = stuck(host);
    let waited_for = |mount: &&Mount| {
        stuck
            .iter()
            .any(|task| mount.is_waited_for_in(task.function))
    };
    let mut mounts: Vec<&Mount> = host.remote.iter().filter(waited_for).collect();
    // One workload may be slow by itself: the kernel must say so, too, or the runtime's own be stuck.
    let lines = Lines::failed(evidence, hung_container::CALLS, ErrorClass::Deadline).latest();
    let known = is_silent(host)
        || stuck
            .iter()
            .any(|task| task.process.role != Role::Other || blocks(evidence, &lines, task));
    if stuck.is_empty() || !known {
        return Vec::new();
    }
    let shares = shares_of_hanging(evidence, &lines, &mounts);
    if !shares.is_empty() {
        let in_one = |mount: &&Mount| shares.iter().any(|share| share.mount == *mount);
        let others = mounts.len();
        mounts.retain(in_one);
        let narrowed = mounts.len() < others;
        return vec![accuse(
            evidence,
            &lines,
            &stuck,
            (&mounts, &shares, narrowed),
        )];
    }
    vec![accuse(evidence, &lines, &stuck, (&mounts, &[], false))]
}

/// Returns what of these file systems is mounted in the containers that do not answer, by Docker or by the log.
fn shares_of_hanging<'a>(
    evidence: &'a Evidence,
    logged: &Lines,
    mounts: &[&Mount],
) -> Vec<Share<'a>> {
    let named = |container: &Container| {
        let mut ids = logged.0.iter().filter_map(|group| group.first.subject());
        ids.any(|id| id.matches(&container.id))
    };
    let all = evidence
        .runtime
        .iter()
        .flat_map(|runtime| &runtime.containers);
    let hanging = all.filter(|it| {
        let silent = it.probe.outcome == Outcome::TimedOut;
        silent || (it.is_only_stored() && named(it))
    });
    let shares = hanging.flat_map(|container| shares::of(evidence, container));
    shares
        .filter(|share| mounts.contains(&share.mount))
        .collect()
}

/// Whether the kernel says that a server does not answer. Of NFS it says so once, and again when that is over; of CIFS
/// every few minutes as long as it is so.
fn is_silent(host: &Host) -> bool {
    let now = |line: &KernelLine| {
        !line.text.contains(CIFS) || line.ago.is_some_and(|ago| ago <= CIFS_REPEATS)
    };
    let mut lines = host.kernel_lines.iter();
    lines.any(|line| line.kind == KernelKind::SilentServer && now(line))
}

/// Whether the runtime that was asked waits by that task: one of its daemons, or a process of a container that does not
/// answer. Another Docker's daemon holds nobody up here, nor does the kubelet, which measures volumes by the way.
fn blocks(evidence: &Evidence, logged: &Lines, task: &Stuck) -> bool {
    let process = task.process;
    let daemons = holders::daemons(evidence);
    if daemons.iter().any(|own| own.pid == process.pid) {
        return true;
    }
    let Some(id) = &process.container else {
        return false;
    };
    // A daemon within a container that hangs is that container's process like any other.
    let hangs = containers(evidence).any(|hanging| hanging.id.matches(id));
    let named = logged.0.iter().filter_map(|group| group.first.subject());
    hangs || named.into_iter().any(|named| named.matches(id))
}

/// Returns the containers for which Docker does not answer.
fn containers(evidence: &Evidence) -> impl Iterator<Item = &Container> {
    let all = evidence
        .runtime
        .iter()
        .flat_map(|runtime| &runtime.containers);
    all.filter(|container| container.probe.outcome == Outcome::TimedOut)
}

/// Returns the tasks that did not wake up while they were watched, a daemon's first.
fn stuck<'a>(host: &'a Host) -> Vec<Stuck<'a>> {
    let tasks = host.processes.iter().flat_map(holders::tasks);
    let waits = |task: Task<'a>| {
        let function = server_wait(task.wchan, task.stack)?;
        Some(Stuck {
            process: task.process,
            tid: task.tid,
            state: task.state,
            function,
        })
    };
    let mut stuck: Vec<_> = tasks.filter(|it| it.still).filter_map(waits).collect();
    stuck.sort_by_key(|task| (task.process.role, task.process.pid, task.tid));
    stuck
}

fn accuse(
    evidence: &Evidence,
    lines: &Lines,
    stuck: &[Stuck],
    (mounts, shares, narrowed): (&[&Mount], &[Share<'_>], bool),
) -> Finding {
    // That its container hangs points to it; that a start waits for what is mounted proves it.
    let sure = !narrowed || shares::is_waited_for_by_a_start(evidence);
    let hangs = containers(evidence).next().is_some();
    let logged = !lines.is_empty() && lines.go_on(evidence);
    let blocks = stuck.iter().any(|task| blocks(evidence, lines, task));
    let told = (hangs || logged) && blocks;
    let mut subjects: Vec<_> = mounts
        .iter()
        .take(MOUNTS)
        .map(|mount| subject(evidence, mount, shares))
        .collect();
    subjects.extend(stuck.iter().take(MOUNTS).map(|task| Subject {
        kind: SubjectKind::Process,
        id: task.process.container.clone(),
        name: Some(task.process.comm.clone()),
        pod: None,
        uid: task.process.uid.clone(),
        pid: Some(task.process.pid),
    }));
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: words::title(stuck, mounts),
        severity: if logged && blocks {
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
        explanation: words::explain(evidence, stuck, (mounts, shares, narrowed), told),
        subjects,
        citations: stuck
            .iter()
            .take(MOUNTS)
            .map(|task| cite(evidence, task))
            .collect(),
        remedies: remedies(evidence, stuck, mounts, (told, sure)),
        spans: Vec::new(),
    }
}

fn subject(evidence: &Evidence, mount: &Mount, shares: &[Share<'_>]) -> Subject {
    let own = shares.iter().find(|share| share.mount == mount);
    let container = own.map(|share| share.container);
    Subject {
        kind: SubjectKind::Mount,
        id: None,
        name: Some(mount.point.clone()),
        pod: pod(evidence, mount).or_else(|| container?.pod.clone()),
        uid: mount.uid.clone().or_else(|| container?.uid.clone()),
        pid: None,
    }
}

/// Returns the pod whose volume it is, by its UID in Docker's list.
fn pod(evidence: &Evidence, mount: &Mount) -> Option<PodName> {
    let containers = &evidence.runtime.as_ref()?.containers;
    let own = containers
        .iter()
        .find(|container| container.uid.is_some() && container.uid == mount.uid)?;
    own.pod.clone()
}

fn cite(evidence: &Evidence, task: &Stuck) -> Citation {
    let text = format!(
        "{}: thread {}, {}, did not wake up while it was watched",
        task.process.comm,
        task.tid,
        doing(task.state, Some(task.function))
    );
    holders::cite(evidence, format!("process {}", task.process.pid), text)
}

/// Returns the end of a FUSE connection. The kernel counts who waits for it: where only one thing points to it, that is
/// asked first.
fn abort(connection: &str, twice: bool) -> Remedy {
    let folder = format!("/sys/fs/fuse/connections/{connection}");
    let (title, command) = match twice {
        true => (
            "Give the server up: all who wait get an error",
            format!("echo 1 > {folder}/abort"),
        ),
        false => (
            "Give the server up if somebody waits for it: all who do get an error",
            format!("[ $(cat {folder}/waiting) -gt 0 ] && echo 1 > {folder}/abort"),
        ),
    };
    remedy(
        title,
        Risk::Disruptive,
        command,
        "the pods that use this mount lose it until it is mounted again (the file is there once fusectl is mounted: mount -t fusectl none /sys/fs/fuse/connections)",
    )
}

fn remedies(
    evidence: &Evidence,
    stuck: &[Stuck],
    mounts: &[&Mount],
    (told, sure): (bool, bool),
) -> Vec<Remedy> {
    // Nothing is given up on the word of one alone: the runtime or the kernel says so, too.
    let twice = sure && (told || evidence.host.as_ref().is_some_and(is_silent));
    let mut remedies = Vec::new();
    if let Some(task) = stuck.first() {
        remedies.push(Remedy {
            title: "See where in the kernel it waits".to_owned(),
            risk: Risk::Safe,
            command: format!("cat /proc/{}/task/{}/stack", task.process.pid, task.tid),
            cost: "nothing; df, ls or stat on the mount would hang, too".to_owned(),
            actions: Vec::new(),
        });
    }
    // With several it is not known which: nothing is detached on a guess.
    if let [mount] = mounts {
        remedies.push(match mount.fuse_connection() {
            Some(connection) => Remedy {
                title: "See whether the process that serves it is there, and runs".to_owned(),
                risk: Risk::Safe,
                command: format!(
                    "ps -eo pid,stat,etime,args | grep -F '{}'",
                    mount.source.replace('\'', "'\\''")
                ),
                cost: format!(
                    "nothing; /sys/fs/fuse/connections/{connection}/waiting counts who waits"
                ),
                actions: Vec::new(),
            },
            None => Remedy {
                title: "Check the server and bring it back: everything then resumes"
                    .to_owned(),
                risk: Risk::Safe,
                command: format!("ping -c 3 -W 2 {}", mount.server()),
                cost: match twice {
                    true => "nothing".to_owned(),
                    false => "nothing; to detach its mount by force is not offered: one thing alone points to it".to_owned(),
                },
                actions: Vec::new(),
            },
        });
    }
    if mounts.len() > 1 && mounts.iter().all(|mount| mount.fuse_connection().is_some()) {
        remedies.push(remedy(
            "See for which of them somebody waits",
            Risk::Safe,
            "grep -H . /sys/fs/fuse/connections/*/waiting",
            "nothing; it is one whose number stays above 0, and 1 written into the file abort beside it gives its server up. Which one it is was not seen, so no more is offered",
        ));
    }
    if let [mount] = mounts {
        match mount.fuse_connection() {
            Some(connection) => remedies.push(abort(connection, twice)),
            None if twice => remedies.push(Remedy {
                title: "Give the server up: detach its mount, by force".to_owned(),
                risk: Risk::Disruptive,
                command: format!(
                    "{}umount -f -l '{}'",
                    mount
                        .within
                        .map_or_else(String::new, |pid| format!("nsenter -m -t {pid} ")),
                    mount.point.replace('\'', "'\\''")
                ),
                cost: "the pods that use this mount lose it until it is mounted again; data not yet written is lost".to_owned(),
                actions: Vec::new(),
            }),
            None => {}
        }
    }
    let daemons = holders::daemons(evidence);
    let own = |task: &Stuck| daemons.iter().any(|own| own.pid == task.process.pid);
    if stuck.iter().any(own) {
        remedies.push(restart_runtime(evidence));
    }
    remedies
}
