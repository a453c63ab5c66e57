//! Detaches one leaked mount in the mount namespace that keeps it, as `umount -l` does there.
//!
//! To enter another mount namespace a process must have but one thread: a child of our own does it, so that neither
//! `nsenter` nor `umount` need be there. If it hangs, it is abandoned.

use super::command::{CommandResult, run};
use super::executor::{Executor, Intent};
use super::pidfd::ProcessHandle;
use crate::finding::outcome::{Outcome, Status};
use crate::io::child::OWN_PROGRAM;
use crate::node::mount;
use crate::node::mount::MountPoint;
use crate::node::observe::process;
use crate::node::observe::process::Proc;
use crate::syntax::duration::spoken as span;
use anyhow::{Context as _, bail};
use rustix::{
    mount::{UnmountFlags, unmount},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};
use std::{os::fd::AsFd as _, path::Path, process::Command, time::Duration};

pub const SUBCOMMAND: &str = "detach-mount";
/// How long the child may take. Detaching does not block, but the path to the mount may.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct MountTarget<'a> {
    pub(super) path: &'a str,
    pub(super) mount: u64,
    pub(super) namespace: u64,
    pub(super) pid: u32,
    pub(super) start_ticks: u64,
}

pub(super) fn detach(
    executor: &Executor<'_>,
    target: &MountTarget<'_>,
    intent: Intent<'_>,
) -> Result<Outcome, Outcome> {
    let MountTarget {
        path,
        mount,
        namespace,
        pid,
        ..
    } = *target;
    verify(target)
        .map_err(|why| Outcome::because(Status::Changed, format!("nothing was detached: {why}")))?;
    executor.begin(intent, "interrupted before it was detached")?;
    let doing = executor.doing(format!(
        "{path} mounted in namespace {namespace}, as mount {mount}"
    ));
    let mut command = Command::new(OWN_PROGRAM);
    command
        .arg(SUBCOMMAND)
        .args([pid.into(), namespace, mount].map(|number: u64| number.to_string()))
        .arg(path)
        .env_clear();
    let result = run(command, TIMEOUT);
    let left = process::mounts(pid).map(|mounts| mounts.iter().any(|left| left.id == mount));
    Ok(match (result, left) {
        (CommandResult::Well(_), Ok(false)) => doing
            .after(format!("{path} no longer mounted there"))
            .proved(format!("mount {mount} is not among those of PID {pid}")),
        (CommandResult::Well(_), Ok(true)) => doing.with(
            Status::Unproven,
            format!("it was detached, but PID {pid} still shows it"),
        ),
        (CommandResult::Well(_), Err(error)) => doing.with(
            Status::Unproven,
            format!("cannot read the mounts of PID {pid}: {error}"),
        ),
        (CommandResult::Failed(words), _) => doing.with(Status::Failed, words),
        (CommandResult::Late, _) => doing.with(
            Status::Unproven,
            format!("timed out after {}; it may still happen", span(TIMEOUT)),
        ),
    })
}

/// An error is why the mount is not what was seen before.
fn verify(target: &MountTarget<'_>) -> Result<(), String> {
    let (pid, path) = (target.pid, target.path);
    if !path.starts_with('/') || path.trim_matches('/').is_empty() {
        return Err(format!("{path:?} is not a mount that may be detached"));
    }
    ProcessHandle::new(pid, target.start_ticks)?;
    let (_, number) = process::mount_namespace(pid)
        .map_err(|error| format!("the mount namespace of PID {pid}: {error}"))?;
    if number != target.namespace {
        return Err(format!("PID {pid} is in another mount namespace now"));
    }
    let mounts =
        process::mounts(pid).map_err(|error| format!("the mounts of PID {pid}: {error}"))?;
    verify_on_top(&mounts, path, target.mount)
}

/// An error is why `path` does not lead to that mount: detaching goes by the path.
fn verify_on_top(mounts: &[MountPoint], path: &str, wanted: u64) -> Result<(), String> {
    let is_there = mounts.iter().any(|it| it.id == wanted);
    match mount::top(mounts, path) {
        Some(top) if top == wanted => Ok(()),
        _ if !is_there => Err(format!("{path} is not mounted there any more")),
        Some(top) => Err(format!("another mount ({top}) covers it at {path}")),
        None => Err(format!("which mount {path} leads to is ambiguous")),
    }
}

/// The child's part: enters the mount namespace of process `pid`, if it is still that of the number `namespace`, and
/// detaches the mount of the number `mount` there, if it is still the one that `path` leads to.
pub fn enter_and_detach(pid: u32, namespace: u64, mount: u64, path: &Path) -> anyhow::Result<()> {
    let (file, number) = process::mount_namespace(pid)
        .with_context(|| format!("the mount namespace of PID {pid}"))?;
    // From here on the open file names the namespace, whatever becomes of the process.
    if number != namespace {
        bail!("PID {pid} is in another mount namespace now");
    }
    let proc = Proc::open().context("cannot open /proc")?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Mount))
        .context("cannot enter its mount namespace")?;
    // From the namespace's own root, which need not be the one that the process sees its paths from.
    let mounts = proc.own_mounts().context("cannot read its mounts")?;
    let text = path.to_str().context("its path is not UTF-8")?;
    if let Err(why) = verify_on_top(&mounts, text, mount) {
        bail!("nothing was detached: {why}");
    }
    unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)
        .with_context(|| format!("cannot detach {}", path.display()))
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
        let here = |path| MountTarget {
            path,
            mount: proc,
            namespace,
            pid,
            start_ticks,
        };
        assert_eq!(verify(&here("/proc")), Ok(()));
        for (place, words) in [
            (here("/"), "not a mount that may be detached"),
            (here("proc"), "not a mount that may be detached"),
            (here("/no/such/mount"), "ambiguous"),
            (
                MountTarget {
                    mount: u64::MAX,
                    ..here("/proc")
                },
                "not mounted there",
            ),
            (
                MountTarget {
                    start_ticks: start_ticks + 1,
                    ..here("/proc")
                },
                "reused by a newer process",
            ),
            (
                MountTarget {
                    namespace: namespace + 1,
                    ..here("/proc")
                },
                "another mount namespace",
            ),
        ] {
            let why = verify(&place).unwrap_err();
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
        assert_eq!(verify_on_top(&mounts, "/d", 11), Ok(()));
        for (path, wanted, words) in [
            ("/d", 10, "another mount (11) covers it at /d"),
            ("/d", 12, "not mounted there any more"),
            ("/h/d", 20, "ambiguous"),
            ("/h/d", 31, "ambiguous"),
            ("/no", 11, "ambiguous"),
        ] {
            let why = verify_on_top(&mounts, path, wanted).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
    }
}
