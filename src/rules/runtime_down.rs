//! `runtime-down`: nothing answers on the runtime's socket.
//!
//! The kubelet's words "container runtime is down" alone decide nothing: it says so in a hang too.

use super::{
    Rule, cite_groups, cite_probe, clock, daemon, first_of, last_of, lasts, lines_of, probe_text,
};
use crate::{
    digest::Group,
    event::{ErrorClass, Kind},
    evidence::Evidence,
    finding::{Confidence, Finding, Remedy, Risk, Severity},
    runtime::Outcome,
};

pub(super) const RULE: Rule = Rule {
    id: "runtime-down",
    title: "The container runtime is not running, or nothing listens on its socket",
    explains: true,
    check,
};

const CALLS: &[Kind] = &[
    Kind::ListSandboxesFailed,
    Kind::ListContainersFailed,
    Kind::ListStreamFailed,
    Kind::RelistFailed,
    Kind::RuntimeVersionFailed,
    Kind::RuntimeStatusFailed,
    Kind::RuntimeSanityFailed,
    Kind::CriConnectFailed,
    Kind::RunSandboxFailed,
    Kind::SandboxStatusFailed,
    Kind::ContainerStatusFailed,
    Kind::RuntimeNotReady,
    Kind::ContainerGcFailed,
    Kind::CleanPodsFailed,
];

fn check(evidence: &Evidence) -> Vec<Finding> {
    let logged: Vec<&Group> = evidence
        .log
        .iter()
        .flat_map(|log| log.failed(CALLS, ErrorClass::Unavailable))
        .collect();
    // Whether a missing socket means anything is settled before: it is evidence only where this kubelet uses
    // Docker, else a gap and no runtime.
    let refused = evidence
        .runtime
        .as_ref()
        .filter(|runtime| runtime.ping.outcome == Outcome::Refused);
    if logged.is_empty() && refused.is_none() {
        return Vec::new();
    }
    let answers = evidence
        .runtime
        .as_ref()
        .is_some_and(|runtime| runtime.ping.outcome == Outcome::Answered);
    let active = refused.is_some() || (!answers && lasts(evidence, last_of(&logged)));
    let mut citations = cite_groups(&logged, 5);
    if let Some(runtime) = &evidence.runtime {
        citations.push(cite_probe("docker ping", runtime, &runtime.ping));
    }
    let both = refused.is_some() && !logged.is_empty();
    vec![Finding {
        id: RULE.id,
        title: if active {
            "The container runtime is down"
        } else {
            "The container runtime was down for a time"
        }
        .to_owned(),
        severity: Severity::Critical,
        confidence: if both {
            Confidence::Confirmed
        } else {
            Confidence::Suspected
        },
        active,
        explanation: explain(evidence, &logged, refused.is_some(), answers),
        subjects: vec![daemon(if refused.is_some() || evidence.runtime.is_some() {
            "dockerd"
        } else {
            "container runtime"
        })],
        citations,
        remedies: if active { remedies() } else { Vec::new() },
    }]
}

fn explain(evidence: &Evidence, logged: &[&Group], refused: bool, answers: bool) -> String {
    let mut text = Vec::new();
    if let (true, Some(runtime)) = (refused, &evidence.runtime) {
        let how = probe_text(&runtime.ping);
        text.push(format!("Nothing answers on {}: {how}.", runtime.endpoint));
    }
    if let Some(first) = first_of(logged) {
        let (first, last, lines) = (clock(Some(first)), clock(last_of(logged)), lines_of(logged));
        text.push(format!(
            "The kubelet could not reach its runtime's socket from {first} to {last} ({lines})."
        ));
    }
    let why = if answers {
        "It answers now. While it was down the kubelet could not list any container, so its relist failed."
    } else {
        "Without a runtime the kubelet cannot list any container, so its relist fails and the node goes NotReady. Running containers may go on, but nobody looks after them."
    };
    text.push(why.to_owned());
    text.join(" ")
}

fn remedies() -> Vec<Remedy> {
    vec![
        Remedy {
            title: "See why it ended".to_owned(),
            risk: Risk::Safe,
            command: "systemctl status docker containerd --no-pager; journalctl -u docker -u containerd -n 100 --no-pager"
                .to_owned(),
            cost: "nothing".to_owned(),
        },
        Remedy {
            title: "Start it".to_owned(),
            risk: Risk::Node,
            command: "systemctl start docker".to_owned(),
            cost: "little: it is not running; stopped containers start again".to_owned(),
        },
    ]
}
