//! What the kubelet did not show, as gaps and notes. Its ports are often off, so that a refusal is no gap.

use crate::{
    evidence::{Evidence, Gap},
    kubelet::{Health, Kubelet, Source},
    node::{Process, Role},
    rules::probe_text,
    runtime::Outcome,
};

/// How to have the metrics where the read-only port is off.
const SAVE: &str =
    "kubectl get --raw /api/v1/nodes/NODE/proxy/metrics > FILE, then --kubelet-metrics FILE";

/// Where only a kubelet of this machine listens.
const OWN_PORT: &str = "//127.0.0.1:10248/";

/// Returns what could not be seen of the kubelet: gaps, and notes.
pub(super) fn unseen(evidence: &Evidence) -> (Vec<Gap>, Vec<String>) {
    let (mut gaps, mut notes) = (Vec::new(), Vec::new());
    let Some(kubelet) = &evidence.kubelet else {
        return (gaps, notes);
    };
    let process = process(evidence);
    if let Some(note) = nobody(kubelet, process) {
        notes.push(note);
        return (gaps, notes);
    }
    if let Some(source) = &kubelet.source {
        match of_metrics(source) {
            Some(Ok(gap)) => gaps.push(gap),
            Some(Err(note)) => notes.push(note),
            None => {}
        }
    }
    for health in &kubelet.health {
        // Where its metrics are not, its health check is not either.
        let beside = !health.source.contains(OWN_PORT);
        let source = kubelet.source.as_ref();
        if beside && source.is_some_and(|source| source.probe.outcome != Outcome::Answered) {
            continue;
        }
        match of_health(health, process) {
            Some(Ok(gap)) => gaps.push(gap),
            Some(Err(note)) => notes.push(note),
            None => {}
        }
    }
    gaps.extend(other_node(evidence, kubelet));
    (gaps, notes)
}

/// Returns the kubelet's process, if one is seen. (A Rancher node's runs in a container.)
fn process(evidence: &Evidence) -> Option<&Process> {
    let processes = evidence.host.iter().flat_map(|host| &host.processes);
    let mut kubelets = processes.filter(|process| process.role == Role::Kubelet);
    kubelets.next()
}

/// Returns the note that there is no kubelet to ask: it has no process that is seen, and listens nowhere.
fn nobody(kubelet: &Kubelet, process: Option<&Process>) -> Option<String> {
    let refused = |outcome| outcome == Outcome::Refused;
    let source = kubelet.source.as_ref();
    let silent = source.is_some_and(|source| !source.named && refused(source.probe.outcome))
        && kubelet
            .health
            .iter()
            .all(|health| refused(health.probe.outcome));
    (silent && process.is_none()).then(|| {
        "no kubelet: none runs that can be seen, and none listens on its ports 10248 and 10255"
            .to_owned()
    })
}

fn of_metrics(source: &Source) -> Option<Result<Gap, String>> {
    let (name, probe) = (&source.name, &source.probe);
    match probe.outcome {
        Outcome::Answered => None,
        Outcome::Refused if !source.named => Some(Err(format!(
            "left out the kubelet's metrics: {name}: {} (that port is off by default; {SAVE})",
            probe_text(probe)
        ))),
        _ => Some(Ok(Gap {
            what: "the kubelet's metrics".to_owned(),
            why: format!("{name}: {}", probe_text(probe)),
        })),
    }
}

fn of_health(health: &Health, process: Option<&Process>) -> Option<Result<Gap, String>> {
    if health.well.is_some() {
        return None;
    }
    let (name, probe) = (&health.source, &health.probe);
    let told = probe_text(probe);
    match (probe.outcome, process) {
        (Outcome::Refused, Some(process)) => Some(Err(format!(
            "the kubelet runs (process {}), and its health check is not there: {name}: {told} (it is just starting, or --healthz-port is 0)",
            process.pid
        ))),
        (Outcome::Refused, None) => Some(Err(format!(
            "left out the kubelet's health check: {name}: {told}"
        ))),
        // A finding by itself.
        (Outcome::TimedOut, _) if name.contains(OWN_PORT) => None,
        _ => Some(Ok(Gap {
            what: "the kubelet's health check".to_owned(),
            why: format!("{name}: {told}"),
        })),
    }
}

/// Returns the gap that the metrics are those of another node than the log's.
fn other_node(evidence: &Evidence, kubelet: &Kubelet) -> Option<Gap> {
    let theirs = kubelet.metrics.as_ref()?.node.as_deref()?;
    let own = evidence.log.as_ref()?.node.as_deref()?;
    (theirs != own).then(|| Gap {
        what: format!("the kubelet's metrics of {own}"),
        why: format!("those that were given are of the node {theirs}"),
    })
}
