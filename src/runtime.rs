//! A container runtime's answers, as values: what was asked, whether and how fast it answered, what it said.
//!
//! `docker` asks, and `disk` reads what Docker wrote down where it does not answer; nothing here does. No answer in
//! time is itself an answer: it is what we look for.

pub mod calls;
pub mod disk;
pub mod docker;
pub mod name;
pub mod relist;
pub mod room;
pub mod stacks;
mod state;
pub mod stored;

pub use calls::Call;
pub use state::State;

use crate::{
    io::probe::{Outcome, Probe},
    node::mount_holder::Place,
    syntax::{
        id::{ContainerId, PodName, PodUid},
        time::Time,
    },
};
use stacks::Stacks;
use std::{collections::BTreeMap, time::Duration};
use stored::{Disk, Stored};

/// What a runtime said, or did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    /// `docker`.
    pub kind: &'static str,
    /// What was asked: `unix:///var/run/docker.sock`.
    pub endpoint: String,
    /// Whether there is no socket at all: Docker is not installed, or cleaned up after itself.
    pub socket_missing: bool,
    /// When it was asked.
    pub asked_at: Time,
    /// The deadline of each call.
    pub probe_timeout: Duration,
    /// The daemon's version.
    pub version: Option<String>,
    /// The versions of what it works with, by name as it tells them: `containerd`, `runc`.
    pub components: BTreeMap<String, String>,
    /// The kernel's release, as the daemon tells it.
    pub kernel: Option<String>,
    /// The API's version.
    pub api_version: Option<String>,
    /// `GET /_ping`
    pub ping: Probe,
    /// `GET /version`
    pub version_probe: Probe,
    /// `GET /info`
    pub info: Probe,
    /// Whether containers go on running while the daemon restarts (`LiveRestoreEnabled`), where info tells.
    pub live_restore: Option<bool>,
    /// The log driver of containers that name none (`LoggingDriver`), where info tells.
    pub log_driver: Option<String>,
    /// `GET /containers/json?all=1`
    pub list: Probe,
    /// Bytes of the list's answer.
    pub list_bytes: u64,
    /// All containers listed; where no list came, those inspected all the same, and those that Docker's files name.
    pub containers: Vec<Container>,
    /// Docker's files, if they were read: where it did not answer.
    pub disk: Option<Disk>,
    /// The daemon's own stacks while calls were pending; `None` if there was nothing to explain, or nothing came.
    pub stacks: Option<PendingStacks>,
    /// `GET /debug/pprof/goroutine?debug=2`; not probed if there was nothing to explain.
    pub stacks_probe: Probe,
}

/// A daemon's stacks, taken while calls of ours were pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingStacks {
    /// What they tell.
    pub stacks: Stacks,
    /// The inspects of ours that were pending then, and never answered.
    pub pending: Vec<ContainerId>,
}

impl Runtime {
    /// Returns the runtime of that kind that was to be asked there, then, and with that deadline for each call, before
    /// anything was.
    pub fn unasked(
        kind: &'static str,
        endpoint: &str,
        (asked_at, probe_timeout): (Time, Duration),
    ) -> Self {
        Self {
            kind,
            endpoint: endpoint.to_owned(),
            socket_missing: false,
            asked_at,
            probe_timeout,
            version: None,
            components: BTreeMap::new(),
            kernel: None,
            api_version: None,
            ping: Probe::NONE,
            version_probe: Probe::NONE,
            info: Probe::NONE,
            live_restore: None,
            log_driver: None,
            list: Probe::NONE,
            list_bytes: 0,
            containers: Vec::new(),
            disk: None,
            stacks: None,
            stacks_probe: Probe::NONE,
        }
    }

    /// Returns the container with this id, whole or cut short.
    pub fn find(&self, id: &ContainerId) -> Option<&Container> {
        self.containers
            .iter()
            .find(|container| container.id.matches(id))
    }

    /// Returns how many containers run, by inspect, else by the list.
    pub fn running(&self) -> usize {
        let runs = |container: &&Container| match &container.inspected {
            Some(inspected) => inspected.running,
            None => container.listed_state == State::Running,
        };
        self.containers.iter().filter(runs).count()
    }

    /// Returns the containers that the daemon told of, by its list or by an inspect.
    pub fn told(&self) -> impl Iterator<Item = &Container> {
        let told = |container: &&Container| !container.is_only_stored();
        self.containers.iter().filter(told)
    }

    /// Returns whether the daemon as a whole answers: pings, and lists or inspects something.
    pub fn answers(&self) -> bool {
        self.ping.outcome == Outcome::Answered
            && (self.list.outcome == Outcome::Answered
                || self
                    .containers
                    .iter()
                    .any(|c| c.probe.outcome == Outcome::Answered))
    }

    /// Returns the daemon's own calls with their names.
    pub fn own_calls(&self) -> [(Call, &Probe); 4] {
        [
            (Call::Ping, &self.ping),
            (Call::Version, &self.version_probe),
            (Call::Info, &self.info),
            (Call::List, &self.list),
        ]
    }
}

/// What a container is to the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContainerKind {
    /// A pod's sandbox.
    Sandbox,
    /// A pod's container.
    Container,
    /// Not the kubelet's.
    Other,
}

/// One container as listed and as inspected; the two may disagree.
#[derive(Clone, Debug, PartialEq)]
pub struct Container {
    /// Its id.
    pub id: ContainerId,
    /// Its name, without the leading slash; empty if it has none.
    pub name: String,
    /// What it is to the kubelet.
    pub kind: ContainerKind,
    /// Its pod, from labels, else from its name.
    pub pod: Option<PodName>,
    /// Its pod's UID.
    pub uid: Option<PodUid>,
    /// The sandbox it runs in.
    pub sandbox: Option<ContainerId>,
    /// Labels, for filters.
    pub labels: BTreeMap<String, String>,
    /// When it was created.
    pub created: Option<Time>,
    /// The list's state: `exited`, `removing`, or a word we do not know.
    pub listed_state: State,
    /// The list's status: `Up 6 minutes`.
    pub listed_status: String,
    /// What inspect said, if it answered.
    pub inspected: Option<Inspected>,
    /// How the inspect ended.
    pub probe: Probe,
    /// What Docker last wrote of it, where its files were read. It may be stale.
    pub disk: Option<Stored>,
}

impl Container {
    /// Returns whether it runs, by the list.
    pub fn is_listed_running(&self) -> bool {
        self.listed_state.is_live()
    }

    /// Returns whether its removal failed half-way, by what inspect says: it is dead, or it is being removed and
    /// the daemon noted an error. A removal that is just going on has none.
    pub fn is_dead(&self) -> bool {
        self.inspected.as_ref().is_some_and(|inspected| {
            inspected.state == State::Dead
                || (inspected.state == State::Removing && !inspected.error.is_empty())
        })
    }

    /// Returns whether nothing but Docker's files tells of it.
    pub fn is_only_stored(&self) -> bool {
        self.disk.is_some()
            && self.probe.outcome == Outcome::NotProbed
            && self.listed_state.is_none()
    }

    /// Returns the container of which only the id is known, not asked for yet.
    pub fn unlisted(id: ContainerId) -> Self {
        let name::Identity {
            kind,
            pod,
            uid,
            sandbox,
        } = name::Identity::NONE;
        Self {
            id,
            name: String::new(),
            kind,
            pod,
            uid,
            sandbox,
            labels: BTreeMap::new(),
            created: None,
            listed_state: State::default(),
            listed_status: String::new(),
            inspected: None,
            probe: Probe {
                outcome: Outcome::NotProbed,
                took: Duration::ZERO,
                error: None,
            },
            disk: None,
        }
    }
}

/// Where a container's output goes (`HostConfig.LogConfig`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDriver {
    /// `json-file`, `syslog`, …
    pub name: String,
    /// Whether what the driver does not take in time is dropped (`mode=non-blocking`); Docker's default is to wait.
    pub drops: bool,
}

/// What inspect said of a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspected {
    /// What it is doing.
    pub state: State,
    /// Whether its process runs (paused and restarting ones do).
    pub running: bool,
    /// The daemon's error of the last start or removal; empty if none.
    pub error: String,
    /// When it was started last; `None` for never (Docker's year 1).
    pub started: Option<Time>,
    /// When it ended last; `None` for never.
    pub finished: Option<Time>,
    /// Its exit code.
    pub exit_code: i64,
    /// Its process, as the daemon knows it; `None` if it has none.
    pub pid: Option<u32>,
    /// Its own layer, by its name in the storage driver's folder; empty where the driver does not tell.
    pub layers: Vec<Place>,
    /// Its own layer's folder, where the storage driver is overlay2.
    pub folder: Option<String>,
    /// Where its output goes; `None` where inspect does not tell.
    pub logs: Option<LogDriver>,
    /// Whether it was asked again once the host had been looked at, and said that the same process runs.
    pub again: bool,
}
