//! What --fix did, in the report, as users are promised it.

use super::Risk;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(in crate::json) struct Action {
    what: What,
    title: String,
    finding: String,
    risk: Risk,
    cost: String,
    target: Target,
    asked: Asked,
    outcome: Outcome,
    reason: Option<String>,
    before: Option<String>,
    after: Option<String>,
    proof: Option<String>,
    started: String,
    acted: Option<String>,
    ended: String,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Target {
    told: String,
    container: Option<String>,
    pid: Option<u32>,
    start_ticks: Option<u64>,
    path: Option<String>,
    unit: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    RemoveContainer,
    EndProcess,
    ContinueDaemon,
    DetachMount,
    ReexecSystemd,
    RestartUnit,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Asked {
    User,
    Option,
    Nobody,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Done,
    Unproven,
    Failed,
    Changed,
    NotNeeded,
    Declined,
    AboveRisk,
    Suspected,
    Interrupted,
    Planned,
}
