//! Detaches one leaked mount in the mount namespace that keeps it, as `umount -l` does there.
//!
//! To enter another mount namespace a process must have but one thread: a child of our own does it, so that neither
//! `nsenter` nor `umount` need be there. If it hangs, it is abandoned.

use super::{
    child::{Ran, run},
    deed::{Hands, Intent},
    pinned::Pinned,
};
use crate::{
    child::OWN_PROGRAM,
    duration::spoken as span,
    fix::{Ending, Fate},
    host::one,
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

/// Which mount, and where.
pub(super) struct Place<'a> {
    /// Where it is mounted.
    pub(super) path: &'a str,
    /// The number of the namespace.
    pub(super) namespace: u64,
    /// A process in it.
    pub(super) pid: u32,
    /// When that was started.
    pub(super) start_ticks: u64,
}

/// Detaches the mount, if it is still there.
pub(super) fn detach(hands: &Hands<'_>, place: &Place<'_>, intent: Intent<'_>) -> Ending {
    let Place {
        path,
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
        .args([&pid.to_string(), &namespace.to_string()])
        .arg(path)
        .env_clear();
    let ran = run(&mut command, PATIENCE);
    let ending = Ending {
        before: Some(format!("{path} mounted in namespace {namespace}")),
        at: Some(at),
        ..Ending::not_done(Fate::Failed, None)
    };
    let left = one::mounts(pid).map(|mounts| mounts.iter().any(|mount| mount.point == path));
    match (ran, left) {
        (Ran::Well(_), Ok(false)) => Ending {
            fate: Fate::Done,
            after: Some(format!("{path} not mounted there any more")),
            proof: Some(format!(
                "it is not among the mounts of process {pid} any more"
            )),
            ..ending
        },
        (Ran::Well(_), Ok(true)) => Ending {
            fate: Fate::Unproven,
            reason: Some(
                "one mount was detached, and another is below it at the same place".to_owned(),
            ),
            ..ending
        },
        (Ran::Well(_), Err(error)) => Ending {
            fate: Fate::Unproven,
            reason: Some(format!(
                "the mounts of process {pid} can't be read: {error}"
            )),
            ..ending
        },
        (Ran::Failed(words), _) => Ending {
            reason: Some(words),
            ..ending
        },
        (Ran::Late, _) => Ending {
            fate: Fate::Unproven,
            reason: Some(format!(
                "not done in {}; it may still happen",
                span(PATIENCE)
            )),
            ..ending
        },
    }
}

/// Returns in words why the mount is not what was seen any more, if so.
fn is_there(place: &Place<'_>) -> Result<(), String> {
    let pid = place.pid;
    if !place.path.starts_with('/') || place.path.trim_matches('/').is_empty() {
        return Err(format!(
            "{:?} is no place to detach anything from",
            place.path
        ));
    }
    Pinned::new(pid, place.start_ticks)?;
    let (_, number) = one::mount_namespace(pid)
        .map_err(|error| format!("the mount namespace of process {pid}: {error}"))?;
    if number != place.namespace {
        return Err(format!("process {pid} sits in another mount namespace now"));
    }
    let mounts =
        one::mounts(pid).map_err(|error| format!("the mounts of process {pid}: {error}"))?;
    match mounts.iter().any(|mount| mount.point == place.path) {
        true => Ok(()),
        false => Err(format!("{} is not mounted there any more", place.path)),
    }
}

/// The child's part: enters the mount namespace of process `pid`, if it is still that of the number `namespace`, and
/// detaches `path` there.
///
/// # Errors
/// Any of that fails.
pub fn enter_and_detach(pid: u32, namespace: u64, path: &Path) -> anyhow::Result<()> {
    let (file, number) = one::mount_namespace(pid)
        .with_context(|| format!("the mount namespace of process {pid}"))?;
    // From here on the open file names the namespace, whatever becomes of the process.
    if number != namespace {
        bail!("process {pid} sits in another mount namespace now");
    }
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Mount))
        .context("its mount namespace can't be entered")?;
    unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        .with_context(|| format!("{} can't be detached", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_is_not_what_was_seen_is_left_alone() {
        let pid = std::process::id();
        let start_ticks = one::stat(pid).unwrap().start_ticks;
        let (_, namespace) = one::mount_namespace(pid).unwrap();
        let here = |path| Place {
            path,
            namespace,
            pid,
            start_ticks,
        };
        assert_eq!(is_there(&here("/proc")), Ok(()));
        for (place, words) in [
            (here("/"), "no place"),
            (here("proc"), "no place"),
            (here("/no/such/mount"), "not mounted there"),
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
}
