//! What the kubelet itself said, for scripts.

use super::{ProbeV1, seconds, time};
use crate::kubelet::{
    Age, Bound, Health, Kubelet, Metrics, Operation, Quantiles, Seen, Source, health::Check,
};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct KubeletV1<'a> {
    asked_at: String,
    source: Option<SourceV1<'a>>,
    metrics: Option<MetricsV1<'a>>,
    health: Vec<HealthV1<'a>>,
}

#[derive(Serialize)]
struct SourceV1<'a> {
    name: &'a str,
    is_file: bool,
    probe: ProbeV1<'a>,
}

#[derive(Serialize)]
struct MetricsV1<'a> {
    node: Option<&'a str>,
    version: Option<&'a str>,
    started_at: Option<String>,
    last_seen: Option<String>,
    never_seen: bool,
    relist_age_seconds: Option<f64>,
    relist_age_is_exact: bool,
    threshold_seconds: f64,
    evented: bool,
    relist: Option<SpreadV1>,
    interval: Option<SpreadV1>,
    discarded_events: Option<f64>,
    running_pods: Option<f64>,
    running_containers: Option<f64>,
    operations: BTreeMap<&'a str, OperationV1>,
}

#[derive(Serialize)]
struct SpreadV1 {
    count: f64,
    sum_seconds: f64,
    covers: &'static str,
    p50: BoundV1,
    p90: BoundV1,
    p99: BoundV1,
}

#[derive(Serialize)]
struct BoundV1 {
    is: &'static str,
    seconds: f64,
}

#[derive(Serialize)]
struct OperationV1 {
    calls: f64,
    errors: f64,
    took: Option<SpreadV1>,
}

#[derive(Serialize)]
struct HealthV1<'a> {
    source: &'a str,
    probe: ProbeV1<'a>,
    well: Option<bool>,
    checks: Vec<CheckV1<'a>>,
}

#[derive(Serialize)]
struct CheckV1<'a> {
    name: &'a str,
    ok: bool,
}

impl<'a> From<&'a Kubelet> for KubeletV1<'a> {
    fn from(kubelet: &'a Kubelet) -> Self {
        let metrics = kubelet.metrics.as_ref();
        Self {
            asked_at: time(kubelet.asked_at),
            source: kubelet.source.as_ref().map(SourceV1::from),
            metrics: metrics.map(|metrics| MetricsV1::of(kubelet, metrics)),
            health: kubelet.health.iter().map(HealthV1::from).collect(),
        }
    }
}

impl<'a> From<&'a Source> for SourceV1<'a> {
    fn from(source: &'a Source) -> Self {
        Self {
            name: &source.name,
            is_file: source.is_file,
            probe: ProbeV1::from(&source.probe),
        }
    }
}

impl<'a> MetricsV1<'a> {
    fn of(kubelet: &Kubelet, metrics: &'a Metrics) -> Self {
        let age = kubelet.relist_age();
        let last_seen = match metrics.last_seen {
            Some(Seen::At(at)) => Some(time(at)),
            Some(Seen::Never) | None => None,
        };
        let operations = metrics.operations.iter();
        Self {
            node: metrics.node.as_deref(),
            version: metrics.version.as_deref(),
            started_at: metrics.started.map(time),
            last_seen,
            never_seen: metrics.last_seen == Some(Seen::Never),
            relist_age_seconds: age.map(|age| seconds(age.least())),
            relist_age_is_exact: matches!(age, Some(Age::Exactly(_))),
            threshold_seconds: seconds(kubelet.threshold()),
            evented: metrics.evented,
            relist: metrics.relist.as_ref().map(SpreadV1::from),
            interval: metrics.interval.as_ref().map(SpreadV1::from),
            discarded_events: metrics.discarded,
            running_pods: metrics.pods,
            running_containers: metrics.containers,
            operations: operations
                .map(|(kind, operation)| (kind.as_str(), OperationV1::from(operation)))
                .collect(),
        }
    }
}

impl From<&Quantiles> for SpreadV1 {
    fn from(spread: &Quantiles) -> Self {
        Self {
            count: spread.count,
            sum_seconds: spread.sum,
            covers: match spread.is_recent() {
                true => "last_10_minutes",
                false => "since_start",
            },
            p50: spread.quantile(0.5).into(),
            p90: spread.quantile(0.9).into(),
            p99: spread.quantile(0.99).into(),
        }
    }
}

impl From<Bound> for BoundV1 {
    fn from(bound: Bound) -> Self {
        Self {
            is: match bound {
                Bound::AtMost(_) => "at_most",
                Bound::Over(_) => "over",
                Bound::About(_) => "about",
            },
            seconds: bound.seconds(),
        }
    }
}

impl From<&Operation> for OperationV1 {
    fn from(operation: &Operation) -> Self {
        Self {
            calls: operation.calls,
            errors: operation.errors,
            took: operation.took.as_ref().map(SpreadV1::from),
        }
    }
}

impl<'a> From<&'a Health> for HealthV1<'a> {
    fn from(health: &'a Health) -> Self {
        Self {
            source: &health.source,
            probe: ProbeV1::from(&health.probe),
            well: health.well,
            checks: health.checks.iter().map(CheckV1::from).collect(),
        }
    }
}

impl<'a> From<&'a Check> for CheckV1<'a> {
    fn from(check: &'a Check) -> Self {
        Self {
            name: &check.name,
            ok: check.ok,
        }
    }
}
