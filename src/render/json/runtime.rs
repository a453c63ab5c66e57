//! The runtime's answers, Docker's files and the daemon's stacks.

use super::{namespace, pod_name, seconds};
use crate::io::probe::{Outcome, Probe};
use crate::runtime;
use crate::runtime::list_size::{Growth, LIMIT, ListSize};
use crate::runtime::on_disk::{Disk, Liveness, OnDiskState};
use crate::runtime::stacks::{Call, Guard, Verb, Wait};
use crate::runtime::{Container, ContainerKind, PendingStacks, Runtime};
use crate::syntax::id::{ContainerId, PodUid};
use crate::syntax::json::json_object;
use crate::syntax::time::Time;

/// Pending calls printed at most; the rest is counted.
const MAX_CALLS: usize = 200;

json_object! {
    Container as it {
        id: ContainerId,
        /// Its name; empty if it has none
        name: String,
        /// Its kind
        kind: ContainerKind,
        /// Its pod's name
        pod: Option<&str> = pod_name(it.pod.as_ref()),
        /// Its pod's namespace
        namespace: Option<&str> = namespace(it.pod.as_ref()),
        /// Its pod's UID
        uid: Option<PodUid>,
        /// The state by the list, which may be stale; empty if it was not listed
        listed_state: &str = it.listed_state.as_str(),
        /// The state by its inspect; null if that did not answer
        inspected_state: Option<&str> = it.inspected.as_ref().map(|inspected| inspected.state.as_str()),
        /// The daemon's error of the last start or removal; empty if none
        error: &str = it.inspected.as_ref().map_or("", |inspected| &inspected.error),
        probe: Probe,
        /// What Docker last wrote of it to its disk, which may be stale; null if it answered, or its files were not
        /// read
        disk: Option<OnDiskState>,
    }
}

json_object! {
    Probe as it {
        /// How the call ended
        outcome: Outcome,
        /// How long it took, or the wait for it
        millis: f64 = (it.took.as_secs_f64() * 10_000.0).round() / 10.0,
        /// The daemon's or the system's error
        error: Option<String>,
    }
}

json_object! {
    Runtime as it {
        /// Which runtime
        kind: &str = it.kind.as_str() => {"enum": ["docker"]},
        /// Where it was asked
        endpoint: String,
        /// The daemon's version
        version: &Option<String> = &it.versions.daemon,
        /// The API's version
        api_version: &Option<String> = &it.versions.api,
        /// How many containers it lists
        containers: usize = it.told().count(),
        /// The size of its list of containers; null if it did not come, or is empty
        list: Option<ListSize> = it.list_size(),
        /// Docker's files, read where it does not answer; null if they were not
        disk: &Option<Disk> = &it.docker().disk,
        /// The daemon's own calls
        probes: OwnCalls<'_> = OwnCalls(it),
    }
}

struct OwnCalls<'a>(&'a Runtime);

json_object! {
    OwnCalls<'_> as it {
        info: &Probe = it.0.probe(runtime::Call::Info),
        list: &Probe = it.0.probe(runtime::Call::List),
        ping: &Probe = it.0.probe(runtime::Call::Ping),
        version: &Probe = it.0.probe(runtime::Call::Version),
    }
}

json_object! {
    ListSize as it {
        /// Its length as Docker sends it, as JSON; the kubelet's own two lists are shorter
        bytes: u64 => {"minimum": 1},
        /// The gRPC message limit of the kubelet
        limit_bytes: u64 = LIMIT => {"minimum": 1},
        /// Containers and sandboxes in it
        containers: usize => {"minimum": 1},
        /// Those that do not run
        stopped: usize,
        /// The mean size of an entry
        bytes_per_container: u64 = it.each => {"minimum": 1},
        /// The number of containers of that size at the limit
        containers_at_limit: u64 = it.full,
        /// Duration of the two lists of a relist
        relist_lists_seconds: f64 = (it.lists.as_secs_f64() * 1e4).round() / 1e4,
        /// How fast stopped containers accumulate; null where that cannot be measured
        growth: Option<Growth>,
    }
}

json_object! {
    Growth as it {
        /// How long each of the two windows is in which those that are left were counted
        window_seconds: f64 = seconds(it.window) => {"minimum": 1},
        /// Stopped containers made in the last window
        last: usize,
        /// Stopped containers made in the window before
        before: usize,
        /// When the list reaches the limit at this rate; null if it has, or never does
        full_in_seconds: Option<f64> = it.full_in.map(seconds),
        /// When the two lists take 3 minutes at this rate; null where they are too short to extrapolate
        late_in_seconds: Option<f64> = it.late_in.map(seconds),
    }
}

json_object! {
    Disk as it {
        /// Docker's data root
        root: String,
        /// Containers found in them
        containers: usize,
        /// Whether live-restore is on, by the daemon's command line or configuration file; null if that could not be
        /// read
        live_restore: Option<bool>,
    }
}

json_object! {
    OnDiskState as it {
        /// When it was written
        written: Option<Time>,
        /// The state then
        state: &str = it.state.state.as_str(),
        /// The daemon's error of the last start or removal by then; empty if none
        error: &str = &it.state.error,
        /// Its process then; null if none
        pid: Option<u32> => {"minimum": 1},
        /// What that process is now: gone also if its PID was reused; unknown if none should run, or it was not
        /// checked
        process: Liveness = it.life,
    }
}

json_object! {
    PendingStacks as it {
        /// Goroutines seen
        goroutines: u64 = it.stacks.goroutines,
        /// Whether they were read to the end
        whole: bool = it.stacks.whole,
        /// Ids of containers whose inspect was pending meanwhile and never answered
        pending: Vec<ContainerId>,
        /// Calls in progress that concern containers
        calls: Vec<&Call> = it.stacks.calls.iter().take(MAX_CALLS).collect(),
        /// Calls beyond those listed
        calls_left_out: u64 = it.stacks.calls_left_out + it.stacks.calls.len().saturating_sub(MAX_CALLS) as u64,
    }
}

json_object! {
    Call as it {
        /// Its goroutine's number
        goroutine: u64,
        /// The goroutine's state, as Go prints it
        state: String,
        /// What it does: start, stop, kill, exec, inspect, remove, log_copy, …; more may be added
        call: &Verb = &it.verb => {"enum": null, "type": "string"},
        /// What it waits for: lock, containerd, log_driver, graph_driver, plugin, network, file_system, other; more
        /// may be added
        waits_for: &Wait = &it.waits => {"enum": null, "type": "string"},
        /// Which call of containerd, which driver, which system call, what the lock guards
        detail: Option<&str> = match &it.waits {
            Wait::Containerd(detail) | Wait::LogDriver(detail) | Wait::GraphDriver(detail) => detail.as_deref(),
            Wait::FileSystem { call, .. } => call.as_deref(),
            Wait::Lock { guard: Guard::Container, .. } => Some("container"),
            Wait::Lock { guard: Guard::Execs, .. } => Some("execs"),
            Wait::Lock { guard: Guard::Other(function), .. } => Some(function),
            Wait::Plugin | Wait::Network | Wait::Other => None,
        },
        /// Minutes it has waited at least; 0 is unknown, as Go counts late
        minutes: u64,
        /// Whether it holds a container's lock
        holds_lock: bool = it.holds,
        /// The address of the lock that it waits for, good for comparing within these stacks
        lock: Option<String> = it.waits.lock().map(|address| format!("{address:#x}")),
    }
}
