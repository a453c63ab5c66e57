//! What was seen of the host, for scripts.

use crate::{
    id::{ContainerId, PodUid},
    node::{Host, Mount, Process, Role, Thread, Threads},
};
use serde::Serialize;
use std::time::Duration;

#[derive(Serialize)]
pub(super) struct HostV1<'a> {
    root: &'a str,
    kernel: Option<&'a str>,
    processes_seen: usize,
    processes: Vec<ProcessV1<'a>>,
    remote_mounts: Vec<MountV1<'a>>,
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
struct MountV1<'a> {
    device: &'a str,
    point: &'a str,
    fs_type: &'a str,
    source: &'a str,
    uid: Option<&'a str>,
}

impl<'a> From<&'a Host> for HostV1<'a> {
    fn from(host: &'a Host) -> Self {
        Self {
            root: &host.root,
            kernel: host.kernel.as_deref(),
            processes_seen: host.seen,
            processes: host.processes.iter().map(ProcessV1::from).collect(),
            remote_mounts: host.remote.iter().map(MountV1::from).collect(),
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
        }
    }
}

/// To hundredths, as the kernel counts.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
