use super::Probe;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kubelet {
    asked_at: String,
    source: Option<Source>,
    metrics: Option<Metrics>,
    health: Vec<Health>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Source {
    name: String,
    is_file: bool,
    probe: Probe,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Metrics {
    node: Option<String>,
    version: Option<String>,
    started_at: Option<String>,
    last_seen: Option<String>,
    never_seen: bool,
    relist_age_seconds: Option<f64>,
    relist_age_is_exact: bool,
    threshold_seconds: f64,
    evented: bool,
    relist: Option<Quantiles>,
    interval: Option<Quantiles>,
    discarded_events: Option<f64>,
    running_pods: Option<f64>,
    running_containers: Option<f64>,
    operations: BTreeMap<String, Operation>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    calls: f64,
    errors: f64,
    took: Option<Quantiles>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Quantiles {
    count: f64,
    sum_seconds: f64,
    covers: Covers,
    p50: Bound,
    p90: Bound,
    p99: Bound,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Covers {
    SinceStart,
    #[serde(rename = "last_10_minutes")]
    LastTenMinutes,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    is: Is,
    seconds: f64,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Is {
    AtMost,
    Over,
    About,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Health {
    source: String,
    probe: Probe,
    well: Option<bool>,
    checks: Vec<Check>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Check {
    name: String,
    ok: bool,
}
