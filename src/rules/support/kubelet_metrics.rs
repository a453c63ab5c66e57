//! What the kubelet itself says of its relist, for several rules: an age beyond the limit is an unhealthy PLEG, with or
//! without a log, and supports whatever explains it.

use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Severity};
use crate::io::probe::Outcome;
use crate::kubelet::{Age, Kubelet, Seen};
use crate::rules::is_cause;
use crate::runtime::Call;
use crate::syntax::citation::Citation;
use crate::syntax::duration;

/// What metrics are called where they are cited.
pub(crate) const METRICS: &str = "kubelet metrics";

/// Returns what the kubelet says, if it is the one that the rest is about.
pub(crate) fn of(evidence: &Evidence) -> Option<&Kubelet> {
    let kubelet = evidence.kubelet.as_ref()?;
    let theirs = kubelet
        .metrics
        .as_ref()
        .and_then(|metrics| metrics.node.as_ref());
    let own = evidence.log.as_ref().and_then(|log| log.node.as_ref());
    let other = theirs.zip(own).is_some_and(|(theirs, own)| theirs != own);
    (!other).then_some(kubelet)
}

/// Returns a citation of what the metrics say.
pub(crate) fn cite(kubelet: &Kubelet, text: String) -> Citation {
    Citation {
        is_call: true,
        source: METRICS.to_owned().into(),
        line: None,
        time: Some(kubelet.asked_at),
        text: text.into(),
    }
}

/// Returns in words how long ago the last successful relist began.
pub(crate) fn lag(kubelet: &Kubelet, age: Age) -> String {
    let never = kubelet
        .metrics
        .as_ref()
        .is_some_and(|metrics| metrics.last_seen == Some(Seen::Never));
    let time = duration::human(age.least());
    let saved = kubelet.source.as_ref().is_some_and(|source| source.is_file);
    match (never, saved) {
        (true, false) => format!("no relist has succeeded since the kubelet's start {time} ago"),
        (true, true) => format!("no relist had succeeded {time} after the kubelet's start"),
        (false, false) => format!("the last successful relist began {time} ago"),
        (false, true) => {
            format!("the last successful relist began {time} or more before they were saved")
        }
    }
}

/// Adds to the active causes that the kubelet's own metrics show the PLEG unhealthy, where they do. Those that stand on
/// Docker's answers alone have their second source then, if it says what they do.
pub(crate) fn support(evidence: &Evidence, findings: &mut [Finding]) {
    let Some((kubelet, age)) = of(evidence).and_then(|kubelet| Some((kubelet, kubelet.overdue()?)))
    else {
        return;
    };
    let words = lag(kubelet, age);
    let hung = |finding: &&Finding| finding.id == "hung-container" && finding.active;
    let only_one = findings.iter().filter(hung).count() == 1;
    for finding in findings {
        let cited = finding.citations.iter().any(|it| &*it.source == METRICS);
        if cited || !finding.active || !is_cause(finding) {
            continue;
        }
        let agrees = agrees(evidence, finding.id, only_one);
        if !agrees && finding.severity != Severity::Critical {
            continue;
        }
        finding.citations.push(cite(kubelet, words.clone()));
        finding.explanation = format!(
            "{} The kubelet's own metrics show that the PLEG is unhealthy: {words}.",
            finding.explanation
        );
        if agrees {
            finding.severity = Severity::Critical;
            finding.confidence = Confidence::Confirmed;
        }
    }
}

/// Whether an age beyond the limit is what this trouble, seen at the runtime, must lead to.
fn agrees(evidence: &Evidence, id: &str, only_one: bool) -> bool {
    let Some(runtime) = &evidence.runtime else {
        return false;
    };
    let listed = runtime.probe(Call::List).outcome;
    let mut inspects = runtime.containers.iter().map(|it| it.probe.outcome);
    match id {
        "runtime-down" => runtime.probe(Call::Ping).outcome == Outcome::Refused,
        "hung-runtime" => listed == Outcome::TimedOut,
        // Lists answer, so that it is a status call that the relist waits for.
        "hung-container" => {
            let silent = inspects.any(|outcome| outcome == Outcome::TimedOut);
            only_one && listed == Outcome::Answered && silent
        }
        // All answers, and slowly.
        "container-pileup" => inspects.all(|outcome| outcome == Outcome::Answered),
        _ => false,
    }
}
