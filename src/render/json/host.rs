//! What was seen of the host, for scripts.

mod namespace;
mod software;

use crate::{
    node::{
        Disk, Host, KernelKind, KernelLine, LeftoverLayer, Mount, Pressure, Process, Role, Thread,
        Threads,
        pressure::{DaemonLimits, Stall},
    },
    syntax::id::{ContainerId, PodUid},
};
use namespace::NamespaceV1;
use serde::Serialize;
use software::{SettingsV1, SystemdV1, VersionsV1};
use std::time::Duration;

#[derive(Serialize)]
pub(super) struct HostV1<'a> {
    root: &'a str,
    kernel: Option<&'a str>,
    versions: VersionsV1<'a>,
    kubelet_settings: Option<SettingsV1<'a>>,
    systemd: Option<SystemdV1<'a>>,
    processes_seen: usize,
    processes: Vec<ProcessV1<'a>>,
    remote_mounts: Vec<MountV1<'a>>,
    mount_namespaces: Vec<NamespaceV1<'a>>,
    layers_left: Vec<RemainsV1<'a>>,
    pressure: PressureV1,
    disks: Vec<DiskV1<'a>>,
    kernel_lines: Vec<KernelLineV1<'a>>,
}

#[derive(Serialize)]
struct PressureV1 {
    cpu: Option<StallV1>,
    io: Option<StallV1>,
    memory: Option<StallV1>,
    load: Option<f64>,
    tasks: Option<u64>,
    tasks_limit: Option<u64>,
    memory_total_bytes: Option<u64>,
    memory_available_bytes: Option<u64>,
    oom_kills: Option<u64>,
    daemons: Vec<DaemonLimitsV1>,
}

#[derive(Serialize)]
struct StallV1 {
    some_percent: f64,
    full_percent: Option<f64>,
}

#[derive(Serialize)]
struct DaemonLimitsV1 {
    pid: u32,
    tasks: Option<u64>,
    tasks_limit: Option<u64>,
    files: Option<u64>,
    files_limit: Option<u64>,
}

#[derive(Serialize)]
struct DiskV1<'a> {
    device: &'a str,
    name: &'a str,
    busy_percent: f64,
    queue: f64,
    finished: u64,
    wait_seconds: Option<f64>,
    in_flight: u64,
    holds: &'a [String],
    through: Option<&'a str>,
}

#[derive(Serialize)]
struct KernelLineV1<'a> {
    kind: &'static str,
    seconds_ago: Option<f64>,
    text: &'a str,
}

#[derive(Serialize)]
struct ProcessV1<'a> {
    pid: u32,
    ppid: u32,
    name: &'a str,
    role: &'static str,
    oci_command: Option<&'static str>,
    command: Option<&'a [String]>,
    state: &'static str,
    start_ticks: u64,
    age_seconds: Option<f64>,
    children: Option<usize>,
    wchan: Option<&'a str>,
    stack: &'a [String],
    still_seconds: Option<f64>,
    container: Option<&'a str>,
    uid: Option<&'a str>,
    tracer: Option<u32>,
    threads: ThreadsV1<'a>,
}

#[derive(Serialize)]
struct ThreadsV1<'a> {
    seen: usize,
    stopped: usize,
    uninterruptible: usize,
    waiting: Vec<ThreadV1<'a>>,
}

#[derive(Serialize)]
struct ThreadV1<'a> {
    tid: u32,
    state: &'static str,
    wchan: Option<&'a str>,
    stack: &'a [String],
    still_seconds: Option<f64>,
}

#[derive(Serialize)]
struct RemainsV1<'a> {
    folder: &'a str,
    names: &'a [String],
    half_removed: bool,
}

#[derive(Serialize)]
struct MountV1<'a> {
    device: &'a str,
    point: &'a str,
    fs_type: &'a str,
    source: &'a str,
    uid: Option<&'a str>,
    within_pid: Option<u32>,
}

impl<'a> From<&'a Host> for HostV1<'a> {
    fn from(host: &'a Host) -> Self {
        Self {
            root: &host.root,
            kernel: host.kernel.as_deref(),
            versions: VersionsV1::from(&host.versions),
            kubelet_settings: host.kubelet_settings.as_ref().map(SettingsV1::from),
            systemd: host.systemd.as_ref().map(SystemdV1::from),
            processes_seen: host.seen,
            processes: host.processes.iter().map(ProcessV1::from).collect(),
            remote_mounts: host.remote.iter().map(MountV1::from).collect(),
            mount_namespaces: host
                .namespaces
                .iter()
                .map(|namespace| namespace::of(host, namespace))
                .collect(),
            layers_left: host.remains.iter().map(RemainsV1::from).collect(),
            pressure: PressureV1::from(&host.pressure),
            disks: host.disks.iter().map(DiskV1::from).collect(),
            kernel_lines: host.kernel_lines.iter().map(KernelLineV1::from).collect(),
        }
    }
}

impl<'a> From<&'a LeftoverLayer> for RemainsV1<'a> {
    fn from(remains: &'a LeftoverLayer) -> Self {
        Self {
            folder: &remains.folder,
            names: &remains.names,
            half_removed: remains.is_half_removed(),
        }
    }
}

impl From<&Pressure> for PressureV1 {
    fn from(pressure: &Pressure) -> Self {
        let stall = |stall: Option<Stall>| {
            stall.map(|stall| StallV1 {
                some_percent: stall.some,
                full_percent: stall.full,
            })
        };
        Self {
            cpu: stall(pressure.cpu),
            io: stall(pressure.io),
            memory: stall(pressure.memory),
            load: pressure.load,
            tasks: pressure.tasks,
            tasks_limit: pressure.tasks_limit,
            memory_total_bytes: pressure.memory_total,
            memory_available_bytes: pressure.memory_available,
            oom_kills: pressure.oom_kills,
            daemons: pressure.daemons.iter().map(DaemonLimitsV1::from).collect(),
        }
    }
}

impl From<&DaemonLimits> for DaemonLimitsV1 {
    fn from(limits: &DaemonLimits) -> Self {
        Self {
            pid: limits.pid,
            tasks: limits.tasks,
            tasks_limit: limits.tasks_limit,
            files: limits.files,
            files_limit: limits.files_limit,
        }
    }
}

impl<'a> From<&'a Disk> for DiskV1<'a> {
    fn from(disk: &'a Disk) -> Self {
        Self {
            device: &disk.device,
            name: &disk.name,
            busy_percent: disk.busy,
            queue: disk.queue,
            finished: disk.finished,
            // To tenths of a millisecond, unlike the kernel's ages.
            wait_seconds: disk.wait.map(|wait| wait.as_secs_f64()),
            in_flight: disk.in_flight,
            holds: &disk.holds,
            through: disk.through.as_deref(),
        }
    }
}

impl<'a> From<&'a KernelLine> for KernelLineV1<'a> {
    fn from(line: &'a KernelLine) -> Self {
        Self {
            kind: match line.kind {
                KernelKind::HungTask => "hung_task",
                KernelKind::SilentServer => "silent_server",
                KernelKind::OutOfMemory => "out_of_memory",
                KernelKind::ContainerLimit => "container_limit",
                KernelKind::NetDevice => "net_device",
                KernelKind::DiskError => "disk_error",
            },
            seconds_ago: line.ago.map(seconds),
            text: &line.text,
        }
    }
}

impl<'a> From<&'a Process> for ProcessV1<'a> {
    fn from(process: &'a Process) -> Self {
        let (role, oci_command) = match process.role {
            Role::Dockerd => ("dockerd", None),
            Role::Containerd => ("containerd", None),
            Role::Kubelet => ("kubelet", None),
            Role::Shim => ("shim", None),
            Role::OciRuntime(command) => ("oci_runtime", Some(command.word())),
            Role::CniPlugin => ("cni_plugin", None),
            Role::Iptables => ("iptables", None),
            Role::Other => ("other", None),
        };
        Self {
            pid: process.pid,
            ppid: process.ppid,
            name: &process.comm,
            role,
            oci_command,
            command: process.command.as_deref(),
            state: process.state.letter(),
            start_ticks: process.start_ticks,
            age_seconds: process.age.map(seconds),
            children: process.children,
            wchan: process.wchan.as_deref(),
            stack: &process.stack,
            still_seconds: process.still.map(seconds),
            container: process.container.as_ref().map(ContainerId::as_str),
            uid: process.uid.as_ref().map(PodUid::as_str),
            tracer: process.tracer,
            threads: ThreadsV1::from(&process.threads),
        }
    }
}

impl<'a> From<&'a Threads> for ThreadsV1<'a> {
    fn from(threads: &'a Threads) -> Self {
        Self {
            seen: threads.seen,
            stopped: threads.stopped,
            uninterruptible: threads.uninterruptible,
            waiting: threads.waiting.iter().map(ThreadV1::from).collect(),
        }
    }
}

impl<'a> From<&'a Thread> for ThreadV1<'a> {
    fn from(thread: &'a Thread) -> Self {
        Self {
            tid: thread.tid,
            state: thread.state.letter(),
            wchan: thread.wchan.as_deref(),
            stack: &thread.stack,
            still_seconds: thread.still.map(seconds),
        }
    }
}

impl<'a> From<&'a Mount> for MountV1<'a> {
    fn from(mount: &'a Mount) -> Self {
        Self {
            device: &mount.device,
            point: &mount.point,
            fs_type: &mount.fs_type,
            source: &mount.source,
            uid: mount.uid.as_ref().map(PodUid::as_str),
            within_pid: mount.within,
        }
    }
}

/// To hundredths, as the kernel counts.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
