//! This machine, as the kernel shows it; only this file and its folder read `/proc` and `/sys`.
//!
//! Nothing here waits for a sick process. What the kernel answers by itself (`stat`, `wchan`, `stack`, `mountinfo`)
//! is read in a thread that is left behind when time is up; what takes locks that a sick process may hold
//! (`cmdline`, `cgroup`) is read by a child that is killed. Nothing is asked of a file system that may be remote: no `stat`, no `statfs`, no listing.
//!
//! Every fact comes through `files::Tree`, so that a capture keeps it and a replay sees the same.

mod background;
mod disks;
pub mod helper;
pub mod leftover_layers;
mod locks;
mod mount_namespaces;
mod pressure;
mod proc_scan;
pub mod process;
pub mod programs;
pub mod quick_check;
mod resample;
mod settings;
mod systemd;
mod tasks;
mod versions;

use crate::io::deadline;
use crate::io::deadline::Ended;
use crate::io::files::Tree;
use crate::io::gap::Gap;
use crate::node::{FileLock, Host, KernelLine, Pressure, Role, parse};
use anyhow::Context as _;
use rustix::process::geteuid;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// For how long this machine is looked at; on a well one it takes the second that its disks are watched.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// How long mounts and pressures may take, however long the processes took.
const MIN_TIMEOUT: Duration = Duration::from_millis(300);

/// This host's name, as `uname -n` prints it.
///
/// # Errors
/// The file cannot be read: `/proc` is not there.
pub fn name() -> anyhow::Result<String> {
    let name = fs::read_to_string(HOSTNAME).with_context(|| format!("can't read {HOSTNAME}"))?;
    Ok(name.trim_end().to_owned())
}

/// What can be seen of the machine `tree` within `timeout`; what can't; and, as notes, what is hidden here from anyone,
/// so that it is no gap.
pub fn scan(tree: &Tree, timeout: Duration) -> (Host, Vec<Gap>, Vec<String>) {
    let until = Instant::now() + timeout;
    let (mut gaps, mut notes) = (Vec::new(), Vec::new());
    let kernel = tree.text("proc/sys/kernel/osrelease").ok();
    let mut host = Host {
        root: tree.root().display().to_string(),
        kernel: kernel.map(|text| text.trim_end().to_owned()),
        ..Host::default()
    };
    let uptime = tree.text("proc/uptime").ok();
    let uptime = uptime.as_deref().and_then(parse::uptime);
    // What takes a moment runs beside the rest.
    let (disks, systemd) = (disks::watch(tree), systemd::ask(tree));
    let seen = tasks::scan(tree, uptime, until, &mut host, &mut gaps);
    let (versions, unasked) = versions::scan(tree, &host.processes, until);
    let (settings, unread) = settings::scan(tree, &host.processes, until);
    (host.versions, host.kubelet_settings) = (versions, settings);
    gaps.extend(unasked.into_iter().chain(unread));
    notes.extend(needs_root(tree, geteuid().is_root()));
    // Not nothing where the processes took all the time.
    let extended = || until.max(Instant::now() + MIN_TIMEOUT);
    let unobserved = (&mut gaps, &mut notes);
    mount_namespaces::scan(tree, &seen.stats, extended(), &mut host, unobserved);
    let unobserved = (&mut gaps, &mut notes);
    scan_machine(
        tree,
        uptime,
        (extended(), &seen.cgroups),
        &mut host,
        unobserved,
    );
    let disks = disks::fill(&disks, tree, extended(), &mut host);
    let systemd = systemd::fill(&systemd, &mut host);
    for unobserved in disks.into_iter().chain(systemd) {
        unobserved.report(&mut gaps, &mut notes);
    }
    (host, gaps, notes)
}

/// The kernel shows where other users' processes sleep to root alone.
fn needs_root(tree: &Tree, is_root: bool) -> Option<String> {
    let note = "skipped kernel wait channels and stacks (wchan, stack): needs root";
    (tree.is_live() && !is_root).then(|| note.to_owned())
}

enum Part {
    Pressure(Pressure),
    Locks(Option<Vec<FileLock>>),
    Kernel(Vec<KernelLine>),
    Unobserved(Unobserved),
}

/// What was not seen: something that should be, or what is hidden here from anyone.
enum Unobserved {
    Gap(Gap),
    Note(String),
}

impl Unobserved {
    fn gap(what: &str, why: impl Into<String>) -> Self {
        Self::Gap(Gap::new(what, why))
    }

    fn report(self, gaps: &mut Vec<Gap>, notes: &mut Vec<String>) {
        match self {
            // One file may be read for two reasons.
            Self::Gap(gap) if gaps.contains(&gap) => {}
            Self::Gap(gap) => gaps.push(gap),
            Self::Note(note) => notes.push(note),
        }
    }
}

/// Fills in pressures, locks and the kernel's messages.
fn scan_machine(
    tree: &Tree,
    uptime: Option<Duration>,
    (until, cgroups): (Instant, &BTreeMap<u32, String>),
    host: &mut Host,
    (gaps, notes): (&mut Vec<Gap>, &mut Vec<String>),
) {
    let processes = host.processes.iter();
    let daemons: Vec<(u32, Option<String>)> = processes
        .filter(|process| process.role.is_daemon())
        .map(|process| (process.pid, cgroups.get(&process.pid).cloned()))
        .collect();
    let iptables = host.processes.iter().filter(|it| it.role == Role::Iptables);
    let iptables: Vec<u32> = iptables.map(|process| process.pid).collect();
    let tree = tree.clone();
    let ended = deadline::read_until_deadline(
        until,
        move |to| {
            // Nobody listens any more where a send fails.
            drop(to.send(Part::Pressure(pressure::scan(&tree, &daemons))));
            if !iptables.is_empty() {
                drop(to.send(Part::Locks(locks::scan(&tree, &iptables))));
            }
            drop(to.send(kernel(&tree, uptime)));
        },
        &mut |part| {
            match part {
                Part::Pressure(pressure) => host.pressure = pressure,
                Part::Locks(locks) => host.locks = locks,
                Part::Kernel(lines) => host.kernel_lines = lines,
                Part::Unobserved(unobserved) => {
                    host.kernel_messages_unread = true;
                    unobserved.report(gaps, notes);
                }
            }
            true
        },
    );
    if !matches!(ended, Ok(Ended::Whole)) {
        host.kernel_messages_unread = true;
        gaps.push(Gap::new(
            "this host's pressures and kernel messages",
            "not all could be read in time",
        ));
    }
}

fn kernel(tree: &Tree, uptime: Option<Duration>) -> Part {
    match pressure::kernel_lines(tree, uptime) {
        Ok(lines) => Part::Kernel(lines),
        // A recording need not have them.
        Err(_) if !tree.is_live() => Part::Kernel(Vec::new()),
        Err(error) => {
            let file = tree.path("dev/kmsg");
            Part::Unobserved(unobserved("the kernel's messages", &file, &error))
        }
    }
}

/// What may be missing without harm, for it adds to what is found and is no state: within a container the files are not
/// there, and a user may not read them. Everything else that can't be read is a gap.
fn unobserved(what: &str, file: &Path, error: &io::Error) -> Unobserved {
    let file = file.display();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => Unobserved::Note(format!(
            "skipped {what}: {file}: {error} (root can read it on the host)"
        )),
        _ => Unobserved::gap(what, format!("{file}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::Unobserved;
    use crate::io::files::Tree;
    use std::io::ErrorKind;
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;
    use std::{fs, io};

    #[test]
    fn messages_that_a_place_does_not_have_or_show_are_a_note_and_other_errors_a_gap() {
        let file = Path::new("/dev/kmsg");
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied] {
            let Unobserved::Note(note) =
                super::unobserved("the kernel's messages", file, &kind.into())
            else {
                panic!("{kind:?}");
            };
            assert!(note.contains("the kernel's messages: /dev/kmsg"), "{note}");
        }
        let error = io::Error::from(ErrorKind::TimedOut);
        let part = super::unobserved("the kernel's messages", file, &error);
        assert!(matches!(part, Unobserved::Gap(_)));
    }

    #[test]
    fn a_machine_without_kernel_messages_leaves_no_gap() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/1")).unwrap();
        fs::write(root.path().join("proc/1/mountinfo"), "").unwrap();
        std::os::unix::fs::symlink("1", root.path().join("proc/self")).unwrap();
        let (_, gaps, notes) = super::scan(&Tree::at(root.path()), Duration::from_secs(3));
        assert!(gaps.is_empty(), "{gaps:?}");
        let skipped = |note: &String| note.contains("dev/kmsg");
        assert!(notes.iter().any(skipped), "{notes:?}");
    }

    #[test]
    fn without_root_a_note_says_what_the_kernel_hides() {
        let live = &Tree::at(Path::new("/"));
        assert!(super::needs_root(live, false).unwrap().contains("wchan"));
        assert_eq!(super::needs_root(live, true), None);
        let recorded = tempfile::tempdir().unwrap();
        assert_eq!(super::needs_root(&Tree::at(recorded.path()), false), None);
    }

    #[test]
    fn the_name_is_what_uname_prints() {
        let uname = Command::new("uname").arg("-n").output().unwrap();
        assert_eq!(
            super::name().unwrap(),
            String::from_utf8(uname.stdout).unwrap().trim_end()
        );
    }
}
