//! What the kubelet did not show, as gaps and notes. Its ports are often off, so that a refusal is no gap.

use crate::evidence::Evidence;
use crate::io::gap::Gap;
use crate::io::probe::Outcome;
use crate::kubelet::{Health, Kubelet, Source};
use crate::node::{Process, Role};
use crate::rules::probe_text;

/// How to have the metrics where the read-only port is off.
const SAVE: &str =
    "kubectl get --raw /api/v1/nodes/NODE/proxy/metrics > FILE, then --kubelet-metrics FILE";

const OWN_PORT: &str = "//127.0.0.1:10248/";

pub(super) fn unseen(evidence: &Evidence) -> (Vec<Gap>, Vec<String>) {
    let (mut gaps, mut notes) = (Vec::new(), Vec::new());
    let Some(kubelet) = &evidence.kubelet else {
        return (gaps, notes);
    };
    let process = process(evidence);
    if let Some(note) = no_kubelet(kubelet, process) {
        notes.push(note);
        return (gaps, notes);
    }
    if let Some(source) = &kubelet.source {
        match metrics_gap(source) {
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
        match health_gap(health, process) {
            Some(Ok(gap)) => gaps.push(gap),
            Some(Err(note)) => notes.push(note),
            None => {}
        }
    }
    gaps.extend(other_node(evidence, kubelet));
    (gaps, notes)
}

fn process(evidence: &Evidence) -> Option<&Process> {
    let processes = evidence.host.iter().flat_map(|host| &host.processes);
    let mut kubelets = processes.filter(|process| process.role == Role::Kubelet);
    kubelets.next()
}

/// The note that there is no kubelet to ask: it has no process that is seen, and listens nowhere.
fn no_kubelet(kubelet: &Kubelet, process: Option<&Process>) -> Option<String> {
    let refused = |outcome| outcome == Outcome::Refused;
    let source = kubelet.source.as_ref();
    let silent = source.is_some_and(|source| !source.named && refused(source.probe.outcome))
        && kubelet
            .health
            .iter()
            .all(|health| refused(health.probe.outcome));
    (silent && process.is_none()).then(|| {
        "no kubelet found: no process is visible, and ports 10248 and 10255 are closed".to_owned()
    })
}

fn metrics_gap(source: &Source) -> Option<Result<Gap, String>> {
    let (name, probe) = (&source.name, &source.probe);
    match probe.outcome {
        Outcome::Answered => None,
        Outcome::Refused if !source.named => Some(Err(format!(
            "skipped kubelet metrics: {name}: {} (this port is off by default; {SAVE})",
            probe_text(probe)
        ))),
        _ => Some(Ok(Gap::new(
            "the kubelet's metrics",
            format!("{name}: {}", probe_text(probe)),
        ))),
    }
}

fn health_gap(health: &Health, process: Option<&Process>) -> Option<Result<Gap, String>> {
    if health.well.is_some() {
        return None;
    }
    let (name, probe) = (&health.source, &health.probe);
    let text = probe_text(probe);
    match (probe.outcome, process) {
        (Outcome::Refused, Some(process)) => Some(Err(format!(
            "the kubelet runs (process {}), but its health check port is closed: {name}: {text} (still starting, or --healthz-port is 0)",
            process.pid
        ))),
        (Outcome::Refused, None) => {
            Some(Err(format!("skipped kubelet health check: {name}: {text}")))
        }
        // A finding of its own.
        (Outcome::TimedOut, _) if name.contains(OWN_PORT) => None,
        _ => Some(Ok(Gap::new(
            "the kubelet's health check",
            format!("{name}: {text}"),
        ))),
    }
}

/// The gap that the metrics are those of another node than the log's.
fn other_node(evidence: &Evidence, kubelet: &Kubelet) -> Option<Gap> {
    let theirs = kubelet.metrics.as_ref()?.node.as_deref()?;
    let own = evidence.log.as_ref()?.node.as_deref()?;
    (theirs != own).then(|| {
        Gap::new(
            format!("the kubelet's metrics of {own}"),
            format!("the given metrics are from node {theirs}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::probe::Probe;
    use crate::kubelet::{Answer, Query};
    use crate::node::{Host, State};
    use std::time::Duration;

    fn answer(what: Query, outcome: Outcome, named: bool) -> Answer {
        let source = match what {
            Query::Health => "http://127.0.0.1:10248/healthz?verbose",
            Query::HealthByMetrics => "http://127.0.0.1:10255/healthz?verbose",
            Query::Metrics | Query::SavedMetrics => "http://127.0.0.1:10255/metrics",
        };
        Answer {
            what,
            source: source.to_owned(),
            named,
            probe: Probe {
                outcome,
                took: Duration::from_millis(1),
                error: (outcome == Outcome::Refused).then(|| "nothing listens there".to_owned()),
            },
            status: (outcome == Outcome::Answered).then_some(200),
            body: b"kubelet_running_pods 1\n".to_vec(),
        }
    }

    fn text(answers: Vec<Answer>, kubelet_runs: bool) -> (Vec<Gap>, Vec<String>) {
        let now = chrono::DateTime::UNIX_EPOCH.fixed_offset();
        let process = Process::new((812, 1), "kubelet", Role::Kubelet, State::Sleeping);
        unseen(&Evidence {
            now,
            log: None,
            runtime: None,
            host: kubelet_runs.then(|| Host {
                processes: vec![process],
                ..Host::default()
            }),
            kubelet: Some(Kubelet::read(answers, now)),
            gaps: Vec::new(),
            notes: Vec::new(),
        })
    }

    #[test]
    fn where_no_kubelet_is_that_is_one_note() {
        let refused = |what| answer(what, Outcome::Refused, false);
        let all = [Query::Metrics, Query::HealthByMetrics, Query::Health].map(refused);
        let (gaps, notes) = text(all.to_vec(), false);
        assert_eq!((gaps.len(), notes.len()), (0, 1), "{notes:?}");
        assert!(notes[0].starts_with("no kubelet"), "{notes:?}");
        // One that runs is text to have its ports closed.
        let (gaps, notes) = text(all.to_vec(), true);
        assert_eq!((gaps.len(), notes.len()), (0, 2), "{notes:?}");
        assert!(notes[0].contains("kubectl get --raw"), "{notes:?}");
        assert!(notes[1].contains("(process 812)"), "{notes:?}");
    }

    #[test]
    fn a_closed_read_only_port_is_a_note_and_everything_else_a_gap() {
        let well = answer(Query::Health, Outcome::Answered, false);
        let with = |outcome, named| {
            let metrics = answer(Query::Metrics, outcome, named);
            let beside = answer(Query::HealthByMetrics, outcome, named);
            text(vec![metrics, beside, well.clone()], true)
        };
        let (gaps, notes) = with(Outcome::Refused, false);
        assert_eq!((gaps.len(), notes.len()), (0, 1), "{gaps:?} {notes:?}");
        for (outcome, named) in [
            (Outcome::Refused, true),
            (Outcome::TimedOut, false),
            (Outcome::Error, false),
        ] {
            let (gaps, notes) = with(outcome, named);
            assert_eq!((gaps.len(), notes.len()), (1, 0), "{outcome:?}: {notes:?}");
            assert_eq!(gaps[0].what, "the kubelet's metrics");
        }
        let (gaps, notes) = with(Outcome::Answered, false);
        assert_eq!((gaps.len(), notes.len()), (0, 0), "{gaps:?} {notes:?}");
    }
}
