//! The actions that plegdoctor can carry out: a closed set. Rules name actions beside the commands that they print; only
//! `apply` carries them out, and each checks again right before that it still fits.

use crate::syntax::{id::ContainerId, json::json_words};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// Removes a container that is exited, dead or was never started; never by force, never a volume.
    RemoveContainer {
        id: ContainerId,
    },
    /// Kills one run of the OCI runtime.
    EndProcess(RuntimeProcess),
    /// Resumes a daemon that a signal has stopped and that is not traced.
    ContinueDaemon {
        pid: u32,
        /// When that was started, in the kernel's ticks since boot.
        start_ticks: u64,
        /// What it is called: `dockerd`.
        name: String,
    },
    /// Detaches one leaked mount, in one mount namespace (`umount -l`).
    DetachMount {
        path: String,
        /// The kernel's number for the mount: another may lie at the same place, or come there.
        mount: u64,
        /// The namespace: the number in `/proc/PID/ns/mnt`.
        namespace: u64,
        pid: u32,
        /// When that was started, in the kernel's ticks since boot.
        start_ticks: u64,
    },
    /// Re-executes systemd; no unit stops.
    ReexecSystemd,
    RestartUnit {
        unit: Unit,
    },
}

json_words!(Action, word {
    RemoveContainer => "remove-container", EndProcess => "end-process", ContinueDaemon => "continue-daemon",
    DetachMount => "detach-mount", ReexecSystemd => "reexec-systemd", RestartUnit => "restart-unit",
});

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuntimeProcess {
    pub pid: u32,
    /// When it was started, in the kernel's ticks since boot: with the number it names the process for good.
    pub start_ticks: u64,
    pub command: Vec<String>,
    /// The container that it works on, and that does not answer because of it.
    pub container: ContainerId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Docker,
    Containerd,
    Kubelet,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker.service",
            Self::Containerd => "containerd.service",
            Self::Kubelet => "kubelet.service",
        }
    }
}

/// What an action is done to; what does not apply is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target<'a> {
    pub container: Option<&'a ContainerId>,
    pub pid: Option<u32>,
    /// When it was started, in the kernel's ticks since boot.
    pub start_ticks: Option<u64>,
    pub path: Option<&'a str>,
    pub unit: Option<&'static str>,
}

impl Action {
    pub fn target(&self) -> Target<'_> {
        let none = Target::default();
        match self {
            Self::RemoveContainer { id } => Target {
                container: Some(id),
                ..none
            },
            Self::EndProcess(process) => Target {
                container: Some(&process.container),
                pid: Some(process.pid),
                start_ticks: Some(process.start_ticks),
                ..none
            },
            Self::ContinueDaemon {
                pid, start_ticks, ..
            } => Target {
                pid: Some(*pid),
                start_ticks: Some(*start_ticks),
                ..none
            },
            Self::DetachMount {
                path,
                pid,
                start_ticks,
                ..
            } => Target {
                pid: Some(*pid),
                start_ticks: Some(*start_ticks),
                path: Some(path),
                ..none
            },
            Self::ReexecSystemd => none,
            Self::RestartUnit { unit } => Target {
                unit: Some(unit.name()),
                ..none
            },
        }
    }

    /// What it does, to what: "kill PID 4242, which blocks container b15929dfcea1: runc start …".
    pub fn describe(&self) -> String {
        match self {
            Self::RemoveContainer { id } => format!("remove container {}", id.short()),
            Self::EndProcess(RuntimeProcess {
                pid,
                command,
                container,
                ..
            }) => format!(
                "kill PID {pid}, which blocks container {}: {}",
                container.short(),
                command.join(" ")
            ),
            Self::ContinueDaemon { pid, name, .. } => {
                format!("resume {name} (PID {pid}) with SIGCONT")
            }
            Self::DetachMount {
                path,
                namespace,
                pid,
                ..
            } => format!("detach {path} in mount namespace {namespace} (of PID {pid})"),
            Self::ReexecSystemd => "re-execute systemd (daemon-reexec)".to_owned(),
            Self::RestartUnit { unit } => format!("restart {}", unit.name()),
        }
    }

    pub fn restarts(&self) -> bool {
        matches!(self, Self::ReexecSystemd | Self::RestartUnit { .. })
    }

    /// How harsh it is among those of the same risk: Docker takes its containers along unless live-restore is on,
    /// containerd and the kubelet take none, systemd not even a unit.
    pub fn harshness(&self) -> u8 {
        match self {
            Self::RestartUnit { unit: Unit::Docker } => 2,
            Self::RestartUnit { .. } => 1,
            _ => 0,
        }
    }

    /// Whether it is done to this machine's own processes, mounts or units, which have to be looked at for it.
    pub fn is_to_the_host(&self) -> bool {
        !matches!(self, Self::RemoveContainer { .. })
    }
}
