//! An unhealthy PLEG that no log tells: by the kubelet's metrics, or by its health check's word on the sync loop.

use super::{RULE, remedies};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Severity, Variant},
    kubelet::Health,
    rules::{
        kubelet::{self, cite},
        node, took,
    },
    syntax::{citation::Citation, duration},
};

/// Returns the finding where the kubelet itself says that no relist lists; `ruled_out` is what the rest excludes.
pub(super) fn tell(evidence: &Evidence, ruled_out: &str) -> Option<Finding> {
    let kubelet = kubelet::of(evidence)?;
    let stuck = kubelet.stuck_loop();
    let (what, mut citations) = match kubelet.overdue() {
        Some(age) => {
            let words = kubelet::lag(kubelet, age);
            let limit = duration::human(kubelet.threshold());
            let what = format!(
                "By the kubelet's metrics {words}; the limit is {limit}, so it calls its PLEG unhealthy and the node is NotReady."
            );
            (what, vec![cite(kubelet, words)])
        }
        None => {
            let what = "The kubelet's health check says that its sync loop has not come round for 5 minutes, as happens while it calls its PLEG or its runtime unhealthy. Its metrics, which would tell which, were not seen or show no late relist.";
            (what.to_owned(), Vec::new())
        }
    };
    citations.extend(stuck.map(|health| cite_health(evidence, health)));
    if citations.is_empty() {
        return None;
    }
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match kubelet.overdue() {
            Some(_) => "The PLEG is unhealthy, and the evidence does not tell why",
            None => "The kubelet's sync loop stands still, and the evidence does not tell why",
        }
        .to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!("{what} {ruled_out}"),
        subjects: vec![node(evidence)],
        citations,
        remedies: remedies(evidence, true, None),
        spans: Vec::new(),
    })
}

fn cite_health(evidence: &Evidence, health: &Health) -> Citation {
    let failed: Vec<_> = health.failed().map(|check| check.name.as_str()).collect();
    Citation {
        is_call: true,
        source: "kubelet healthz".to_owned().into(),
        line: None,
        time: Some(evidence.now),
        text: format!(
            "not well: {}, in {}",
            failed.join(", "),
            took(&health.probe)
        )
        .into(),
    }
}
