//! The host: its processes, mounts, disks, pressure and software.

use crate::node::mount_holder::{HeldMount, MountHolder, Place};
use crate::node::pressure::{DaemonLimits, Stall};
use crate::node::{
    Bus, Component, Disk, Host, KernelKind, KernelLine, LeftoverLayer, Mount, Namespace,
    OciCommand, Pressure, Process, Role, Settings, State, Systemd, Thread, Threads, Version,
    Versions,
};
use crate::syntax::id::{ContainerId, PodUid};
use crate::syntax::json::json_object;
use std::time::Duration;

/// Mounts printed of a namespace at most; all are counted.
const MAX_MOUNTS: usize = 100;

json_object! {
    Host as it {
        /// The root directory that was read
        root: String,
        /// The kernel's release
        kernel: Option<String>,
        /// Versions reported by the programs or by Docker; null if not known
        versions: Versions,
        /// The kubelet's settings from its flags and file; null where neither sets one; null as a whole without
        /// exactly one kubelet
        kubelet_settings: Option<KubeletSettings<'_>> = it.kubelet_settings.as_ref().map(KubeletSettings),
        /// systemd's answer; null if it was not asked
        systemd: Option<Systemd>,
        /// Processes, kernel threads included
        processes_seen: usize = it.seen,
        /// Those that matter
        processes: Vec<Process>,
        /// File systems with a server behind them
        remote_mounts: &[Mount] = &it.remote,
        /// Mount namespaces that hold mounts of layers or containers
        mount_namespaces: Vec<Mounts<'_>> = it.namespaces.iter().map(|namespace| Mounts(it, namespace)).collect(),
        /// Leftover layers of containers that could not be removed, 64 at most
        layers_left: &[LeftoverLayer] = &it.remains,
        /// Pressure on the machine's resources
        pressure: Pressure,
        /// Disks that were active while watched, or hold the runtime's data; partitions count with their disk
        disks: Vec<Disk>,
        /// Kernel messages that matter, the last ones
        kernel_lines: Vec<KernelLine>,
    }
}

json_object! {
    Versions as it {
        /// Of systemd
        systemd: Option<&str> = it.of(Component::Systemd).map(Version::as_str),
        /// Of Docker's daemon
        dockerd: Option<&str> = it.of(Component::Dockerd).map(Version::as_str),
        /// Of containerd
        containerd: Option<&str> = it.of(Component::Containerd).map(Version::as_str),
        /// Of runc
        runc: Option<&str> = it.of(Component::Runc).map(Version::as_str),
        /// Of the kubelet
        kubelet: Option<&str> = it.of(Component::Kubelet).map(Version::as_str),
    }
}

/// As printed; a capture keeps the settings in their own form.
struct KubeletSettings<'a>(&'a Settings);

json_object! {
    KubeletSettings<'_> as it {
        /// Its configuration file, as its flags name it
        file: &Option<String> = &it.0.file,
        /// --runtime-request-timeout, runtimeRequestTimeout
        runtime_request_timeout_seconds: Option<f64> = it.0.runtime_request_timeout.map(seconds),
        /// --max-pods, maxPods
        max_pods: Option<u64> = it.0.max_pods,
        /// --maximum-dead-containers; -1 for any number
        maximum_dead_containers: Option<i64> = it.0.dead_containers,
        /// --maximum-dead-containers-per-container
        maximum_dead_containers_per_container: Option<i64> = it.0.dead_per_container,
        /// --minimum-container-ttl-duration
        minimum_container_ttl_seconds: Option<f64> = it.0.dead_minimum_age.map(seconds),
        /// --cgroup-driver, cgroupDriver
        cgroup_driver: &Option<String> = &it.0.cgroup_driver,
        /// The feature gate EventedPLEG
        evented_pleg: Option<bool> = it.0.evented_pleg,
        /// --container-runtime
        container_runtime: &Option<String> = &it.0.container_runtime,
        /// --container-runtime-endpoint, containerRuntimeEndpoint
        container_runtime_endpoint: &Option<String> = &it.0.runtime_endpoint,
        /// --root-dir
        root_dir: &Option<String> = &it.0.root_dir,
    }
}

json_object! {
    Systemd as it {
        /// How it answered over D-Bus when it was asked for its version
        outcome: &str = match it.bus {
            Bus::Answered(..) => "answered",
            Bus::Silent(_) => "timed_out",
            Bus::Failed(_) => "error",
        } => {"enum": ["answered", "timed_out", "error"]},
        /// How long it took, or the wait for it
        took_seconds: Option<f64> = match it.bus {
            Bus::Answered(took, _) | Bus::Silent(took) => Some(seconds(took)),
            Bus::Failed(_) => None,
        },
        /// The error, where that failed
        error: Option<&str> = match &it.bus {
            Bus::Failed(error) => Some(error),
            Bus::Answered(..) | Bus::Silent(_) => None,
        },
        /// The state of PID 1, as in ps
        state: Option<State>,
        /// The kernel function in which it sleeps
        wchan: Option<String>,
        /// Its CPU usage while it did not answer, in percent
        busy_percent: Option<f64> = it.busy => {"maximum": 100},
    }
}

json_object! {
    Process as it {
        /// Its PID or TID
        pid: u32,
        /// Its parent's PID
        ppid: u32,
        /// Its name, 15 bytes at most
        name: &str = &it.comm,
        /// Its role for the container runtime; other: listed for its uninterruptible sleep
        role: Role,
        /// The OCI runtime's command
        oci_command: Option<OciCommand> = match it.role {
            Role::OciRuntime(command) => Some(command),
            _ => None,
        },
        /// Its command line; null if it could not be read in time, or is a workload's
        command: Option<Vec<String>>,
        /// Its state, as in ps
        state: State,
        /// When it was started, in the kernel's ticks since boot
        start_ticks: u64,
        /// Its age
        age_seconds: Option<f64> = it.age.map(seconds),
        /// A shim's living children, adopted ones included; null for others, and if not all processes were seen
        children: Option<usize>,
        /// The kernel function in which it sleeps
        wchan: Option<String>,
        /// Its kernel stack, innermost function first; empty if it was not read
        stack: Vec<String>,
        /// How long it was seen in that one sleep; null if it was not watched, or woke up
        still_seconds: Option<f64> = it.still.map(seconds),
        /// The container that it works on or belongs to
        container: Option<ContainerId>,
        /// Its pod's UID, by its cgroup
        uid: Option<PodUid>,
        /// The PID of its tracer; null if that was not read
        tracer: Option<u32>,
        threads: Threads,
    }
}

json_object! {
    Threads as it {
        /// Threads read; 0 if none were
        seen: usize,
        /// … of these, stopped by a signal or a tracer
        stopped: usize,
        /// … of these, in uninterruptible sleep
        uninterruptible: usize,
        /// Those in uninterruptible sleep, or waiting for a file system
        waiting: Vec<Thread>,
    }
}

json_object! {
    Thread as it {
        /// Its PID or TID
        tid: u32,
        /// Its state, as in ps
        state: State,
        /// The kernel function in which it sleeps
        wchan: Option<String>,
        /// Its kernel stack, innermost function first; empty if it was not read
        stack: Vec<String>,
        /// How long it was seen in that one sleep; null if it was not watched, or woke up
        still_seconds: Option<f64> = it.still.map(seconds),
    }
}

json_object! {
    Mount as it {
        /// The kernel's major:minor number, or inode
        device: String,
        /// The mount point
        point: String,
        /// The file system's type
        fs_type: String,
        /// The source of the mount
        source: String,
        /// The pod whose volume it is
        uid: Option<PodUid>,
        /// The daemon in whose mount namespace it is; null for that of PID 1
        within_pid: Option<u32> = it.within,
    }
}

/// A mount namespace of the host.
struct Mounts<'a>(&'a Host, &'a Namespace);

json_object! {
    Mounts<'_> as it {
        /// The kernel's name for it
        id: &str = &it.1.id,
        /// Whether the machine's dockerd or containerd lives in it
        own: bool = it.1.own,
        /// Processes in it
        processes: usize = it.1.processes,
        /// The first of these processes
        keepers: &[MountHolder] = &it.1.keepers,
        /// Mounts of layers and containers in it
        held: usize = it.1.held.len(),
        /// … of these, those that are not in the runtime's own namespaces
        left: usize = it.0.left(it.1).count(),
        /// … and the first of those
        mounts_left: Vec<&HeldMount> = it.0.left(it.1).take(MAX_MOUNTS).collect(),
    }
}

json_object! {
    MountHolder as it {
        /// Its PID or TID
        pid: u32,
        /// Its name, 15 bytes at most
        name: &str = &it.comm,
        /// When it was started, in the kernel's ticks since boot
        start_ticks: u64,
        /// Its systemd unit, by its cgroup
        unit: Option<String>,
        /// Its container, by its cgroup
        container: Option<ContainerId>,
        /// Its pod's UID, by its cgroup
        uid: Option<PodUid>,
    }
}

json_object! {
    HeldMount as it {
        /// The mount point in that namespace
        point: String,
        /// The layer's name in the storage driver's folder
        layer: Option<&str> = match &it.place {
            Place::Layer(name) => Some(name),
            Place::Container(_) => None,
        },
        /// The container in whose directory it is
        container: Option<&ContainerId> = match &it.place {
            Place::Layer(_) => None,
            Place::Container(id) => Some(id),
        },
    }
}

json_object! {
    LeftoverLayer as it {
        /// The layer's folder, as the runtime names it
        folder: String,
        /// The names in it, 16 at most
        names: Vec<String>,
        /// Whether its removal began and did not finish
        half_removed: bool = it.is_half_removed(),
    }
}

json_object! {
    Pressure as it {
        /// CPU stalls (PSI)
        cpu: Option<Stall>,
        /// I/O stalls (PSI)
        io: Option<Stall>,
        /// Memory stalls (PSI)
        memory: Option<Stall>,
        /// The load average over a minute
        load: Option<f64>,
        /// Tasks on the machine
        tasks: Option<u64>,
        /// The task limit
        tasks_limit: Option<u64>,
        /// Total memory
        memory_total_bytes: Option<u64> = it.memory_total,
        /// Available memory
        memory_available_bytes: Option<u64> = it.memory_available,
        /// OOM kills since boot
        oom_kills: Option<u64>,
        daemons: Vec<DaemonLimits>,
    }
}

json_object! {
    Stall as it {
        /// … at least one task waited
        some_percent: f64 = it.some => {"minimum": null},
        /// … all runnable tasks waited
        full_percent: Option<f64> = it.full,
    }
}

json_object! {
    DaemonLimits as it {
        /// The daemon's PID
        pid: u32,
        /// Tasks in its cgroup
        tasks: Option<u64>,
        /// The task limit; null for none
        tasks_limit: Option<u64>,
        /// Open files
        files: Option<u64>,
        /// The limit of open files
        files_limit: Option<u64>,
    }
}

json_object! {
    Disk as it {
        /// The kernel's major:minor number, or inode
        device: String,
        /// Its name
        name: String,
        /// Utilisation: the share of the second watched in which a request was in flight
        busy_percent: f64 = it.busy => {"maximum": 100},
        /// Mean queue depth
        queue: f64,
        /// Reads, writes and flushes completed meanwhile
        finished: u64,
        // To tenths of a millisecond, unlike the kernel's ages.
        /// Their mean latency; null if there were none
        wait_seconds: Option<f64> = it.wait.map(|wait| wait.as_secs_f64()),
        /// Requests in flight at the end
        in_flight: u64,
        /// The folders of the runtime and the kubelet that it holds
        holds: Vec<String>,
        /// The mapped disk above it through which it holds them
        through: Option<String>,
    }
}

json_object! {
    KernelLine as it {
        kind: KernelKind,
        seconds_ago: Option<f64> = it.ago.map(seconds),
        text: String,
    }
}

/// To hundredths, as the kernel counts.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
