//! Shims against what Docker says of their containers: where the two do not fit, the runtime has lost track.
//!
//! A shim is the parent of its container's process, and adopts what that one leaves behind; without a child it keeps
//! nothing. Only runc's shims are judged: the child of a virtual machine's or a sandbox's shim may be anybody's.

use super::Evidence;
use crate::node::{CONTAINERD_SOCKET, Host, Process, Role, State, socket};
use crate::runtime;
use crate::runtime::{Container, Inspected, Runtime};
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::time::Duration;

/// A start and an end take seconds, and a busy node some more; what has been so for longer stays so.
pub const SETTLED: Duration = Duration::from_secs(60);
/// The namespace of Docker's containers in containerd, unless told otherwise.
const MOBY: &str = "moby";

/// How a container and its shim do not fit.
#[derive(Clone, Copy, Debug)]
pub enum Odds<'a> {
    /// Docker says that it runs; its shim has no living child, and its process is not there.
    Childless(&'a Container, &'a Process),
    /// Docker says that it runs; there is no shim for it.
    Shimless(&'a Container),
    /// Docker says that it ended long ago; its shim is there.
    Finished(&'a Container, &'a Process),
    /// Docker does not list such a container; a shim of its keeps it.
    Unknown(&'a Process),
}

/// Returns what does not fit, if all of the machine's processes were seen and they are those of the Docker that was
/// asked.
pub fn at_odds(evidence: &Evidence) -> Vec<Odds<'_>> {
    let (Some(host), Some(runtime)) = (&evidence.host, &evidence.runtime) else {
        return Vec::new();
    };
    let Some(dockerd) = host.dockerd(&runtime.endpoint).filter(|_| host.whole) else {
        return Vec::new();
    };
    let mut found: Vec<_> = runtime
        .told()
        .filter_map(|container| with_container(host, runtime, container))
        .collect();
    if evidence.listed().is_some() {
        let own = shims(host).filter(|shim| is_of(host, dockerd, shim) && is_settled(shim));
        let unknown = own.filter(|shim| {
            let id = shim.container.as_ref();
            id.is_some_and(|id| runtime.find(id).is_none())
        });
        found.extend(unknown.map(Odds::Unknown));
    }
    found
}

/// Returns whether each container that Docker calls running was seen with its shim and its process, and each shim of
/// Docker's with a container that runs. Where one is just made or just ends, or was not inspected, that is not known.
pub fn all_fit(evidence: &Evidence) -> bool {
    let (Some(host), Some(runtime)) = (&evidence.host, evidence.listed()) else {
        return false;
    };
    let Some(dockerd) = host.dockerd(&runtime.endpoint).filter(|_| host.whole) else {
        return false;
    };
    let is_its = |shim: &Process, container: &Container| {
        let id = shim.container.as_ref();
        id.is_some_and(|id| id.matches(&container.id))
    };
    let runs = |container: &Container| {
        let inspected = container.inspected.as_ref();
        inspected
            .is_some_and(|it| matches!(it.state, runtime::State::Running | runtime::State::Paused))
    };
    let fits = |container: &Container| {
        let inspected = container.inspected.as_ref();
        let pid = inspected.and_then(|it| it.pid);
        let lives = pid.is_some_and(|pid| host.living.contains(&pid));
        let kept = shims(host).any(|shim| is_its(shim, container));
        inspected.is_some() && (!runs(container) || (lives && kept))
    };
    let own = || shims(host).filter(|shim| is_of(host, dockerd, shim));
    let serves = |shim: &Process| runtime.told().any(|it| is_its(shim, it) && runs(it));
    dockerd.command.is_some() && runtime.told().all(fits) && own().all(serves)
}

impl<'a> Odds<'a> {
    /// Returns the shim whose container Docker does not list, by its number.
    pub fn unlisted(&self) -> Option<u32> {
        match self {
            Self::Unknown(shim) => Some(shim.pid),
            Self::Childless(..) | Self::Shimless(_) | Self::Finished(..) => None,
        }
    }

    /// Returns the container that Docker says is running.
    pub fn said_to_run(&self) -> Option<&'a Container> {
        match self {
            Self::Childless(container, _) | Self::Shimless(container) => Some(container),
            Self::Finished(..) | Self::Unknown(_) => None,
        }
    }
}

fn with_container<'a>(
    host: &'a Host,
    runtime: &Runtime,
    container: &'a Container,
) -> Option<Odds<'a>> {
    let inspected = container.inspected.as_ref()?;
    let mut own = shims(host).filter(|shim| {
        let id = shim.container.as_ref();
        id.is_some_and(|id| id.matches(&container.id))
    });
    let shim = own.next();
    // Two for one: one of them is about to end.
    if own.next().is_some() {
        return None;
    }
    let long_ago = |time: Option<Time>| {
        let settled = TimeDelta::from_std(SETTLED).unwrap_or(TimeDelta::MAX);
        time.is_some_and(|time| runtime.asked_at - time >= settled)
    };
    match (&inspected.state, shim) {
        // One that restarts has no process between two.
        (runtime::State::Running | runtime::State::Paused, shim) => {
            let lives = host.living.contains(&inspected.pid?);
            match shim {
                Some(shim) if lives || shim.children != Some(0) || !is_runcs(shim) => None,
                Some(shim) => is_settled(shim).then_some(Odds::Childless(container, shim)),
                // One whose words are not known may be its.
                None if shims(host).any(|shim| shim.container.is_none()) => None,
                None => long_ago(inspected.started).then_some(Odds::Shimless(container)),
            }
        }
        (runtime::State::Exited | runtime::State::Dead, Some(shim)) => {
            let settled = is_settled(shim) && long_ago(inspected.finished);
            settled.then_some(Odds::Finished(container, shim))
        }
        _ => None,
    }
}

/// Returns whether what was said again is that the same process runs.
pub fn is_same(before: &Inspected, again: &Inspected) -> bool {
    (&before.state, before.pid, before.started) == (&again.state, again.pid, again.started)
}

fn shims(host: &Host) -> impl Iterator<Item = &Process> {
    let lives = |process: &&Process| process.role == Role::Shim && process.state != State::Dead;
    host.processes.iter().filter(lives)
}

fn is_settled(shim: &Process) -> bool {
    shim.age.is_some_and(|age| age >= SETTLED)
}

/// Returns whether that is a shim whose child is the container's process.
fn is_runcs(shim: &Process) -> bool {
    let program = shim.program();
    [
        "containerd-shim",
        "docker-containerd-shim",
        "docker-containerd-shim-current",
    ]
    .contains(&program)
        || program.starts_with("containerd-shim-runc-")
}

/// Returns whether a shim works for that dockerd: it answers to the same containerd, in the same namespace.
fn is_of(host: &Host, dockerd: &Process, shim: &Process) -> bool {
    if dockerd.command.is_none() {
        return false;
    }
    let namespace = dockerd.option(&["--containerd-namespace"]);
    let address = shim.option(&["-address", "--address"]);
    shim.option(&["-namespace", "--namespace"]) == Some(namespace.unwrap_or(MOBY))
        && address.is_some_and(|address| socket(address) == containerd_address(host, dockerd))
}

/// Returns where the containerd listens that this dockerd works with. One that dockerd starts by itself listens beside
/// its file of settings (moby libcontainerd/supervisor).
fn containerd_address(host: &Host, dockerd: &Process) -> String {
    let child =
        |process: &&Process| process.role == Role::Containerd && process.ppid == dockerd.pid;
    let beside = || {
        let containerd = host.processes.iter().find(child)?;
        let (folder, _) = containerd.option(&["--config", "-c"])?.rsplit_once('/')?;
        Some(format!("{}/containerd.sock", socket(folder)))
    };
    match dockerd.option(&["--containerd"]) {
        Some(told) => socket(told).to_owned(),
        None => beside().unwrap_or_else(|| CONTAINERD_SOCKET.to_owned()),
    }
}

/// How to reach the containerd that a shim answers to, for commands: its address and its namespace.
pub fn containerd(shim: &Process) -> Option<(&str, &str)> {
    let address = shim.option(&["-address", "--address"])?;
    let namespace = shim.option(&["-namespace", "--namespace"])?;
    Some((address, namespace))
}
