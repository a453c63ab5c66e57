//! `not-pleg`: the node is NotReady, and it is not the PLEG.

use super::{Rule, cite_groups, clock, last_of, lasts, node};
use crate::{
    digest::{Group, Log},
    event::{ErrorClass, Event, Kind},
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity},
    incident::START_UP,
};

pub(super) const RULE: Rule = Rule {
    id: "not-pleg",
    title: "The node is NotReady for another reason than the PLEG",
    explains: false,
    check,
};

/// Another illness, and the words for it.
struct Other<'a> {
    lines: Vec<&'a Group>,
    title: &'static str,
    explanation: &'static str,
    look: &'static str,
}

fn check(evidence: &Evidence) -> Vec<Finding> {
    let Some(log) = &evidence.log else {
        return Vec::new();
    };
    if !log.incidents.is_empty() {
        return Vec::new();
    }
    others(log)
        .into_iter()
        .filter(|other| !other.lines.is_empty())
        .map(|other| tell(evidence, &other))
        .collect()
}

fn others(log: &Log) -> Vec<Other<'_>> {
    vec![
        Other {
            lines: network(log),
            title: "The node is NotReady because its network is not ready, not because of the PLEG",
            explanation: "The kubelet reports that the runtime's network plugin (CNI) is not set up. Its relist works.",
            look: "ls -l /etc/cni/net.d; crictl info",
        },
        Other {
            lines: log
                .of(&[Kind::ReadyCondition])
                .filter(|group| is_unknown(&group.last))
                .collect(),
            title: "The kubelet stopped reporting: the node's state is Unknown, which is not the PLEG",
            explanation: "The condition says NodeStatusUnknown: the control plane heard nothing from the kubelet. A kubelet with an unhealthy PLEG still reports, with the reason KubeletNotReady.",
            look: "systemctl status kubelet --no-pager; journalctl -u kubelet -n 50 --no-pager",
        },
        Other {
            lines: cut_off(log),
            title: "The kubelet cannot report its node's status, which is not the PLEG",
            explanation: "The kubelet's updates of its node or lease fail: the API server or the way to it is in trouble. After 40 s without an update the control plane calls the node NotReady or Unknown, although its relist works.",
            look: "curl -k --max-time 5 https://API-SERVER:6443/readyz",
        },
    ]
}

/// Network items after the kubelet's first minute, where no line says that the runtime itself was not ready.
fn network(log: &Log) -> Vec<&Group> {
    let settled = |group: &&Group| {
        group.last.at.is_none_or(|last| {
            let started = log
                .starts
                .iter()
                .rev()
                .find_map(|s| s.at.filter(|at| *at <= last))
                .or(log.first);
            started.is_none_or(|started| last - started > START_UP)
        })
    };
    log.of(&[Kind::CniNotReady]).filter(settled).collect()
}

fn is_unknown(event: &Event) -> bool {
    event.detail.as_deref() == Some("NodeStatusUnknown")
}

/// Failed updates, unless it was one or two: a single retry is ordinary.
fn cut_off(log: &Log) -> Vec<&Group> {
    let lines: Vec<_> = log
        .of(&[Kind::NodeStatusUpdateFailed, Kind::LeaseUpdateFailed])
        .filter(|group| {
            group
                .first
                .error
                .as_ref()
                .is_none_or(|error| error.class != ErrorClass::NotFound)
        })
        .collect();
    if lines.iter().map(|group| group.count).sum::<u64>() >= 5 {
        lines
    } else {
        Vec::new()
    }
}

fn tell(evidence: &Evidence, other: &Other) -> Finding {
    let last = last_of(&other.lines);
    let first = other.lines.iter().filter_map(|group| group.first.at).min();
    let active = lasts(evidence, last);
    Finding {
        id: RULE.id,
        title: other.title.to_owned(),
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active,
        explanation: match first {
            Some(_) => format!(
                "{} Seen from {} to {}.",
                other.explanation,
                clock(first),
                clock(last)
            ),
            None => other.explanation.to_owned(),
        },
        subjects: vec![node(evidence)],
        citations: cite_groups(&other.lines, 4),
        remedies: if active {
            vec![Remedy {
                title: "Look there".to_owned(),
                risk: Risk::Safe,
                command: other.look.to_owned(),
                cost: "nothing".to_owned(),
            }]
        } else {
            Vec::new()
        },
    }
}
