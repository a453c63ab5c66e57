//! What Docker wrote of its containers to its disk, as values: `containers/<id>/config.v2.json` and `hostconfig.json`
//! below its data root (moby container/container.go; from 1.10 on).
//!
//! `disk` reads the files; nothing here does. What stands there may be stale: a daemon that was killed leaves
//! containers that ran as running, and of a failed removal the reason is written with the next try only.

mod sanitize;

use super::{Call, Container, Inspected, Outcome, Runtime, State, name};
use crate::syntax::{id::ContainerId, time::Time};
use chrono::{DateTime, Datelike as _, TimeDelta};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub use sanitize::{config, host_config};

/// The file that tells all but the host's part.
pub const CONFIG: &str = "config.v2.json";
/// The file that tells the host's part: binds, the log driver.
pub const HOST_CONFIG: &str = "hostconfig.json";
/// The key that `sanitize` adds to a container's file, for a copy loses the file's own time.
pub const WRITTEN: &str = "Written";
/// A removal that goes well takes seconds; what is still there after this long has failed, or hangs.
const REMOVAL: TimeDelta = TimeDelta::minutes(1);

/// Docker's files as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Its data root, as Docker calls it: `/var/lib/docker`.
    pub root: String,
    /// Whether all containers were to be read, for no list came; else only those that were not inspected.
    pub whole: bool,
    /// How many containers were read.
    pub containers: usize,
    /// Whether containers go on without the daemon (`live-restore`), if its file of settings tells.
    pub live_restore: Option<bool>,
}

/// One container's files, without what is nobody's business: the form in which they are recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Raw {
    /// What its folder is called: its id.
    pub id: String,
    /// `config.v2.json`, stripped, with `Written`; null if it could not be read.
    pub config: Value,
    /// `hostconfig.json`, stripped; null likewise.
    pub host: Value,
}

/// What Docker last wrote of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct OnDiskState {
    /// When that was.
    pub written: Option<Time>,
    /// Its state then, in the words of inspect.
    pub state: Inspected,
    /// Its process then.
    pub pid: Option<u32>,
    /// What that process is now.
    pub life: Liveness,
    /// How its log is kept: `json-file`; empty if that is not told.
    pub log_driver: String,
    /// The name of its log's file in its folder.
    pub log_file: Option<String>,
    /// What of the host is mounted in it.
    pub binds: Vec<String>,
}

/// What became of the process that a container is said to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Liveness {
    /// None is said to run, or nobody looked.
    #[default]
    Unknown,
    /// It is there.
    There,
    /// It is gone, or its number is another process's now.
    Gone,
}

impl OnDiskState {
    /// Returns whether the container's removal did not come to its end, as far as the file tells.
    pub fn is_dead(&self, now: Time) -> bool {
        let long_ago = self.written.is_some_and(|written| now - written > REMOVAL);
        self.state.state == State::Dead && (long_ago || !self.state.error.is_empty())
    }

    /// Returns whether it is said to run, and nothing is known against that.
    pub fn runs(&self) -> bool {
        self.state.running && self.life != Liveness::Gone
    }

    /// Returns whether it is said to run, and its process is not there.
    pub fn is_stale(&self) -> bool {
        self.state.running && self.life == Liveness::Gone
    }
}

impl Raw {
    /// Returns the container that the files tell of; `root` is Docker's data root. `None` where they make no sense, or
    /// are another container's.
    pub fn container(&self, root: &str) -> Option<Container> {
        let json = &self.config;
        let id = ContainerId::parse(&self.id).filter(ContainerId::is_whole)?;
        if !json.is_object() || text(&json["ID"]) != id.as_str() {
            return None;
        }
        let mut container = Container::unlisted(id);
        container.name = text(&json["Name"]).trim_start_matches('/').to_owned();
        container.labels = labels(&json["Config"]["Labels"]);
        container.created = time(&json["Created"]);
        let name::Identity {
            kind,
            pod,
            uid,
            sandbox,
        } = name::identify(&container.name, &container.labels);
        (container.kind, container.pod) = (kind, pod);
        (container.uid, container.sandbox) = (uid, sandbox);
        container.disk = Some(self.stored(root));
        Some(container)
    }

    fn stored(&self, root: &str) -> OnDiskState {
        let (json, state) = (&self.config, &self.config["State"]);
        let is = |key: &str| state[key] == true;
        let base = text(&json["LogPath"])
            .rsplit('/')
            .next()
            .unwrap_or_default();
        OnDiskState {
            written: time(&json[WRITTEN]),
            state: Inspected {
                state: read_state(state),
                running: is("Running") || is("Paused") || is("Restarting"),
                error: text(&state["Error"]).to_owned(),
                started: time(&state["StartedAt"]),
                finished: time(&state["FinishedAt"]),
                exit_code: state["ExitCode"].as_i64().unwrap_or(0),
                ..Inspected::default()
            },
            pid: state["Pid"]
                .as_u64()
                .and_then(|pid| u32::try_from(pid).ok())
                .filter(|pid| *pid > 0),
            life: Liveness::Unknown,
            log_driver: text(&self.host["LogConfig"]["Type"]).to_owned(),
            log_file: Some(base.to_owned()).filter(|base| is_plain(base)),
            binds: binds(json, &self.host, root).into_iter().collect(),
        }
    }
}

/// Puts what Docker's files tell to what the daemon told: beside what it did not inspect, and in the list's place where
/// none came. Returns how many containers they told of.
pub fn join(runtime: &mut Runtime, found: Vec<Container>) -> usize {
    let whole = runtime.probe(Call::List).outcome != Outcome::Answered;
    let mut number = 0;
    let mut more = Vec::new();
    for stored in found {
        number += 1;
        let mut known = runtime.containers.iter_mut();
        match known.find(|known| known.id.matches(&stored.id)) {
            Some(known) if known.name.is_empty() && known.inspected.is_none() => {
                let probe = known.probe.clone();
                *known = Container { probe, ..stored };
            }
            Some(known) => known.disk = stored.disk,
            None if whole => more.push(stored),
            None => number -= 1,
        }
    }
    runtime.containers.extend(more);
    number
}

/// Reads the state as the daemon's inspect has it (moby container/state.go), but for a removal: that one goes
/// on is not meant to be kept, and is never taken back in the file.
fn read_state(state: &Value) -> State {
    let is = |key: &str| state[key] == true;
    match () {
        () if is("Paused") => State::Paused,
        () if is("Restarting") => State::Restarting,
        () if is("Running") => State::Running,
        () if is("Dead") => State::Dead,
        () if is("RemovalInProgress") => State::Removing,
        () if time(&state["StartedAt"]).is_none() => State::Created,
        () => State::Exited,
    }
}

/// Returns the host's folders that are mounted in the container. A volume of Docker's own that was not mounted yet
/// names none: it is below the data root.
fn binds(config: &Value, host: &Value, root: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for point in config["MountPoints"].as_object().into_iter().flatten() {
        let of = |key: &str| text(&point.1[key]);
        if of("Source").starts_with('/') {
            found.insert(of("Source").to_owned());
        } else if of("Driver") == "local" && is_plain(of("Name")) {
            let name = of("Name");
            found.insert(format!(
                "{}/volumes/{name}/_data",
                root.trim_end_matches('/')
            ));
        }
    }
    let binds = host["Binds"].as_array().into_iter().flatten();
    let sources = binds.filter_map(|bind| text(bind).split(':').next());
    let mounts = host["Mounts"].as_array().into_iter().flatten();
    let others = mounts.map(|mount| text(&mount["Source"]));
    found.extend(
        sources
            .chain(others)
            .filter(|source| source.starts_with('/'))
            .map(str::to_owned),
    );
    found
}

/// Whether it names something in a folder, and not another folder.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn labels(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(key, value)| (key.clone(), text(value).to_owned()))
        .collect()
}

/// Reads a time; Go's year 1 means never.
fn time(value: &Value) -> Option<Time> {
    let time = DateTime::parse_from_rfc3339(text(value)).ok()?;
    (time.year() > 1).then_some(time)
}

#[cfg(test)]
mod tests;
