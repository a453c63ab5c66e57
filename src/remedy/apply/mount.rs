//! Detaches one leaked mount in the mount namespace that keeps it, as `umount -l` does there.
//!
//! To enter another mount namespace a process must have but one thread: a child of our own does it, so that neither
//! `nsenter` nor `umount` need be there. If it hangs, it is abandoned.

use super::{
    command::{CommandResult, run},
    execute::{Executor, Intent},
    pidfd::ProcessHandle,
};
use crate::{
    finding::outcome::{Ending, Fate},
    io::child::OWN_PROGRAM,
    node::{
        mount::{self, MountPoint},
        observe::process::{self, Proc},
    },
    syntax::duration::spoken as span,
};
use anyhow::{Context as _, bail};
use rustix::{
    mount::{UnmountFlags, unmount},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use std::{os::fd::AsFd as _, path::Path, process::Command, time::Duration};

/// The subcommand that detaches: ours alone, not shown.
pub const SUBCOMMAND: &str = "detach-mount";
/// How long the child may take. Detaching waits for nobody, but the path to the mount may.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Place<'a> {
    pub(super) path: &'a str,
    pub(super) mount: u64,
    pub(super) namespace: u64,
    pub(super) pid: u32,
    pub(super) start_ticks: u64,
}

/// Detaches the mount, if it is still there.
pub(super) fn detach(hands: &Executor<'_>, place: &Place<'_>, intent: Intent<'_>) -> Ending {
    let Place {
        path,
        mount,
        namespace,
        pid,
        ..
    } = *place;
    if let Err(why) = is_there(place) {
        return Ending::because(Fate::Changed, format!("nothing was detached: {why}"));
    }
    if hands.is_interrupted() {
        return Ending::because(Fate::Interrupted, "interrupted before it was detached");
    }
    if let Err(why) = intent() {
        return Ending::because(Fate::Failed, why);
    }
    let at = hands.clock.now();
    let mut command = Command::new(OWN_PROGRAM);
    command
        .arg(SUBCOMMAND)
        .args([pid.into(), namespace, mount].map(|number: u64| number.to_string()))
        .arg(path)
        .env_clear();
    let ran = run(command, PATIENCE);
    let ending = Ending {
        before: Some(format!(
            "{path} mounted in namespace {namespace}, as mount {mount}"
        )),
        at: Some(at),
        ..Ending::not_done(Fate::Failed, None)
    };
    let left = process::mounts(pid).map(|mounts| mounts.iter().any(|left| left.id == mount));
    match (ran, left) {
        (CommandResult::Well(_), Ok(false)) => Ending {
            fate: Fate::Done,
            after: Some(format!("{path} not mounted there any more")),
            proof: Some(format!(
                "mount {mount} is not among those of process {pid} any more"
            )),
            ..ending
        },
        (CommandResult::Well(_), Ok(true)) => Ending {
            fate: Fate::Unproven,
            reason: Some(format!("it was detached, and process {pid} still shows it")),
            ..ending
        },
        (CommandResult::Well(_), Err(error)) => Ending {
            fate: Fate::Unproven,
            reason: Some(format!(
                "the mounts of process {pid} can't be read: {error}"
            )),
            ..ending
        },
        (CommandResult::Failed(words), _) => Ending {
            reason: Some(words),
            ..ending
        },
        (CommandResult::Late, _) => Ending {
            fate: Fate::Unproven,
            reason: Some(format!(
                "not done in {}; it may still happen",
                span(PATIENCE)
            )),
            ..ending
        },
    }
}

/// In words why the mount is not what was seen any more, if so.
fn is_there(place: &Place<'_>) -> Result<(), String> {
    let pid = place.pid;
    if !place.path.starts_with('/') || place.path.trim_matches('/').is_empty() {
        return Err(format!(
            "{:?} is no place to detach anything from",
            place.path
        ));
    }
    ProcessHandle::new(pid, place.start_ticks)?;
    let (_, number) = process::mount_namespace(pid)
        .map_err(|error| format!("the mount namespace of process {pid}: {error}"))?;
    if number != place.namespace {
        return Err(format!("process {pid} sits in another mount namespace now"));
    }
    let mounts =
        process::mounts(pid).map_err(|error| format!("the mounts of process {pid}: {error}"))?;
    is_on_top(&mounts, place.path, place.mount)
}

/// In words why it is not that mount that `path` leads to, if so: detaching goes by the path.
fn is_on_top(mounts: &[MountPoint], path: &str, wanted: u64) -> Result<(), String> {
    match (
        mount::top(mounts, path),
        mounts.iter().any(|it| it.id == wanted),
    ) {
        (Some(top), _) if top == wanted => Ok(()),
        (_, false) => Err(format!("{path} is not mounted there any more")),
        (Some(top), true) => Err(format!("another mount lies over it at {path}: {top}")),
        (None, true) => Err(format!("it can't be told which mount {path} leads to")),
    }
}

/// The child's part: enters the mount namespace of process `pid`, if it is still that of the number `namespace`, and
/// detaches the mount of the number `mount` there, if it is still the one that `path` leads to.
pub fn enter_and_detach(pid: u32, namespace: u64, mount: u64, path: &Path) -> anyhow::Result<()> {
    let (file, number) = process::mount_namespace(pid)
        .with_context(|| format!("the mount namespace of process {pid}"))?;
    // From here on the open file names the namespace, whatever becomes of the process.
    if number != namespace {
        bail!("process {pid} sits in another mount namespace now");
    }
    let proc = Proc::open().context("the kernel's files can't be opened")?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Mount))
        .context("its mount namespace can't be entered")?;
    // From the namespace's own root, which need not be the one that the process sees its paths from.
    let mounts = proc.own_mounts().context("its mounts can't be read")?;
    let told = path.to_str().context("its path is no text")?;
    if let Err(why) = is_on_top(&mounts, told, mount) {
        bail!("nothing was detached: {why}");
    }
    unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        .with_context(|| format!("{} can't be detached", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_is_not_what_was_seen_is_left_alone() {
        let pid = std::process::id();
        let start_ticks = process::stat(pid).unwrap().start_ticks;
        let (_, namespace) = process::mount_namespace(pid).unwrap();
        let mounts = process::mounts(pid).unwrap();
        let proc = mount::top(&mounts, "/proc").unwrap();
        let here = |path| Place {
            path,
            mount: proc,
            namespace,
            pid,
            start_ticks,
        };
        assert_eq!(is_there(&here("/proc")), Ok(()));
        for (place, words) in [
            (here("/"), "no place"),
            (here("proc"), "no place"),
            (here("/no/such/mount"), "can't be told which"),
            (
                Place {
                    mount: u64::MAX,
                    ..here("/proc")
                },
                "not mounted there",
            ),
            (
                Place {
                    start_ticks: start_ticks + 1,
                    ..here("/proc")
                },
                "another one now",
            ),
            (
                Place {
                    namespace: namespace + 1,
                    ..here("/proc")
                },
                "another mount namespace",
            ),
        ] {
            let why = is_there(&place).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
    #[test]
    fn of_mounts_at_one_place_only_the_one_on_top_is_detached_and_only_if_it_is_the_one_meant() {
        // 10 and 11 are stacked; 20 lies in a folder that 31 hides, below 30.
        let stacked =
            "1 0 0:1 / / rw - x x rw\n10 1 0:2 / /d rw - x x rw\n11 10 0:3 / /d rw - x x rw\n";
        let hidden = "20 1 0:4 / /h/d rw - x x rw\n30 1 0:5 / /h rw - x x rw\n31 30 0:6 / /h/d rw - x x rw\n";
        let mounts = mount::mount_points(&format!("{stacked}{hidden}"));
        assert_eq!(mounts.len(), 6);
        assert_eq!(is_on_top(&mounts, "/d", 11), Ok(()));
        for (path, wanted, words) in [
            ("/d", 10, "another mount lies over it at /d: 11"),
            ("/d", 12, "not mounted there any more"),
            ("/h/d", 20, "can't be told"),
            ("/h/d", 31, "can't be told"),
            ("/no", 11, "can't be told"),
        ] {
            let why = is_on_top(&mounts, path, wanted).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
