//! A kubelet that takes connections and does not answer its own health check: the process itself stands still.

use super::RULE;
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Risk, Severity, Variant};
use crate::io::probe::Outcome;
use crate::kubelet::Health;
use crate::node::{Process, Role, State};
use crate::rules::{daemon, holders, probe_text};
use crate::syntax::citation::Citation;

/// Where only a kubelet of this machine listens.
const OWN_PORT: &str = "http://127.0.0.1:10248/";

/// Returns the finding where the kubelet of this machine does not answer.
pub(super) fn tell(evidence: &Evidence) -> Option<Finding> {
    let kubelet = evidence.kubelet.as_ref()?;
    let silent = |health: &&Health| {
        health.source.starts_with(OWN_PORT) && health.probe.outcome == Outcome::TimedOut
    };
    let health = kubelet.health.iter().find(silent)?;
    let processes = evidence.host.iter().flat_map(|host| &host.processes);
    let process = processes
        .filter(|process| process.role == Role::Kubelet)
        .find(|process| still(process));
    let response = probe_text(&health.probe);
    let mut subject = daemon("kubelet");
    subject.pid = process.map(|process| process.pid);
    let why = process.map_or_else(
        || "It is stopped, starved of memory or processors, or stuck.".to_owned(),
        |process| {
            let (pid, letter) = (process.pid, process.state.letter());
            let doing = match process.state {
                State::Stopped => "is stopped",
                State::Traced => "is held by who traces it",
                _ => "sleeps in the kernel",
            };
            format!("Its process {pid} {doing} (state {letter}).")
        },
    );
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: "The kubelet itself does not answer, which is not the PLEG".to_owned(),
        severity: Severity::Critical,
        confidence: match process {
            Some(_) => Confidence::Confirmed,
            None => Confidence::Suspected,
        },
        active: true,
        explanation: format!(
            "The kubelet takes connections for its health check and returns {response}. {why} After 40 s without its reports (50 s in newer releases), by default, the control plane calls the node Unknown, whatever its runtime does."
        ),
        subjects: vec![subject],
        citations: cite(evidence, &response, process),
        remedies: remedies(process),
        spans: Vec::new(),
    })
}

fn still(process: &Process) -> bool {
    matches!(
        process.state,
        State::Stopped | State::Traced | State::Uninterruptible
    )
}

fn cite(evidence: &Evidence, response: &str, process: Option<&Process>) -> Vec<Citation> {
    let answer = holders::cite(evidence, "kubelet healthz", response.to_owned());
    let own = process.map(holders::cited);
    let own = own.map(|(source, text)| holders::cite(evidence, source, text));
    [answer].into_iter().chain(own).collect()
}

fn remedies(process: Option<&Process>) -> Vec<Remedy> {
    let look = Remedy {
        title: "See what its process does".to_owned(),
        risk: Risk::Safe,
        command: "ps -eo pid,stat,etime,wchan:24,args | grep '[k]ubelet'".to_owned(),
        cost: "nothing".to_owned(),
        actions: Vec::new(),
    };
    let go_on = process
        .filter(|process| process.state == State::Stopped)
        .filter(|process| process.tracer.is_none_or(|tracer| tracer == 0))
        .map(|process| Remedy {
            title: "Resume it (SIGCONT)".to_owned(),
            risk: Risk::Node,
            command: format!("kill -CONT {}", process.pid),
            cost: "the kubelet resumes".to_owned(),
            actions: holders::go_on(process),
        });
    [look].into_iter().chain(go_on).collect()
}
