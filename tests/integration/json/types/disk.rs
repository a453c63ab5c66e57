use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Disk {
    root: String,
    containers: u64,
    live_restore: Option<bool>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnDiskState {
    written: Option<String>,
    state: String,
    error: String,
    pid: Option<u32>,
    process: Process,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Process {
    There,
    Gone,
    Unknown,
}
