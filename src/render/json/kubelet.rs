//! What the kubelet itself answered.

use super::seconds;
use crate::io::probe::Probe;
use crate::kubelet::health::Check;
use crate::kubelet::{Age, Bound, Health, Kubelet, Metrics, Operation, Quantiles, Seen, Source};
use crate::syntax::json::json_object;
use crate::syntax::time::Time;
use std::collections::BTreeMap;

json_object! {
    Kubelet as it {
        /// When it was asked
        asked_at: Time,
        /// Where the metrics were read, or could not be; null if they were not asked for
        source: Option<Source>,
        /// What the metrics say; null if none came
        metrics: Option<Measured<'_>> = it.metrics.as_ref().map(|metrics| Measured(it, metrics)),
        /// Its health checks
        health: Vec<Health>,
    }
}

json_object! {
    Source as it {
        /// A URL, or a file
        name: String,
        /// Whether it is a file, saved at an unknown time
        is_file: bool,
        probe: Probe,
    }
}

/// A kubelet and its metrics.
struct Measured<'a>(&'a Kubelet, &'a Metrics);

json_object! {
    Measured<'_> as it {
        /// The node's name
        node: &Option<String> = &it.1.node,
        /// The kubelet's version
        version: &Option<String> = &it.1.version,
        /// When the kubelet was started; its counters begin then
        started_at: Option<Time> = it.1.started,
        /// When the last successful relist began (kubelet_pleg_last_seen_seconds; 1.18 and later)
        last_seen: Option<Time> = match it.1.last_seen {
            Some(Seen::At(at)) => Some(at),
            Some(Seen::Never) | None => None,
        },
        /// Whether no relist has succeeded yet, by the metrics
        never_seen: bool = it.1.last_seen == Some(Seen::Never),
        /// How long ago that was
        relist_age_seconds: Option<f64> = it.0.relist_age().map(|age| seconds(age.least())),
        /// Whether it is exactly so; else, in a saved file, it is at least so
        relist_age_is_exact: bool = matches!(it.0.relist_age(), Some(Age::Exactly(_))),
        /// The age beyond which the PLEG is unhealthy
        threshold_seconds: f64 = seconds(it.0.threshold()),
        /// Whether the feature gate EventedPLEG is on, so that relists are rare
        evented: bool = it.1.evented,
        /// Duration of completed relists
        relist: &Option<Quantiles> = &it.1.relist,
        /// Interval between the starts of relists
        interval: &Option<Quantiles> = &it.1.interval,
        /// Events of relists that were discarded
        discarded_events: Option<f64> = it.1.discarded,
        /// Running pods
        running_pods: Option<f64> = it.1.pods,
        /// Running containers
        running_containers: Option<f64> = it.1.containers,
        /// The calls to the runtime since the start, by type: container_status, list_podsandbox
        operations: &BTreeMap<String, Operation> = &it.1.operations,
    }
}

json_object! {
    Quantiles as it {
        /// Their number
        count: f64,
        /// Their sum
        sum_seconds: f64 = it.sum => {"minimum": null},
        /// The period: a histogram counts since the start of the kubelet, a summary (1.17 and before) covers the last
        /// minutes
        covers: &str = if it.is_recent() { "last_10_minutes" } else { "since_start" }
            => {"enum": ["since_start", "last_10_minutes"]},
        p50: Bound = it.quantile(0.5),
        p90: Bound = it.quantile(0.9),
        p99: Bound = it.quantile(0.99),
    }
}

json_object! {
    Bound as it {
        /// What the seconds are: the upper bound of its bucket, the largest bound (it is over that), or about the
        /// value
        is: &str = match it {
            Bound::AtMost(_) => "at_most",
            Bound::Over(_) => "over",
            Bound::About(_) => "about",
        } => {"enum": ["at_most", "over", "about"]},
        /// Seconds
        seconds: f64 = it.seconds() => {"minimum": null},
    }
}

json_object! {
    Operation as it {
        /// Calls begun
        calls: f64,
        /// Calls failed
        errors: f64,
        /// Duration of completed calls
        took: Option<Quantiles>,
    }
}

json_object! {
    Health as it {
        /// A URL
        source: String,
        probe: Probe,
        /// Whether the kubelet reports healthy; null if there was no answer
        well: Option<bool>,
        /// Its parts, where it lists them
        checks: Vec<Check>,
    }
}

json_object! {
    Check as it {
        /// ping, log, syncloop
        name: String,
        /// Whether it is OK
        ok: bool,
    }
}
