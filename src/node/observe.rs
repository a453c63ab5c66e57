//! This machine, as the kernel tells it; only this file and its folder read `/proc` and `/sys`.
//!
//! Nothing here waits for a sick process. What the kernel answers by itself (`stat`, `wchan`, `stack`, `mountinfo`)
//! is read in a thread that is left behind when time is up; what takes locks that a sick process may hold
//! (`cmdline`, `cgroup`) is read by a child that is killed. Nothing is asked of a file system that may be remote: no `stat`, no `statfs`, no listing.
//!
//! Every fact comes through `files::Tree`, so that a capture keeps it and a replay sees the same.

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

use crate::io::files::Tree;
use crate::{
    io::{
        deadline::{self, Ended},
        gap::Gap,
    },
    node::{FileLock, Host, KernelLine, Pressure, Role, parse},
};
use anyhow::Context as _;
use rustix::process::geteuid;
use std::{
    collections::BTreeMap,
    fs,
    io::{self, ErrorKind},
    path::Path,
    time::{Duration, Instant},
};

const HOSTNAME: &str = "/proc/sys/kernel/hostname";
/// For how long this machine is looked at; on a well one it takes the second that its disks are watched.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// How long mounts and pressures may take, however long the processes took.
const AT_LEAST: Duration = Duration::from_millis(300);

/// This host's name, as `uname -n` prints it.
///
/// # Errors
/// The file cannot be read: `/proc` is not there.
pub fn name() -> anyhow::Result<String> {
    let name = fs::read_to_string(HOSTNAME).with_context(|| format!("can't read {HOSTNAME}"))?;
    Ok(name.trim_end().to_owned())
}

/// What can be seen of the machine `tree` within `patience`; what can't; and, as notes, what this place does not show
/// to anybody, so that it is no gap.
pub fn look(tree: &Tree, patience: Duration) -> (Host, Vec<Gap>, Vec<String>) {
    let until = Instant::now() + patience;
    let (mut gaps, mut notes) = (Vec::new(), Vec::new());
    let mut host = Host {
        root: tree.root().display().to_string(),
        kernel: tree
            .text("proc/sys/kernel/osrelease")
            .ok()
            .map(|text| text.trim_end().to_owned()),
        ..Host::default()
    };
    let uptime = tree.text("proc/uptime").ok();
    let uptime = uptime.as_deref().and_then(parse::uptime);
    // What takes a moment goes on beside the rest.
    let (disks, bus) = (disks::watch(tree), systemd::ask(tree));
    let seen = tasks::look(tree, uptime, until, &mut host, &mut gaps);
    look_at_programs(tree, until, &mut host, &mut gaps);
    notes.extend(shy(tree, geteuid().is_root()));
    // Not nothing where the processes took all the time.
    let until = until.max(Instant::now() + AT_LEAST);
    let complaints = (&mut gaps, &mut notes);
    mount_namespaces::look(tree, &seen.stats, until, &mut host, complaints);
    let until = until.max(Instant::now() + AT_LEAST);
    let complaints = (&mut gaps, &mut notes);
    look_around(tree, uptime, (until, &seen.cgroups), &mut host, complaints);
    let unseen = [
        disks::fill(disks, tree, until.max(Instant::now() + AT_LEAST), &mut host),
        systemd::fill(bus, &mut host),
    ];
    for unseen in unseen.into_iter().flatten() {
        unseen.tell(&mut gaps, &mut notes);
    }
    (host, gaps, notes)
}

/// The note that others' processes do not tell where in the kernel they sleep, but to root.
fn shy(tree: &Tree, root: bool) -> Option<String> {
    let note = "left out where in the kernel processes sleep (wchan, stack): only root may read that of all";
    (tree.is_live() && !root).then(|| note.to_owned())
}

enum Part {
    Pressure(Pressure),
    Locks(Option<Vec<FileLock>>),
    Kernel(Vec<KernelLine>),
    Unseen(Unseen),
}

/// What was not seen: something that should be, or what this place does not show to anybody.
enum Unseen {
    Gap(Gap),
    Note(String),
}

impl Unseen {
    fn tell(self, gaps: &mut Vec<Gap>, notes: &mut Vec<String>) {
        match self {
            // One file may be read for two reasons.
            Self::Gap(gap) if gaps.contains(&gap) => {}
            Self::Gap(gap) => gaps.push(gap),
            Self::Note(note) => notes.push(note),
        }
    }
}

fn look_around(
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
    let filters = host.processes.iter().filter(|it| it.role == Role::Iptables);
    let filters: Vec<u32> = filters.map(|process| process.pid).collect();
    let tree = tree.clone();
    let ended = deadline::pump(
        until,
        move |to| {
            // Nobody listens any more where a send fails.
            drop(to.send(Part::Pressure(pressure::look(&tree, &daemons))));
            if !filters.is_empty() {
                drop(to.send(Part::Locks(locks::look(&tree, &filters))));
            }
            drop(to.send(kernel(&tree, uptime)));
        },
        &mut |part| {
            match part {
                Part::Pressure(pressure) => host.pressure = pressure,
                Part::Locks(locks) => host.locks = locks,
                Part::Kernel(lines) => host.kernel_lines = lines,
                Part::Unseen(unseen) => unseen.tell(gaps, notes),
            }
            true
        },
    );
    if !matches!(ended, Ok(Ended::Whole)) {
        gaps.push(Gap {
            what: "this host's pressures and kernel messages".to_owned(),
            why: "not all could be read in time".to_owned(),
        });
    }
}

fn look_at_programs(tree: &Tree, until: Instant, host: &mut Host, gaps: &mut Vec<Gap>) {
    let (versions, unasked) = versions::look(tree, &host.processes, until);
    let (settings, unread) = settings::look(tree, &host.processes, until);
    (host.versions, host.kubelet_settings) = (versions, settings);
    gaps.extend(unasked.into_iter().chain(unread));
}

fn kernel(tree: &Tree, uptime: Option<Duration>) -> Part {
    match pressure::kernel_lines(tree, uptime) {
        Ok(lines) => Part::Kernel(lines),
        // A recording need not have them.
        Err(_) if !tree.is_live() => Part::Kernel(Vec::new()),
        Err(error) => {
            let file = tree.path("dev/kmsg");
            Part::Unseen(unseen("the kernel's messages", &file, &error))
        }
    }
}

/// What may be missing without harm, for it adds to what is found and is no state: within a container the files are not
/// there, and a user may not read them. Everything else that can't be read is a gap.
fn unseen(what: &str, file: &Path, error: &io::Error) -> Unseen {
    let file = file.display();
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::PermissionDenied => Unseen::Note(format!(
            "left out {what}: {file}: {error} (root may read it on the host)"
        )),
        _ => Unseen::Gap(Gap {
            what: what.to_owned(),
            why: format!("{file}: {error}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::Unseen;
    use crate::io::files::Tree;
    use std::{
        fs,
        io::{self, ErrorKind},
        path::Path,
        process::Command,
        time::Duration,
    };

    #[test]
    fn messages_that_a_place_does_not_have_or_show_are_a_note_and_other_errors_a_gap() {
        let file = Path::new("/dev/kmsg");
        for kind in [ErrorKind::NotFound, ErrorKind::PermissionDenied] {
            let Unseen::Note(note) = super::unseen("the kernel's messages", file, &kind.into())
            else {
                panic!("{kind:?}");
            };
            assert!(note.contains("the kernel's messages: /dev/kmsg"), "{note}");
        }
        let error = io::Error::from(ErrorKind::TimedOut);
        let part = super::unseen("the kernel's messages", file, &error);
        assert!(matches!(part, Unseen::Gap(_)));
    }

    #[test]
    fn a_machine_without_kernel_messages_leaves_no_gap() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/1")).unwrap();
        fs::write(root.path().join("proc/1/mountinfo"), "").unwrap();
        std::os::unix::fs::symlink("1", root.path().join("proc/self")).unwrap();
        let (_, gaps, notes) = super::look(&Tree::at(root.path()), Duration::from_secs(3));
        assert!(gaps.is_empty(), "{gaps:?}");
        let told = |note: &String| note.contains("dev/kmsg");
        assert!(notes.iter().any(told), "{notes:?}");
    }

    #[test]
    fn who_is_not_root_is_told_what_the_kernel_hides() {
        let live = &Tree::at(Path::new("/"));
        assert!(super::shy(live, false).unwrap().contains("wchan"));
        assert_eq!(super::shy(live, true), None);
        let recorded = tempfile::tempdir().unwrap();
        assert_eq!(super::shy(&Tree::at(recorded.path()), false), None);
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
