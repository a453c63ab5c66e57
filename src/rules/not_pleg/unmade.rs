//! Sandboxes fail one after the other while the PLEG is well: good to know, since no pod starts so long, and no trouble of
//! the relist. Time-outs and a runtime that is gone are other findings.

use super::RULE;
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Risk, Severity, Variant};
use crate::kubelet::event::{ErrorClass, Kind};
use crate::kubelet::summary::{Group, Log};
use crate::rules::lines::Lines;
use crate::rules::remedies::{RuntimeStack, remedy};
use crate::rules::{clock, node};
use chrono::TimeDelta;

/// Fewer lines, of which each try leaves two or three, may be a boot's, before the network add-on runs.
const MANY: u64 = 20;
/// … and in a shorter time than that an add-on is restarted.
const LASTS: TimeDelta = TimeDelta::seconds(60);
/// The kubelet tries a pod again after 5 minutes at the latest.
const RETRIES: TimeDelta = TimeDelta::minutes(5);

/// Returns what is to be said of it, where nothing worse is found.
pub(super) fn tell(evidence: &Evidence, log: &Log, found: &[Finding]) -> Option<Finding> {
    let worse = |finding: &Finding| finding.active && finding.severity != Severity::Info;
    if found.iter().any(worse) || log.has_outage() {
        return None;
    }
    let mut lines = Lines::of(evidence, &[Kind::RunSandboxFailed]);
    lines.0.retain(fails_by_itself);
    let lines = lines.latest();
    let (first, last) = lines.first().zip(lines.last())?;
    let goes_on = lines.are_recent(evidence, RETRIES);
    if lines.number() < MANY || last - first < LASTS || !goes_on {
        return None;
    }
    let newest = lines.0.iter().max_by_key(|group| group.last.at)?;
    let error = newest.last.error.as_ref()?;
    let passed_on = match error.is_of_network() {
        true => " The runtime is well, and passes on what its network plugin said.",
        false => "",
    };
    let node_name = log.node.as_deref().unwrap_or("NODE");
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: "The PLEG is well, but new sandboxes fail one after the other".to_owned(),
        severity: Severity::Info,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "Tries to make a sandbox failed from {} to {} ({}), and a pod whose sandbox is not made does not start. The last one says: \"{}\".{passed_on} The kubelet's relist needs no new sandbox, so the node stays Ready.",
            clock(evidence, Some(first)),
            clock(evidence, Some(last)),
            lines.counted(),
            error.text
        ),
        subjects: vec![node(evidence)],
        citations: lines.cite(2),
        remedies: vec![
            remedy(
                "See whether the network add-on's pods run on this node",
                Risk::Safe,
                format!("kubectl get pods -A -o wide --field-selector spec.nodeName={node_name}"),
                "nothing",
            ),
            remedy(
                "See what the runtime says of its network",
                Risk::Safe,
                format!(
                    "ls -l /etc/cni/net.d; timeout 10 {} info",
                    RuntimeStack::new(evidence).crictl()
                ),
                "nothing",
            ),
        ],
        spans: Vec::new(),
    })
}

/// Whether it failed at once, in what the runtime itself did or passed on.
fn fails_by_itself(group: &&Group) -> bool {
    let error = group.first.error.as_ref();
    error.is_some_and(|error| {
        let others = [
            ErrorClass::Deadline,
            ErrorClass::Unavailable,
            ErrorClass::NoResources,
            ErrorClass::Canceled,
        ];
        error.is_of_network() && error.class != ErrorClass::Deadline
            || !others.contains(&error.class)
    })
}
