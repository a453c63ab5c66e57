//! Mounts, in every mount namespace of the machine: which ones hold a layer's or a container's directory, and which
//! remote file systems the machine and its daemons see.
//!
//! Each namespace is read once, through one process that lives in it; what a process that changed its root does not
//! see is left out.

use super::helper::ProcFile;
use super::{Unobserved, helper, unobserved};
use crate::io::deadline;
use crate::io::deadline::Ended;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::node::mount_holder::{HeldMount, MountHolder};
use crate::node::parse::Stat;
use crate::node::{Host, Mount, Namespace, Process, Role, mount, mount_holder, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::ErrorKind;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

/// Most that is read of one `mountinfo`, and of all: a mount has some 200 bytes, a layer's 1 KiB.
const MAX_FILE: u64 = 16 << 20;
const MAX_TOTAL: usize = 128 << 20;
const MAX_NAMESPACES: usize = 2048;
const MAX_HELD: usize = 4096;
/// Processes that are told of a namespace; from its first to its last tried, if it ends meanwhile.
const MAX_HOLDERS: usize = 8;
const MAX_TRIES: usize = 3;

const MOUNTS: &str = "this host's mounts";

enum Found {
    Remote(Vec<Mount>),
    Number(usize),
    Namespace(Namespace, Vec<u32>),
    Unobserved(Unobserved),
}

pub(super) fn scan(
    tree: &Tree,
    stats: &BTreeMap<u32, Stat>,
    until: Instant,
    host: &mut Host,
    (gaps, notes): (&mut Vec<Gap>, &mut Vec<String>),
) {
    let lives = |stat: &&Stat| !stat.kernel && host.living.contains(&stat.pid);
    let pids: Vec<u32> = stats.values().filter(lives).map(|stat| stat.pid).collect();
    let daemons = daemons(host);
    let (mut number, mut read) = (None, 0);
    let mut found = Vec::new();
    let reading = tree.clone();
    let ended = deadline::read_until_deadline(
        until,
        move |to| {
            // Nobody listens any more where a send fails.
            let own = roots(&reading, &daemons, to);
            namespaces(&reading, &pids, &own, to);
        },
        &mut |told| {
            match told {
                Found::Remote(mounts) => host.remote.extend(mounts),
                Found::Number(all) => number = Some(all),
                Found::Namespace(namespace, members) => {
                    read += 1;
                    if !namespace.held.is_empty() {
                        found.push((namespace, members));
                    }
                }
                Found::Unobserved(unobserved) => unobserved.report(gaps, notes),
            }
            true
        },
    );
    if !matches!(ended, Ok(Ended::Whole)) {
        let of = number.map_or_else(String::new, |all| format!(": {read} of {all}"));
        gaps.push(Gap::new(
            MOUNTS.to_owned(),
            format!("not all mount namespaces could be read in time{of}"),
        ));
    }
    host.namespaces = kept(tree, stats, found, until, gaps);
}

/// The processes that matter by themselves: the machine's daemons, those of the runtime apart.
struct Daemons {
    runtime: Vec<u32>,
    others: Vec<u32>,
    /// The runtime's daemons within containers (Docker in Docker): what they hold is theirs.
    inner: Vec<u32>,
}

fn daemons(host: &Host) -> Daemons {
    let pids = |wanted: &dyn Fn(&Process) -> bool| {
        let processes = host.processes.iter();
        let wanted = processes.filter(|process| process.role.is_daemon() && wanted(process));
        wanted.map(|process| process.pid).collect()
    };
    let kubelet = |process: &Process| process.role == Role::Kubelet;
    Daemons {
        runtime: pids(&|process| !kubelet(process) && !process.is_contained()),
        others: pids(&|process| kubelet(process)),
        inner: pids(&|process| !kubelet(process) && process.is_contained()),
    }
}

/// What tells that a namespace is the runtime's own: its name, or its first mount where the name may not be read.
#[derive(Default)]
struct Own {
    names: BTreeSet<String>,
    firsts: BTreeSet<u64>,
}

/// Sends the remote mounts of the machine's first process and of its daemons; returns what is the runtime's own.
fn roots(tree: &Tree, daemons: &Daemons, to: &SyncSender<Found>) -> Own {
    let (mut own, mut seen) = (Own::default(), BTreeSet::new());
    let inner = daemons.inner.iter();
    own.names
        .extend(inner.filter_map(|&pid| link(tree, pid).ok()));
    let mut known = BTreeSet::new();
    let of_runtime = |pid: u32| daemons.runtime.contains(&pid);
    let all = [&1]
        .into_iter()
        .chain(&daemons.runtime)
        .chain(&daemons.others);
    for &pid in all {
        let name = link(tree, pid).ok();
        let is_own = of_runtime(pid) || (pid == 1 && daemons.runtime.is_empty());
        own.names.extend(name.clone().filter(|_| is_own));
        if name.is_some_and(|name| !seen.insert(name)) {
            continue;
        }
        let text = match text(tree, pid, to) {
            Ok(text) => text,
            Err(error) => {
                // Others may have ended; without the first one's a folder is no machine's.
                if pid == 1 {
                    drop(to.send(without(tree, &error)));
                }
                continue;
            }
        };
        own.firsts
            .extend(mount_holder::first_mount(&text).filter(|_| is_own));
        let mut mounts = mount::mountinfo(&text);
        mounts.retain(|mount| mount.remote);
        mounts.retain(|mount| known.insert((mount.device.clone(), mount.point.clone())));
        for mount in &mut mounts {
            mount.within = Some(pid).filter(|&pid| pid != 1);
        }
        drop(to.send(Found::Remote(mounts)));
    }
    own
}

fn without(tree: &Tree, error: &io::Error) -> Found {
    let file = tree.path(&mountinfo(1));
    match error.kind() {
        ErrorKind::NotFound => gap(format!("{}: {error}", file.display())),
        _ => Found::Unobserved(unobserved(MOUNTS, &file, error)),
    }
}

fn gap(why: String) -> Found {
    Found::Unobserved(Unobserved::gap(MOUNTS, why))
}

fn namespaces(tree: &Tree, pids: &[u32], own: &Own, to: &SyncSender<Found>) {
    let mut members: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let mut denied = 0_usize;
    for &pid in pids {
        match link(tree, pid) {
            Ok(name) => members.entry(name).or_default().push(pid),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => denied += 1,
            // It has ended, or nobody recorded it.
            Err(_) => {}
        }
    }
    if let Some(number) = tree.told("namespaces-denied", || {
        (denied > 0).then(|| denied.to_string())
    }) {
        let hidden = match number.trim() {
            "1" => "1 process hides its mounts".to_owned(),
            number => format!("{number} processes hide their mounts"),
        };
        let note = format!("{hidden}; skipped (root on the host sees them)");
        drop(to.send(Found::Unobserved(Unobserved::Note(note))));
    }
    let all = members.len();
    drop(to.send(Found::Number(all)));
    let mut members: Vec<_> = members.into_iter().collect();
    // The same ones come first each time.
    members.sort_by_key(|(_, pids)| pids.first().copied());
    let mut bytes = 0;
    for (read, (id, pids)) in members.into_iter().enumerate() {
        if read >= MAX_NAMESPACES || bytes >= MAX_TOTAL {
            drop(to.send(gap(format!(
                "only {read} of {all} mount namespaces were read: they are too many, or too large"
            ))));
            return;
        }
        let text = pids
            .iter()
            .take(MAX_TRIES)
            .find_map(|&pid| text(tree, pid, to).ok());
        // All who lived in it have ended.
        let Some(text) = text else { continue };
        bytes += text.len();
        let is_own = own.names.contains(&id)
            || mount_holder::first_mount(&text).is_some_and(|first| own.firsts.contains(&first));
        let namespace = Namespace {
            own: is_own,
            processes: pids.len(),
            keepers: Vec::new(),
            held: bounded(mount_holder::held(&text), &id, to),
            id,
        };
        if to.send(Found::Namespace(namespace, pids)).is_err() {
            return;
        }
    }
}

fn bounded(mut held: Vec<HeldMount>, id: &str, to: &SyncSender<Found>) -> Vec<HeldMount> {
    if held.len() > MAX_HELD {
        drop(to.send(gap(format!(
            "mount namespace {id} holds {} of layers and containers; {MAX_HELD} are kept",
            held.len()
        ))));
        held.truncate(MAX_HELD);
    }
    held
}

fn kept(
    tree: &Tree,
    stats: &BTreeMap<u32, Stat>,
    found: Vec<(Namespace, Vec<u32>)>,
    until: Instant,
    gaps: &mut Vec<Gap>,
) -> Vec<Namespace> {
    // The oldest ones: what made the namespace is mostly among them.
    let told = |members: &[u32]| -> Vec<u32> {
        let mut members = members.to_vec();
        members.sort_by_key(|pid| (stats.get(pid).map(|stat| stat.start_ticks), *pid));
        members.truncate(MAX_HOLDERS);
        members
    };
    let pids: Vec<u32> = found
        .iter()
        .flat_map(|(_, members)| told(members))
        .collect();
    let mut cgroups = helper::FilesRead::default();
    helper::read(tree, ProcFile::Cgroup, &pids, until, &mut cgroups);
    gaps.extend(super::tasks::complaints(&cgroups, ProcFile::Cgroup));
    let keeper = |pid: u32| {
        let stat = stats.get(&pid)?;
        let text = cgroups.files.get(&pid);
        let text = text.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let (uid, container) = text.as_deref().map(parse::cgroup).unwrap_or_default();
        Some(MountHolder {
            pid,
            comm: stat.comm.clone(),
            start_ticks: stat.start_ticks,
            unit: text.as_deref().and_then(mount_holder::unit),
            container,
            uid,
        })
    };
    found
        .into_iter()
        .map(|(namespace, members)| Namespace {
            keepers: told(&members).into_iter().filter_map(keeper).collect(),
            ..namespace
        })
        .collect()
}

fn link(tree: &Tree, pid: u32) -> io::Result<String> {
    tree.link(&format!("proc/{pid}/ns/mnt"))
}

fn mountinfo(pid: u32) -> String {
    format!("proc/{pid}/mountinfo")
}

/// The mounts of the first process, as the look at all mounts saw them; nothing, if they cannot be read.
pub(super) fn text_of_init(tree: &Tree) -> String {
    tree.large(&mountinfo(1), MAX_FILE)
        .map(|(text, _)| text)
        .unwrap_or_default()
}

/// A process's `mountinfo`; one that is cut is a gap.
fn text(tree: &Tree, pid: u32, to: &SyncSender<Found>) -> io::Result<String> {
    let path = mountinfo(pid);
    let (text, whole) = tree.large(&path, MAX_FILE)?;
    if !whole {
        drop(to.send(gap(format!(
            "{} is larger than {} MiB: the rest was not read",
            tree.path(&path).display(),
            MAX_FILE >> 20
        ))));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
