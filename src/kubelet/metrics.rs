//! The kubelet's metrics on its relist and its runtime, by every name that releases gave them.
//!
//! Counts and histograms count from the kubelet's start, so one that is slow may have been so long ago. A relist that
//! has not ended is in none of them; its age is in `last_seen`.

use super::histogram::Quantiles;
use super::prometheus_text;
use super::prometheus_text::{Line, Sample};
use crate::syntax::time::Time;
use chrono::DateTime;
use std::collections::BTreeMap;

/// Most types of operation kept; the kubelet has some thirty.
const MAX_OPERATIONS: usize = 128;
/// Most buckets or quantiles of one metric.
const MAX_BUCKETS: usize = 256;
const MAX_NAME: usize = 128;
const MICROS: f64 = 1e6;

/// When the PLEG was last seen active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// Not yet: no relist has succeeded since the kubelet's start, or only just.
    Never,
    /// The last relist that listed began then (`kubelet_pleg_last_seen_seconds`, whole seconds; 1.18 and later).
    At(Time),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    pub node: Option<String>,
    pub version: Option<String>,
    pub started: Option<Time>,
    /// The youngest moment that they name: they are not older (the last garbage collection, every 2 minutes at least).
    pub newest: Option<Time>,
    pub last_seen: Option<Seen>,
    /// Whether it takes the runtime's events instead of relisting every second (feature gate EventedPLEG).
    pub evented: bool,
    /// How long relists took that ended.
    pub relist: Option<Quantiles>,
    /// From one relist's start to the next one's: its duration, and a second.
    pub interval: Option<Quantiles>,
    /// Events of relists that found no room.
    pub discarded: Option<f64>,
    /// The kubelet's calls to its runtime, by type: `container_status`, `list_podsandbox`.
    pub operations: BTreeMap<String, Operation>,
    pub pods: Option<f64>,
    pub containers: Option<f64>,
}

/// The kubelet's calls of one type to its runtime, since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Operation {
    /// How many were begun.
    pub calls: f64,
    pub errors: f64,
    /// How long those took that ended, failed or not.
    pub took: Option<Quantiles>,
}

impl Metrics {
    /// Reads the text of all the kubelet's metrics; `None` where none of them is a kubelet's.
    pub fn read(body: &[u8]) -> Option<Self> {
        let mut draft = Draft::default();
        let lines = body.split(|byte| *byte == b'\n');
        for line in lines.filter_map(|line| std::str::from_utf8(line).ok()) {
            draft.take(line);
        }
        draft.any.then(|| draft.finish())
    }
}

#[derive(Clone, Debug, Default)]
struct Parts {
    points: Vec<(f64, f64)>,
    sum: Option<f64>,
    count: Option<f64>,
}

impl Parts {
    fn take(&mut self, suffix: &str, sample: &Sample<'_>) {
        let point = |name| sample.label(name).and_then(|value| value.parse().ok());
        match suffix {
            "_sum" => self.sum = Some(sample.value),
            "_count" => self.count = Some(sample.value),
            _ if self.points.len() >= MAX_BUCKETS => {}
            "_bucket" => self.points.extend(point("le").map(|le| (le, sample.value))),
            _ => self
                .points
                .extend(point("quantile").map(|quantile| (quantile, sample.value))),
        }
    }

    fn histogram(self) -> Option<Quantiles> {
        Quantiles::histogram(self.points, self.sum, self.count)
    }

    fn summary(self) -> Option<Quantiles> {
        Quantiles::summary(self.points, MICROS, self.sum, self.count)
    }
}

/// A metric that has been renamed, or changed its kind: what is new is believed before what is old.
#[derive(Clone, Debug, Default)]
struct Durations {
    seconds: Parts,
    micros: Parts,
}

impl Durations {
    fn finish(self) -> Option<Quantiles> {
        self.seconds.histogram().or_else(|| self.micros.summary())
    }
}

#[derive(Default)]
struct Draft {
    any: bool,
    metrics: Metrics,
    relist: Durations,
    interval: Durations,
    operations: BTreeMap<String, (Operation, Durations)>,
}

const RELIST: &str = "kubelet_pleg_relist_duration_seconds";
const RELIST_MICROS: &str = "kubelet_pleg_relist_latency_microseconds";
const INTERVAL: &str = "kubelet_pleg_relist_interval_seconds";
const INTERVAL_MICROS: &str = "kubelet_pleg_relist_interval_microseconds";
const OPERATIONS: &str = "kubelet_runtime_operations";

impl Draft {
    fn take(&mut self, text: &str) {
        let name = prometheus_text::name(text);
        let own = name.starts_with("kubelet_");
        let other = name.starts_with("process_") || name.starts_with("go_memstats_last");
        if !own && !other && !name.starts_with("kubernetes_build_info") {
            return;
        }
        let Line::Sample(sample) = prometheus_text::line(text) else {
            return;
        };
        self.any |= own;
        let name = sample.name;
        if let Some(suffix) = name.strip_prefix(OPERATIONS) {
            return self.operation(suffix, &sample);
        }
        for (prefix, parts) in [
            (RELIST, &mut self.relist.seconds),
            (RELIST_MICROS, &mut self.relist.micros),
            (INTERVAL, &mut self.interval.seconds),
            (INTERVAL_MICROS, &mut self.interval.micros),
        ] {
            if let Some(suffix) = name.strip_prefix(prefix) {
                return parts.take(suffix, &sample);
            }
        }
        self.single(&sample);
    }

    fn single(&mut self, sample: &Sample<'_>) {
        let (metrics, value) = (&mut self.metrics, sample.value);
        let label = |name| {
            let label = sample.label(name)?;
            (label.len() <= MAX_NAME && !label.is_empty()).then(|| label.to_owned())
        };
        let number = Some(value).filter(|value| value.is_finite() && *value >= 0.0);
        match sample.name {
            "kubelet_pleg_last_seen_seconds" if value == 0.0 => {
                metrics.last_seen = Some(Seen::Never);
            }
            "kubelet_pleg_last_seen_seconds" => metrics.last_seen = unix(value).map(Seen::At),
            "kubelet_pleg_discard_events" => metrics.discarded = number,
            "kubelet_running_pods" | "kubelet_running_pod_count" => metrics.pods = number,
            "kubelet_running_containers" | "kubelet_running_container_count" => {
                let state = sample.label("container_state");
                if state.is_none_or(|state| state == "running") {
                    metrics.containers = number;
                }
            }
            "kubelet_node_name" => metrics.node = label("node"),
            "kubernetes_build_info" => {
                metrics.version = label("git_version").or_else(|| label("gitVersion"));
            }
            "process_start_time_seconds" => metrics.started = unix(value),
            "go_memstats_last_gc_time_seconds" => metrics.newest = unix(value),
            name if name.starts_with("kubelet_evented_pleg_connection") => metrics.evented = true,
            _ => {}
        }
    }

    fn operation(&mut self, suffix: &str, sample: &Sample<'_>) {
        let kind = sample.label("operation_type");
        let Some(kind) = kind.filter(|kind| !kind.is_empty() && kind.len() <= MAX_NAME) else {
            return;
        };
        if !self.operations.contains_key(kind) && self.operations.len() >= MAX_OPERATIONS {
            return;
        }
        let (operation, took) = self.operations.entry(kind.to_owned()).or_default();
        let number = if sample.value.is_finite() {
            sample.value.max(0.0)
        } else {
            0.0
        };
        if let Some(suffix) = suffix.strip_prefix("_duration_seconds") {
            return took.seconds.take(suffix, sample);
        }
        if let Some(suffix) = suffix.strip_prefix("_latency_microseconds") {
            return took.micros.take(suffix, sample);
        }
        match suffix {
            // Both names were there for some releases, with the same number.
            "_total" | "" => operation.calls = operation.calls.max(number),
            "_errors_total" | "_errors" => operation.errors = operation.errors.max(number),
            _ => {}
        }
    }

    fn finish(self) -> Metrics {
        let operations = self.operations.into_iter();
        let operations = operations.map(|(kind, (operation, took))| {
            let took = took.finish();
            (kind, Operation { took, ..operation })
        });
        // The kubelet's last relist is a moment that they name, too.
        let seen = match self.metrics.last_seen {
            Some(Seen::At(seen)) => Some(seen),
            _ => None,
        };
        Metrics {
            relist: self.relist.finish(),
            interval: self.interval.finish(),
            operations: operations.collect(),
            newest: self.metrics.newest.into_iter().chain(seen).max(),
            ..self.metrics
        }
    }
}

/// The moment that many seconds after 1970 is, if it can be one.
fn unix(seconds: f64) -> Option<Time> {
    // From 2001 to 2286: what is not, is no moment of a kubelet's.
    if !(1e9..1e10).contains(&seconds) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "between 1e12 and 1e13, checked above"
    )]
    let millis = (seconds * 1000.0) as i64;
    Some(DateTime::from_timestamp_millis(millis)?.fixed_offset())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::Bound;

    fn read(text: &str) -> Metrics {
        Metrics::read(text.as_bytes()).unwrap_or_else(|| panic!("no kubelet's: {text}"))
    }

    #[test]
    fn a_page_that_is_no_kubelets_is_nothing() {
        for text in [
            "",
            "<html>kubelet_x 1</html>",
            "go_goroutines 5\nprocess_start_time_seconds 1.7e9\n",
            "# HELP kubelet_running_pods x\n",
            "kubelet_running_pods many\n",
            "\u{0}\u{0}",
        ] {
            assert_eq!(Metrics::read(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn old_names_and_summaries_in_microseconds_are_read() {
        let metrics = read(
            "kubelet_pleg_relist_latency_microseconds{quantile=\"0.5\"} 1510\n\
             kubelet_pleg_relist_latency_microseconds{quantile=\"0.99\"} 2.6e+06\n\
             kubelet_pleg_relist_latency_microseconds_sum 1.8e+07\n\
             kubelet_pleg_relist_latency_microseconds_count 400\n\
             kubelet_pleg_relist_interval_microseconds{quantile=\"0.99\"} 3.6e+06\n\
             kubelet_runtime_operations{operation_type=\"container_status\"} 41\n\
             kubelet_runtime_operations_errors{operation_type=\"container_status\"} 2\n\
             kubelet_runtime_operations_latency_microseconds{operation_type=\"container_status\",quantile=\"0.5\"} 9000\n\
             kubelet_running_pod_count 7\nkubelet_running_container_count 11\n",
        );
        let relist = metrics.relist.unwrap();
        assert_eq!(relist.quantile(0.5), Bound::About(0.00151));
        assert_eq!(relist.quantile(0.99), Bound::About(2.6));
        assert!(relist.is_recent());
        assert_eq!((relist.count, relist.mean()), (400.0, Some(0.045)));
        assert_eq!(metrics.interval.unwrap().quantile(0.99), Bound::About(3.6));
        let operation = &metrics.operations["container_status"];
        assert_eq!((operation.calls, operation.errors), (41.0, 2.0));
        let took = operation.took.as_ref().unwrap();
        assert_eq!(took.quantile(0.5), Bound::About(0.009));
        assert_eq!((metrics.pods, metrics.containers), (Some(7.0), Some(11.0)));
        assert_eq!((metrics.last_seen, metrics.evented), (None, false));
    }

    #[test]
    fn where_both_forms_are_given_the_histogram_counts() {
        let metrics = read(
            "kubelet_pleg_relist_latency_microseconds{quantile=\"0.99\"} 1\n\
             kubelet_pleg_relist_duration_seconds_bucket{le=\"1\"} 10\n\
             kubelet_pleg_relist_duration_seconds_bucket{le=\"+Inf\"} 12\n\
             kubelet_runtime_operations{operation_type=\"version\"} 5\n\
             kubelet_runtime_operations_total{operation_type=\"version\"} 5\n",
        );
        assert_eq!(metrics.relist.unwrap().quantile(0.99), Bound::Over(1.0));
        assert_eq!(metrics.operations["version"].calls, 5.0);
    }

    #[test]
    fn only_running_containers_are_counted() {
        let metrics = read(
            "kubelet_running_containers{container_state=\"created\"} 3\n\
             kubelet_running_containers{container_state=\"running\"} 8\n\
             kubelet_running_containers{container_state=\"exited\"} 40\nkubelet_running_pods 4\n",
        );
        assert_eq!((metrics.pods, metrics.containers), (Some(4.0), Some(8.0)));
    }

    #[test]
    fn moments_node_version_and_the_feature_gate_are_told() {
        let metrics = read(
            "kubelet_pleg_last_seen_seconds 1.796011664e+09\n\
             process_start_time_seconds 1.79601106471e+09\n\
             go_memstats_last_gc_time_seconds 1.7960117e+09\n\
             kubelet_node_name{node=\"worker-3\"} 1\n\
             kubernetes_build_info{git_version=\"v1.29.1\",platform=\"linux/amd64\"} 1\n\
             kubelet_evented_pleg_connection_success_count 0\n",
        );
        let text = |time: Time| time.to_rfc3339();
        let Some(Seen::At(seen)) = metrics.last_seen else {
            panic!("{metrics:?}")
        };
        assert_eq!(text(seen), "2026-11-30T04:07:44+00:00");
        assert_eq!(
            metrics.started.map(text).unwrap(),
            "2026-11-30T03:57:44.710+00:00"
        );
        assert_eq!(
            metrics.newest.map(text).unwrap(),
            "2026-11-30T04:08:20+00:00"
        );
        assert_eq!(metrics.node.unwrap(), "worker-3");
        assert_eq!(metrics.version.unwrap(), "v1.29.1");
        assert!(metrics.evented);
        assert_eq!(
            read("kubelet_pleg_last_seen_seconds 0\n").last_seen,
            Some(Seen::Never)
        );
    }

    #[test]
    fn hostile_values_are_left_out() {
        for value in ["NaN", "+Inf", "-Inf", "-1", "1e300", "-0.5", "12"] {
            let metrics = read(&format!(
                "kubelet_pleg_last_seen_seconds {value}\nprocess_start_time_seconds {value}\n\
                 kubelet_runtime_operations_total{{operation_type=\"x\"}} {value}\n\
                 kubelet_pleg_relist_duration_seconds_bucket{{le=\"{value}\"}} {value}\n\
                 kubelet_pleg_relist_duration_seconds_sum {value}\n"
            ));
            assert_eq!(metrics.last_seen, None, "{value}");
            assert_eq!(metrics.started, None, "{value}");
            assert!(metrics.operations["x"].calls.is_finite(), "{value}");
        }
    }

    #[test]
    fn however_many_labels_memory_is_bounded() {
        let many: String = (0..10_000)
            .map(|n| format!("kubelet_runtime_operations_total{{operation_type=\"t{n}\"}} 1\n"))
            .chain((0..10_000).map(|n| {
                format!("kubelet_pleg_relist_duration_seconds_bucket{{le=\"{n}\"}} {n}\n")
            }))
            .collect();
        let metrics = read(&many);
        assert_eq!(metrics.operations.len(), MAX_OPERATIONS);
        let long = format!(
            "kubelet_runtime_operations_total{{operation_type=\"{}\"}} 1\nkubelet_node_name{{node=\"{}\"}} 1\n",
            "x".repeat(MAX_NAME + 1),
            "n".repeat(MAX_NAME + 1)
        );
        let metrics = read(&long);
        assert!(metrics.operations.is_empty() && metrics.node.is_none());
    }
}
