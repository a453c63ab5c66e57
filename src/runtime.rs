//! A container runtime's answers, as values: what was asked, whether and how fast it answered, what it said.
//!
//! `docker` asks, and `disk` reads what Docker wrote down where it does not answer; nothing here does. No answer in
//! time is itself an answer: it is what we look for.

pub mod calls;
pub mod disk;
pub mod docker;
pub mod list_size;
pub mod name;
pub mod on_disk;
pub mod relist;
pub mod stacks;
mod state;

pub use calls::Call;
pub use state::State;

use crate::io::probe::{Outcome, Probe};
use crate::node::mount_holder::Place;
use crate::syntax::id::{ContainerId, PodName, PodUid};
use crate::syntax::time::Time;
use on_disk::{Disk, OnDiskState};
use stacks::Stacks;
use std::{collections::BTreeMap, fmt, time::Duration};

/// Which runtime it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    Docker,
    Containerd,
    CriO,
}

impl RuntimeKind {
    /// Its word for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Containerd => "containerd",
            Self::CriO => "cri-o",
        }
    }
}

impl fmt::Display for RuntimeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Docker => "Docker",
            Self::Containerd => "containerd",
            Self::CriO => "CRI-O",
        })
    }
}

/// What a runtime said, or did not.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    pub kind: RuntimeKind,
    /// What was asked: `unix:///var/run/docker.sock`.
    pub endpoint: String,
    /// Whether there is no socket at all: the runtime is not installed, or cleaned up after itself.
    pub socket_missing: bool,
    /// When it was asked.
    pub asked_at: Time,
    /// The deadline of each call.
    pub probe_timeout: Duration,
    pub versions: Versions,
    /// The daemon's own calls, each once.
    pub calls: Vec<(Call, Probe)>,
    /// How large the answers of its lists were.
    pub lists: Vec<ListAnswer>,
    /// All containers listed; where no list came, those inspected all the same, and those that Docker's files name.
    pub containers: Vec<Container>,
    /// What one kind of runtime alone has.
    pub own: Own,
}

/// The versions that a runtime tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Versions {
    /// The daemon's.
    pub daemon: Option<String>,
    /// The API's.
    pub api: Option<String>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Those of what it works with, by the daemon's names: `containerd`, `runc`.
    pub components: BTreeMap<String, String>,
}

/// The length of a list's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListAnswer {
    pub call: Call,
    pub bytes: u64,
    pub encoding: Encoding,
    /// Most bytes that its reader takes.
    pub limit: Option<u64>,
}

/// How an answer is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Protobuf,
}

/// What one kind of runtime alone has.
#[derive(Clone, Debug, PartialEq)]
pub enum Own {
    Docker(DockerOnly),
}

/// What Docker alone has.
#[derive(Clone, Debug, PartialEq)]
pub struct DockerOnly {
    /// Whether containers go on running while the daemon restarts (`LiveRestoreEnabled`), where info tells.
    pub live_restore: Option<bool>,
    /// The log driver of containers that name none (`LoggingDriver`), where info tells.
    pub log_driver: Option<String>,
    /// Docker's files, if they were read: where it did not answer.
    pub disk: Option<Disk>,
    /// The daemon's own stacks while calls were pending; `None` if there was nothing to explain, or nothing came.
    pub stacks: Option<PendingStacks>,
    /// `GET /debug/pprof/goroutine?debug=2`; not probed if there was nothing to explain.
    pub stacks_probe: Probe,
}

impl Default for DockerOnly {
    fn default() -> Self {
        Self {
            live_restore: None,
            log_driver: None,
            disk: None,
            stacks: None,
            stacks_probe: Probe::NONE,
        }
    }
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
    /// The runtime that is asked there, then, and with that deadline for each call, before it is.
    pub fn new(kind: RuntimeKind, endpoint: &str, asked_at: Time, probe_timeout: Duration) -> Self {
        Self {
            kind,
            endpoint: endpoint.to_owned(),
            socket_missing: false,
            asked_at,
            probe_timeout,
            versions: Versions::default(),
            calls: Call::OWN.map(|call| (call, Probe::NONE)).to_vec(),
            lists: Vec::new(),
            containers: Vec::new(),
            own: Own::Docker(DockerOnly::default()),
        }
    }

    /// How one of the daemon's own calls ended.
    pub fn probe(&self, call: Call) -> &Probe {
        let found = self.calls.iter().find(|(made, _)| *made == call);
        found.map_or(&Probe::NONE, |(_, probe)| probe)
    }

    /// Bytes of the list's answer; 0 where none came.
    pub fn list_bytes(&self) -> u64 {
        self.lists.iter().map(|list| list.bytes).sum()
    }

    /// What Docker alone has.
    pub fn docker(&self) -> &DockerOnly {
        let Own::Docker(docker) = &self.own;
        docker
    }

    /// What Docker alone has, to be completed.
    pub fn docker_mut(&mut self) -> &mut DockerOnly {
        let Own::Docker(docker) = &mut self.own;
        docker
    }

    #[cfg(test)]
    pub(crate) fn probe_mut(&mut self, call: Call) -> &mut Probe {
        let at = self.calls.iter().position(|(made, _)| *made == call);
        &mut self.calls[at.unwrap()].1
    }

    /// With each of the daemon's own calls ended so.
    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_own_calls(mut self, probe: &Probe) -> Self {
        self.calls = Call::OWN.map(|call| (call, probe.clone())).to_vec();
        self
    }

    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_list_bytes(mut self, bytes: u64) -> Self {
        self.lists = vec![ListAnswer {
            call: Call::List,
            bytes,
            encoding: Encoding::Json,
            limit: None,
        }];
        self
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
        self.probe(Call::Ping).outcome == Outcome::Answered
            && (self.probe(Call::List).outcome == Outcome::Answered
                || self
                    .containers
                    .iter()
                    .any(|c| c.probe.outcome == Outcome::Answered))
    }

    /// The daemon's own calls.
    pub fn own_calls(&self) -> impl Iterator<Item = (Call, &Probe)> {
        self.calls.iter().map(|(call, probe)| (*call, probe))
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
    pub disk: Option<OnDiskState>,
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
            probe: Probe::NONE,
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
