//! What the shape of the lag tells of containers that do not answer, where a log names none of them, or too few.

use super::{RULE, Suspect, has_status, lasts};
use crate::{
    evidence::Evidence,
    finding::{Confidence, Finding, Severity, Variant},
    kubelet::incident::{Incident, Shape},
    rules::{
        clock, count, node,
        remedies::{restart_runtime, save_stacks},
    },
    syntax::duration,
};

/// Returns the outages whose lag falls back to nothing from one height again and again, and how many pods that tells of.
fn regular(evidence: &Evidence) -> impl Iterator<Item = (&Incident, u32)> {
    let incidents = evidence.log.iter().flat_map(|log| &log.incidents);
    incidents
        .filter(|incident| incident.shape == Shape::Sawtooth && incident.list_errors == 0)
        .filter_map(|incident| Some((incident, incident.teeth.blocked()?)))
}

/// Returns the finding for the last outage of such a shape in which no call is logged at all: somebody cut the lines on
/// the PLEG out, or the kubelet logs no more. What answers now speaks against it.
pub(super) fn unnamed(evidence: &Evidence) -> Option<Finding> {
    let (incident, pods) = regular(evidence).last()?;
    if incident.status_deadlines > 0 || evidence.runtime.is_some() {
        return None;
    }
    let active = incident.ongoing && lasts(evidence, Some(incident.last_line));
    let (since, times) = (clock(evidence, Some(incident.start)), incident.teeth.count);
    let (least, most) = (
        duration::human(incident.teeth.least),
        duration::human(incident.teeth.most),
    );
    let who = match pods {
        1 => "one pod".to_owned(),
        pods => format!("{pods} pods"),
    };
    let heights = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    let mut citations = vec![incident.first.clone(), incident.last.clone()];
    citations.dedup();
    Some(Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: match active {
            true => format!("A status call of {who} does not answer, by the shape of the lag"),
            false => {
                format!("A status call of {who} did not answer for a time, by the shape of the lag")
            }
        },
        severity: Severity::Critical,
        confidence: Confidence::Suspected,
        active,
        explanation: format!(
            "From {since} on the lag fell back {times} times, each time from about the same height ({heights}): so the list of containers works, and after it {who} cost the relist its time-outs, 2 minutes for a call, twice each (once from kubelet 1.32 on: then it is twice as many). The log has no line that names the container: each is to be asked by itself."
        ),
        subjects: vec![node(evidence)],
        citations,
        remedies: match active {
            true => vec![save_stacks(evidence), restart_runtime(evidence)],
            false => Vec::new(),
        },
        spans: vec![(incident.start, incident.last_line)],
    })
}

/// Returns a sentence where the lag's height tells of more pods than the log names.
pub(super) fn more(evidence: &Evidence, suspects: &[Suspect]) -> Option<String> {
    let (incident, pods) = regular(evidence).last()?;
    let of = |suspect: &&Suspect| {
        let mut spans = suspect.deadlines.spans().into_iter();
        has_status(suspect)
            && spans.any(|(first, last)| first <= incident.last_line && last >= incident.start)
    };
    let named = suspects.iter().filter(of).count();
    let pods = usize::try_from(pods).unwrap_or(usize::MAX);
    (named > 0 && named < pods).then(|| {
        let height = duration::human(incident.teeth.most);
        let (all, named) = (count(pods, "pod"), count(named, "container"));
        format!(
            "The lag falls back from {height} each time, as it does where {all} do not answer: the log names {named}."
        )
    })
}
