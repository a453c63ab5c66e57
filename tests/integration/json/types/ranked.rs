//! Roles, what was ruled out or is open, and timelines: what users are promised.

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
