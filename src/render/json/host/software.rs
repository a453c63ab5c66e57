//! The node's software: versions, the kubelet's settings, systemd.

use super::seconds;
use crate::node::{Bus, Component, Settings, State, Systemd, Version, Versions};
use serde::Serialize;
use std::time::Duration;

#[derive(Serialize)]
pub(super) struct VersionsV1<'a> {
    systemd: Option<&'a str>,
    dockerd: Option<&'a str>,
    containerd: Option<&'a str>,
    runc: Option<&'a str>,
    kubelet: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct SettingsV1<'a> {
    file: Option<&'a str>,
    runtime_request_timeout_seconds: Option<f64>,
    max_pods: Option<u64>,
    maximum_dead_containers: Option<i64>,
    maximum_dead_containers_per_container: Option<i64>,
    minimum_container_ttl_seconds: Option<f64>,
    cgroup_driver: Option<&'a str>,
    evented_pleg: Option<bool>,
    container_runtime: Option<&'a str>,
    container_runtime_endpoint: Option<&'a str>,
    root_dir: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct SystemdV1<'a> {
    outcome: &'static str,
    took_seconds: Option<f64>,
    error: Option<&'a str>,
    state: Option<&'static str>,
    wchan: Option<&'a str>,
    busy_percent: Option<f64>,
}

impl<'a> From<&'a Versions> for VersionsV1<'a> {
    fn from(versions: &'a Versions) -> Self {
        let of = |tool| versions.of(tool).map(Version::as_str);
        Self {
            systemd: of(Component::Systemd),
            dockerd: of(Component::Dockerd),
            containerd: of(Component::Containerd),
            runc: of(Component::Runc),
            kubelet: of(Component::Kubelet),
        }
    }
}

impl<'a> From<&'a Settings> for SettingsV1<'a> {
    fn from(settings: &'a Settings) -> Self {
        Self {
            file: settings.file.as_deref(),
            runtime_request_timeout_seconds: settings.runtime_request_timeout.map(seconds),
            max_pods: settings.max_pods,
            maximum_dead_containers: settings.dead_containers,
            maximum_dead_containers_per_container: settings.dead_per_container,
            minimum_container_ttl_seconds: settings.dead_minimum_age.map(seconds),
            cgroup_driver: settings.cgroup_driver.as_deref(),
            evented_pleg: settings.evented_pleg,
            container_runtime: settings.container_runtime.as_deref(),
            container_runtime_endpoint: settings.runtime_endpoint.as_deref(),
            root_dir: settings.root_dir.as_deref(),
        }
    }
}

impl<'a> From<&'a Systemd> for SystemdV1<'a> {
    fn from(systemd: &'a Systemd) -> Self {
        let (outcome, took, error): (_, Option<Duration>, _) = match &systemd.bus {
            Bus::Answered(took, _) => ("answered", Some(*took), None),
            Bus::Silent(waited) => ("timed_out", Some(*waited), None),
            Bus::Failed(words) => ("error", None, Some(words.as_str())),
        };
        Self {
            outcome,
            took_seconds: took.map(seconds),
            error,
            state: systemd.state.map(State::letter),
            wchan: systemd.wchan.as_deref(),
            busy_percent: systemd.busy,
        }
    }
}
