//! `container-pileup`: so many stopped containers that listing or inspecting them is slow.

use super::{Rule, cite_probe, count, list_too_large::stopped, node, remedies::clean};
use crate::{
    evidence::Evidence,
    finding::{Citation, Confidence, Finding, Severity},
    runtime::{Outcome, Runtime},
};
use std::time::Duration;

pub(super) const RULE: Rule = Rule {
    id: "container-pileup",
    title: "So many stopped containers that every relist is slow",
    explains: true,
    check,
};

/// Fewer stopped containers are no pile: a node with the default 110 pods keeps one or two for each container.
const MANY: usize = 300;
/// A relist is meant to run every second; one that takes longer is late for the next.
const SLOW_LIST: Duration = Duration::from_secs(1);
/// Inspects that take this long at the median are 100 times slower than normal (a few milliseconds).
const SLOW_INSPECT: Duration = Duration::from_millis(500);
/// A lag that the pile alone explains.
const THRESHOLD: Duration = Duration::from_secs(180);

fn check(evidence: &Evidence) -> Vec<Finding> {
    let Some(runtime) = evidence
        .runtime
        .as_ref()
        .filter(|r| r.list.outcome == Outcome::Answered)
    else {
        return Vec::new();
    };
    let pile = stopped(runtime);
    let inspect = median_inspect(runtime);
    if pile < MANY || (runtime.list.took < SLOW_LIST && inspect < SLOW_INSPECT) {
        return Vec::new();
    }
    // A relist lists twice (sandboxes, then containers) and, after a kubelet's start, inspects everything.
    let all = u32::try_from(runtime.containers.len()).unwrap_or(u32::MAX);
    let relist = runtime.list.took * 2;
    let full = relist + inspect * all;
    let outage = evidence
        .log
        .as_ref()
        .is_some_and(|log| log.incidents.iter().any(|i| i.culprits.is_empty()));
    let mut citations = vec![cite_probe("docker ps -a", runtime, &runtime.list)];
    citations.push(Citation {
        is_call: true,
        source: "docker inspect".to_owned(),
        line: None,
        time: Some(runtime.asked_at),
        text: format!(
            "{:.0} ms each at the median",
            inspect.as_secs_f64() * 1000.0
        ),
    });
    vec![Finding {
        id: RULE.id,
        title: format!("{pile} stopped containers make every relist slow"),
        severity: if outage || full > THRESHOLD {
            Severity::Critical
        } else {
            Severity::Warning
        },
        confidence: if outage {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active: true,
        explanation: format!(
            "Docker has {}, {pile} of them stopped. Listing them takes {:.1} s and the kubelet lists twice each time, so a relist that should run every second takes {:.1} s at least, and {:.0} s where it has to inspect them all. At 3 minutes the node goes NotReady.",
            count(runtime.containers.len(), "container"),
            runtime.list.took.as_secs_f64(),
            relist.as_secs_f64(),
            full.as_secs_f64(),
        ),
        subjects: vec![node(evidence)],
        citations,
        remedies: clean(
            evidence,
            "exited",
            "the logs of the removed containers; running ones are not touched",
        ),
    }]
}

fn median_inspect(runtime: &Runtime) -> Duration {
    let mut took: Vec<_> = runtime
        .containers
        .iter()
        .filter(|c| c.probe.outcome == Outcome::Answered)
        .map(|c| c.probe.took)
        .collect();
    took.sort();
    took.get(took.len() / 2).copied().unwrap_or_default()
}
