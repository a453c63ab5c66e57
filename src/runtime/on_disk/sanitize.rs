//! Takes out of Docker's files what is nobody's business: only what is named here stays, each text cut to a bearable
//! length. Environment, command and arguments of a container may hold secrets, and so may a pod's annotations.

use super::WRITTEN;
use serde_json::{Map, Value};

/// Bytes kept of a text.
const LETTERS: usize = 4096;
/// Entries kept of a list or an object whose keys are free.
const ENTRIES: usize = 256;

const TOP: &[&str] = &["ID", "Name", "Created", "Driver", "LogPath"];
const STATE: &[&str] = &[
    "Running",
    "Paused",
    "Restarting",
    "OOMKilled",
    "RemovalInProgress",
    "Dead",
    "Pid",
    "ExitCode",
    "Error",
    "StartedAt",
    "FinishedAt",
];
const MOUNT_POINT: &[&str] = &["Type", "Source", "Destination", "Name", "Driver"];
/// What the kubelet's dockershim (and cri-dockerd) notes itself: `io.kubernetes.pod.name`, a pod's grace. The rest of
/// what begins with `annotation.` is mostly the user's.
const LABELS: &[&str] = &[
    "io.kubernetes.",
    "annotation.io.kubernetes.pod.deletionGracePeriod",
    "annotation.io.kubernetes.pod.terminationGracePeriod",
];

/// Returns what stays of a `config.v2.json` that was last written at `written` (RFC 3339); null if it is none. A copy
/// that was stripped before keeps the time that it tells.
pub fn config(file: &Value, written: Option<&str>) -> Value {
    if !file.is_object() {
        return Value::Null;
    }
    let mut kept = picked(file, TOP);
    kept.insert("State".to_owned(), picked(&file["State"], STATE).into());
    let own = &file["Config"];
    let labels = own["Labels"].as_object().into_iter().flatten();
    let labels: Map<String, Value> = labels
        .filter(|(key, _)| key.len() <= LETTERS && LABELS.iter().any(|own| key.starts_with(own)))
        .take(ENTRIES)
        .map(|(key, value)| (key.clone(), scalar(value)))
        .collect();
    let mut of_config = picked(own, &["Image", "Tty"]);
    of_config.insert("Labels".to_owned(), labels.into());
    kept.insert("Config".to_owned(), of_config.into());
    let points = file["MountPoints"].as_object().into_iter().flatten();
    let points: Map<String, Value> = points
        .take(ENTRIES)
        .filter(|(target, _)| target.len() <= LETTERS)
        .map(|(target, point)| (target.clone(), picked(point, MOUNT_POINT).into()))
        .collect();
    kept.insert("MountPoints".to_owned(), points.into());
    let told = file[WRITTEN].as_str().or(written);
    kept.extend(told.map(|told| (WRITTEN.to_owned(), told.into())));
    kept.into()
}

/// Returns what stays of a `hostconfig.json`; null if it is none.
pub fn host_config(file: &Value) -> Value {
    if !file.is_object() {
        return Value::Null;
    }
    let list = |key: &str| file[key].as_array().into_iter().flatten().take(ENTRIES);
    let mut kept = Map::new();
    let log = picked(&file["LogConfig"], &["Type"]);
    kept.insert("LogConfig".to_owned(), log.into());
    kept.insert("Binds".to_owned(), list("Binds").map(scalar).collect());
    let mounts = list("Mounts").map(|mount| picked(mount, &["Type", "Source", "Target"]));
    kept.insert("Mounts".to_owned(), mounts.map(Value::from).collect());
    kept.into()
}

/// Returns these fields of an object, as far as they are plain.
fn picked(object: &Value, keys: &[&str]) -> Map<String, Value> {
    let field = |key: &&str| Some(((*key).to_owned(), scalar(object.get(*key)?)));
    keys.iter().filter_map(field).collect()
}

/// Returns a plain value, not too long; null for what holds others.
fn scalar(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > LETTERS => {
            let end = (0..=LETTERS).rev().find(|&at| text.is_char_boundary(at));
            text[..end.unwrap_or(0)].into()
        }
        Value::Array(_) | Value::Object(_) => Value::Null,
        plain => plain.clone(),
    }
}
