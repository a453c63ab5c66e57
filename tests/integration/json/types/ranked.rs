//! Roles, what was ruled out or is open, timelines, and the list's length: what users are promised.

use super::Citation;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Role {
    pub(in crate::json) kind: RoleKind,
    pub(in crate::json) to: Option<String>,
}

#[derive(Debug, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(in crate::json) enum RoleKind {
    Primary,
    Consequence,
    Feeds,
    Separate,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct RuledOut {
    pub(in crate::json) id: String,
    pub(in crate::json) because: String,
    pub(in crate::json) by: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Undecided {
    pub(in crate::json) id: String,
    pub(in crate::json) why: String,
    pub(in crate::json) decide: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Moment {
    pub(in crate::json) what: What,
    pub(in crate::json) time: String,
    pub(in crate::json) last: String,
    pub(in crate::json) count: u64,
    pub(in crate::json) after_seconds: f64,
    pub(in crate::json) detail: Option<String>,
    pub(in crate::json) citation: Option<Citation>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::json) enum What {
    OutOfMemory,
    ExecTimeout,
    HungTask,
    ServerSilent,
    ServerAnswers,
    NetdeviceHeld,
    DiskError,
    DaemonEnd,
    Refused,
    TooLarge,
    DaemonStart,
    KubeletStart,
    LastRelist,
    Timeout,
    Stale,
    NotReady,
    Recovered,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct List {
    pub(in crate::json) bytes: u64,
    pub(in crate::json) limit_bytes: u64,
    pub(in crate::json) containers: u64,
    pub(in crate::json) stopped: u64,
    pub(in crate::json) bytes_per_container: u64,
    pub(in crate::json) containers_at_limit: u64,
    pub(in crate::json) relist_lists_seconds: f64,
    pub(in crate::json) growth: Option<Growth>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Growth {
    pub(in crate::json) window_seconds: f64,
    pub(in crate::json) last: u64,
    pub(in crate::json) before: u64,
    pub(in crate::json) full_in_seconds: Option<f64>,
    pub(in crate::json) late_in_seconds: Option<f64>,
}
