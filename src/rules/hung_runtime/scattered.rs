//! Status calls that time out for one container after the other, each of which answers the next time: none of them
//! hangs, the runtime is too slow for all.

use super::{Part, RULE, culprit};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity, Variant},
    rules::{clock, count, daemon, hung_container::in_turn, remedies::save_stacks},
};

pub(super) fn told(evidence: &Evidence) -> Option<Finding> {
    let (containers, lines) = in_turn(evidence)?;
    let active = lines.go_on(evidence);
    let log = evidence.log.as_ref()?;
    let (first, last) = (
        clock(evidence, lines.first()),
        clock(evidence, lines.last()),
    );
    let containers = count(containers, "container");
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match active {
            true => format!(
                "The container runtime is too slow: status calls for {containers} time out in turn"
            ),
            false => format!(
                "The container runtime was too slow for a time: status calls for {containers} timed out in turn"
            ),
        },
        severity: match active && log.has_outage() {
            true => Severity::Critical,
            false => Severity::Warning,
        },
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "The kubelet's status calls for {containers} timed out, one after the other ({}, {first} to {last}). The relists after that asked them again, and they had answered: which ones it hits is chance, and to end one process helps nobody. The runtime is slow for all: its disk, its memory or its processors, mostly. Each of these calls costs a relist 2 minutes of its 3.",
            lines.counted()
        ),
        subjects: vec![daemon(culprit(evidence, Part::Inspects))],
        citations: lines.cite(6),
        remedies: match active {
            true => vec![see_pressure(), save_stacks(evidence)],
            false => Vec::new(),
        },
        spans: lines.spans(),
    })
}

fn see_pressure() -> Remedy {
    Remedy {
        title: "See what the machine is short of".to_owned(),
        risk: Risk::Safe,
        command: "head /proc/pressure/*; iostat -x 1 3; uptime".to_owned(),
        cost: "nothing; it only looks".to_owned(),
        actions: Vec::new(),
    }
}
