//! The kubelet's settings that decide how long it waits and how much it keeps, from its words and its file.
//!
//! A flag beats the file, and what neither names is not known here: defaults change with the kubelet's version.
//! Of the file nothing is kept but these settings; the rest may be anybody's secret.

use crate::syntax::duration;
use saphyr_parser::{Event, Parser};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// What was set, by flag or file; `None` is not set, or not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub file: Option<String>,
    /// How long most calls to the runtime may take: `--runtime-request-timeout`, `runtimeRequestTimeout`.
    pub runtime_request_timeout: Option<Duration>,
    /// `--max-pods`, `maxPods`
    pub max_pods: Option<u64>,
    /// Dead containers kept in all, -1 for any number: `--maximum-dead-containers`.
    pub dead_containers: Option<i64>,
    /// … of one container of a pod: `--maximum-dead-containers-per-container`.
    pub dead_per_container: Option<i64>,
    /// How long a dead container is kept at least: `--minimum-container-ttl-duration`.
    pub dead_minimum_age: Option<Duration>,
    /// `systemd` or `cgroupfs`: `--cgroup-driver`, `cgroupDriver`
    pub cgroup_driver: Option<String>,
    /// Whether the PLEG takes the runtime's events: the feature gate `EventedPLEG`.
    pub evented_pleg: Option<bool>,
    /// `docker` (the shim within the kubelet) or `remote`: `--container-runtime`, gone since 1.27.
    pub container_runtime: Option<String>,
    /// `--container-runtime-endpoint`, `containerRuntimeEndpoint`
    pub runtime_endpoint: Option<String>,
    /// Where it keeps its data: `--root-dir`.
    pub root_dir: Option<String>,
}

/// The settings of the file that are kept, and the feature gates.
const KEYS: &[&str] = &[
    "runtimeRequestTimeout",
    "maxPods",
    "cgroupDriver",
    "containerRuntimeEndpoint",
];
const GATES: &str = "featureGates";
const EVENTED: &str = "EventedPLEG";
/// Longest value that is one, and deepest that a file may go.
const LONGEST: usize = 512;
const DEEPEST: usize = 64;

impl Settings {
    pub fn of_words(words: &[String]) -> Self {
        let flag = |name: &str| flag(words, name);
        let number = |name: &str| flag(name)?.parse().ok();
        Self {
            file: flag("--config"),
            runtime_request_timeout: flag("--runtime-request-timeout").and_then(|text| span(&text)),
            max_pods: flag("--max-pods").and_then(|text| text.parse().ok()),
            dead_containers: number("--maximum-dead-containers"),
            dead_per_container: number("--maximum-dead-containers-per-container"),
            dead_minimum_age: flag("--minimum-container-ttl-duration").and_then(|text| span(&text)),
            cgroup_driver: flag("--cgroup-driver"),
            evented_pleg: gate(words),
            container_runtime: flag("--container-runtime"),
            runtime_endpoint: flag("--container-runtime-endpoint"),
            root_dir: flag("--root-dir"),
        }
    }

    pub fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Whether files beside the one that is named may set more (`--config-dir`, since 1.28).
    pub fn has_more_files(words: &[String]) -> bool {
        flag(words, "--config-dir").is_some()
    }

    /// Adds what the file sets and no flag does. What the file leaves empty or zero it does not set
    /// (pkg/kubelet/apis/config/v1beta1/defaults.go).
    #[must_use]
    pub fn with_file(self, file: &BTreeMap<String, String>) -> Self {
        let text = |key: &str| file.get(key).filter(|text| !text.is_empty()).cloned();
        let evented = file.get(EVENTED).and_then(|text| text.parse().ok());
        Self {
            runtime_request_timeout: self
                .runtime_request_timeout
                .or_else(|| span(&text("runtimeRequestTimeout")?).filter(|span| !span.is_zero())),
            max_pods: self
                .max_pods
                .or_else(|| text("maxPods")?.parse().ok().filter(|&pods: &u64| pods > 0)),
            cgroup_driver: self.cgroup_driver.or_else(|| text("cgroupDriver")),
            evented_pleg: self.evented_pleg.or(evented),
            runtime_endpoint: self
                .runtime_endpoint
                .or_else(|| text("containerRuntimeEndpoint")),
            ..self
        }
    }
}

fn flag(words: &[String], name: &str) -> Option<String> {
    let value = |(at, word): (usize, &String)| match word.strip_prefix(name)? {
        "" => words.get(at + 1).cloned(),
        rest => rest.strip_prefix('=').map(str::to_owned),
    };
    let last = words.iter().enumerate().filter_map(value).next_back()?;
    let last = last.trim_matches('"').to_owned();
    (!last.is_empty() && last.len() <= LONGEST).then_some(last)
}

/// The gate of `--feature-gates=A=true,EventedPLEG=false`.
fn gate(words: &[String]) -> Option<bool> {
    let gates = flag(words, "--feature-gates")?;
    let value = |gate: &str| {
        gate.trim()
            .strip_prefix(EVENTED)?
            .strip_prefix('=')?
            .parse()
            .ok()
    };
    gates.split(',').filter_map(value).next_back()
}

fn span(text: &str) -> Option<Duration> {
    duration::parse(text)?.to_std().ok()
}

enum Level {
    Map(Option<String>),
    List,
}

/// The settings that a kubelet's file (YAML, or JSON, which is YAML) holds, with the gate under its own name; `None` if
/// it is neither. Nothing is built of it, so that it may be as odd and as deep as it likes.
pub fn file(text: &str) -> Option<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let mut levels: Vec<Level> = Vec::new();
    for event in Parser::new_from_str(text) {
        match event.ok()?.0 {
            Event::Scalar(value, ..) => scalar(&mut levels, &value, &mut found),
            Event::Alias(_) => scalar(&mut levels, "", &mut found),
            Event::MappingStart(..) => levels.push(Level::Map(None)),
            Event::SequenceStart(..) => levels.push(Level::List),
            Event::MappingEnd | Event::SequenceEnd => {
                levels.pop();
                // It was a value, or a key that is no text.
                done(&mut levels);
            }
            _ => {}
        }
        if levels.len() > DEEPEST {
            return None;
        }
    }
    Some(found)
}

fn scalar(levels: &mut [Level], value: &str, found: &mut BTreeMap<String, String>) {
    let Some(Level::Map(key)) = levels.last_mut() else {
        return;
    };
    let Some(known) = key.take() else {
        *key = Some(value.to_owned());
        return;
    };
    let wanted = match levels {
        [_] => KEYS.contains(&known.as_str()),
        [Level::Map(Some(above)), _] => above == GATES && known == EVENTED,
        _ => false,
    };
    let unset = matches!(value, "null" | "~");
    if wanted && !unset && value.len() <= LONGEST {
        found.insert(known, value.to_owned());
    }
}

fn done(levels: &mut [Level]) {
    if let Some(Level::Map(key)) = levels.last_mut() {
        *key = match key.take() {
            Some(_) => None,
            None => Some(String::new()),
        };
    }
}

#[cfg(test)]
mod tests;
