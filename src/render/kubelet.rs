//! What the kubelet itself said, in a few lines for people.

use crate::kubelet::{Age, Health, Kubelet, Metrics, Operation, Quantiles, Seen};
use crate::rules::took;
use crate::syntax::duration;
use chrono::TimeDelta;

const MAX_OPERATIONS: usize = 3;

pub(super) fn items(kubelet: &Kubelet) -> Vec<String> {
    let mut items = Vec::new();
    if let (Some(source), Some(metrics)) = (&kubelet.source, &kubelet.metrics) {
        let mut parts = Vec::new();
        parts.extend(seen(kubelet, metrics));
        parts.extend(metrics.relist.as_ref().map(|it| spread("relists", it)));
        parts.extend(failures(metrics));
        let version = metrics.version.as_deref().map(|it| format!(" {it}"));
        let version = version.unwrap_or_default();
        let up = kubelet.age().and_then(|age| TimeDelta::from_std(age).ok());
        let up = up.map_or_else(String::new, |age| {
            format!(", up for {}", duration::human(age))
        });
        let details = parts.join("; ");
        items.push(format!(
            "kubelet{version} metrics at {}{up}: {details}",
            source.name
        ));
    }
    let answered = || kubelet.health.iter().filter(|it| it.well.is_some());
    if answered().count() > 1 && answered().all(|it| it.well == Some(true)) {
        let names: Vec<_> = answered().map(name).collect();
        items.push(format!(
            "kubelet health checks at {}: OK",
            names.join(" and ")
        ));
    } else {
        items.extend(answered().map(health));
    }
    items
}

fn seen(kubelet: &Kubelet, metrics: &Metrics) -> Option<String> {
    let age = match (kubelet.relist_age(), metrics.last_seen) {
        (Some(Age::Exactly(age)), _) => duration::human(age),
        (Some(Age::AtLeast(age)), _) if age > TimeDelta::zero() => {
            let age = duration::human(age);
            return Some(format!(
                "last successful relist began at least {age} before they were saved"
            ));
        }
        (_, Some(Seen::Never)) => return Some("no relist has succeeded yet".to_owned()),
        _ => return None,
    };
    Some(format!("last successful relist began {age} ago"))
}

fn spread(what: &str, spread: &Quantiles) -> String {
    let (half, most) = (spread.quantile(0.5), spread.quantile(0.99));
    let since = if spread.is_recent() {
        "in the last 10 minutes"
    } else {
        "since startup"
    };
    format!(
        "{what} ({:.0} {since}): median {half}, 99th percentile {most}",
        spread.count
    )
}

fn failures(metrics: &Metrics) -> Option<String> {
    let mut failed: Vec<(&String, &Operation)> = metrics
        .operations
        .iter()
        .filter(|(_, operation)| operation.errors > 0.0)
        .collect();
    failed.sort_by(|a, b| b.1.errors.total_cmp(&a.1.errors));
    let named: Vec<_> = failed
        .iter()
        .take(MAX_OPERATIONS)
        .map(|(kind, operation)| {
            format!("{:.0} of {:.0} {kind}", operation.errors, operation.calls)
        })
        .collect();
    (!named.is_empty()).then(|| format!("failed calls since startup: {}", named.join(", ")))
}

fn name(health: &Health) -> &str {
    let name = health.source.strip_suffix("?verbose");
    name.unwrap_or(&health.source)
}

fn health(health: &Health) -> String {
    let (name, took) = (name(health), took(&health.probe));
    let failed: Vec<_> = health.failed().map(|check| check.name.as_str()).collect();
    let state = match health.well {
        Some(true) => "OK".to_owned(),
        _ if failed.is_empty() => "failing".to_owned(),
        _ => format!("failing: {}", failed.join(", ")),
    };
    format!("kubelet health check at {name}: {state}, in {took}")
}
