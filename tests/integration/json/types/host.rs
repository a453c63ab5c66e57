//! The host in the report, as users are promised it.

use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Host {
    pub(in crate::json) root: String,
    pub(in crate::json) kernel: Option<String>,
    pub(in crate::json) versions: Versions,
    pub(in crate::json) kubelet_settings: Option<KubeletSettings>,
    pub(in crate::json) systemd: Option<Systemd>,
    pub(in crate::json) processes_seen: u64,
    pub(in crate::json) processes: Vec<Process>,
    pub(in crate::json) remote_mounts: Vec<Mount>,
    pub(in crate::json) mount_namespaces: Vec<Namespace>,
    pub(in crate::json) layers_left: Vec<Remains>,
    pub(in crate::json) pressure: Pressure,
    pub(in crate::json) disks: Vec<Disk>,
    pub(in crate::json) kernel_lines: Vec<KernelLine>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Remains {
    pub(in crate::json) folder: String,
    pub(in crate::json) names: Vec<String>,
    pub(in crate::json) half_removed: bool,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Pressure {
    pub(in crate::json) cpu: Option<Stall>,
    pub(in crate::json) io: Option<Stall>,
    pub(in crate::json) memory: Option<Stall>,
    pub(in crate::json) load: Option<f64>,
    pub(in crate::json) tasks: Option<u64>,
    pub(in crate::json) tasks_limit: Option<u64>,
    pub(in crate::json) memory_total_bytes: Option<u64>,
    pub(in crate::json) memory_available_bytes: Option<u64>,
    pub(in crate::json) oom_kills: Option<u64>,
    pub(in crate::json) daemons: Vec<DaemonLimits>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Stall {
    pub(in crate::json) some_percent: f64,
    pub(in crate::json) full_percent: Option<f64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct DaemonLimits {
    pub(in crate::json) pid: u64,
    pub(in crate::json) tasks: Option<u64>,
    pub(in crate::json) tasks_limit: Option<u64>,
    pub(in crate::json) files: Option<u64>,
    pub(in crate::json) files_limit: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct KernelLine {
    pub(in crate::json) kind: KernelKind,
    pub(in crate::json) seconds_ago: Option<f64>,
    pub(in crate::json) text: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Process {
    pub(in crate::json) pid: u64,
    pub(in crate::json) ppid: u64,
    pub(in crate::json) name: String,
    pub(in crate::json) role: Role,
    pub(in crate::json) oci_command: Option<OciCommand>,
    pub(in crate::json) command: Option<Vec<String>>,
    pub(in crate::json) state: State,
    pub(in crate::json) start_ticks: u64,
    pub(in crate::json) age_seconds: Option<f64>,
    pub(in crate::json) children: Option<u64>,
    pub(in crate::json) wchan: Option<String>,
    pub(in crate::json) stack: Vec<String>,
    pub(in crate::json) still_seconds: Option<f64>,
    pub(in crate::json) container: Option<String>,
    pub(in crate::json) uid: Option<String>,
    pub(in crate::json) tracer: Option<u64>,
    pub(in crate::json) threads: Threads,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Threads {
    pub(in crate::json) seen: u64,
    pub(in crate::json) stopped: u64,
    pub(in crate::json) uninterruptible: u64,
    pub(in crate::json) waiting: Vec<Thread>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Thread {
    pub(in crate::json) tid: u64,
    pub(in crate::json) state: State,
    pub(in crate::json) wchan: Option<String>,
    pub(in crate::json) stack: Vec<String>,
    pub(in crate::json) still_seconds: Option<f64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Mount {
    pub(in crate::json) device: String,
    pub(in crate::json) point: String,
    pub(in crate::json) fs_type: String,
    pub(in crate::json) source: String,
    pub(in crate::json) uid: Option<String>,
    pub(in crate::json) within_pid: Option<u64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Namespace {
    pub(in crate::json) id: String,
    pub(in crate::json) own: bool,
    pub(in crate::json) processes: u64,
    pub(in crate::json) keepers: Vec<MountHolder>,
    pub(in crate::json) held: u64,
    pub(in crate::json) left: u64,
    pub(in crate::json) mounts_left: Vec<HeldMount>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct MountHolder {
    pub(in crate::json) pid: u64,
    pub(in crate::json) name: String,
    pub(in crate::json) start_ticks: u64,
    pub(in crate::json) unit: Option<String>,
    pub(in crate::json) container: Option<String>,
    pub(in crate::json) uid: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct HeldMount {
    pub(in crate::json) point: String,
    pub(in crate::json) layer: Option<String>,
    pub(in crate::json) container: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::json) enum Role {
    Dockerd,
    Containerd,
    Kubelet,
    Shim,
    OciRuntime,
    CniPlugin,
    Iptables,
    Other,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::json) enum OciCommand {
    Create,
    Start,
    Kill,
    Delete,
    Exec,
    Call,
    Init,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::json) enum KernelKind {
    HungTask,
    SilentServer,
    OutOfMemory,
    ContainerLimit,
    NetDevice,
    DiskError,
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::json) enum State {
    R,
    S,
    D,
    T,
    /// Traced.
    #[serde(rename = "t")]
    Traced,
    Z,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Disk {
    pub(in crate::json) device: String,
    pub(in crate::json) name: String,
    pub(in crate::json) busy_percent: f64,
    pub(in crate::json) queue: f64,
    pub(in crate::json) finished: u64,
    pub(in crate::json) wait_seconds: Option<f64>,
    pub(in crate::json) in_flight: u64,
    pub(in crate::json) holds: Vec<String>,
    pub(in crate::json) through: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Versions {
    pub(in crate::json) systemd: Option<String>,
    pub(in crate::json) dockerd: Option<String>,
    pub(in crate::json) containerd: Option<String>,
    pub(in crate::json) runc: Option<String>,
    pub(in crate::json) kubelet: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct KubeletSettings {
    pub(in crate::json) file: Option<String>,
    pub(in crate::json) runtime_request_timeout_seconds: Option<f64>,
    pub(in crate::json) max_pods: Option<u64>,
    pub(in crate::json) maximum_dead_containers: Option<i64>,
    pub(in crate::json) maximum_dead_containers_per_container: Option<i64>,
    pub(in crate::json) minimum_container_ttl_seconds: Option<f64>,
    pub(in crate::json) cgroup_driver: Option<String>,
    pub(in crate::json) evented_pleg: Option<bool>,
    pub(in crate::json) container_runtime: Option<String>,
    pub(in crate::json) container_runtime_endpoint: Option<String>,
    pub(in crate::json) root_dir: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Systemd {
    pub(in crate::json) outcome: SystemdOutcome,
    pub(in crate::json) took_seconds: Option<f64>,
    pub(in crate::json) error: Option<String>,
    pub(in crate::json) state: Option<State>,
    pub(in crate::json) wchan: Option<String>,
    pub(in crate::json) busy_percent: Option<f64>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::json) enum SystemdOutcome {
    Answered,
    TimedOut,
    Error,
}
