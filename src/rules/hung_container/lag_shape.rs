//! What the shape of the lag shows of containers that hang, where a log names none of them, or too few.

use super::suspect::Suspect;
use crate::finding::Severity;
use crate::kubelet::incident::{Incident, Shape};
use crate::rules::support::answer::Draft;
use crate::rules::support::case::Case;
use crate::rules::support::log_lines::lasts;
use crate::rules::support::remedies::{restart_runtime, save_stacks};
use crate::rules::support::wording::{clock, count, heights};
use crate::syntax::duration;

/// The last outage whose lag falls back from one height again and again, and how many pods that height means.
fn regular<'a>(case: &Case<'a>) -> Option<(&'a Incident, u32)> {
    let incidents = case.log().into_iter().flat_map(|log| &log.incidents);
    let regular = incidents.filter(|it| it.shape == Shape::Sawtooth && it.list_errors == 0);
    regular.rev().find_map(|it| Some((it, it.peaks.blocked()?)))
}

/// For an outage of which no call is logged: the log was cut to the lines on the PLEG, or the kubelet logs no more. What
/// answers now speaks against it.
pub(super) fn unnamed(case: &Case) -> Option<Draft> {
    let evidence = case.evidence;
    let (incident, pods) = regular(case)?;
    if incident.status_deadlines > 0 || evidence.runtime.is_some() {
        return None;
    }
    let active = incident.ongoing && lasts(evidence, Some(incident.last_line));
    let pods = match pods {
        1 => "one pod".to_owned(),
        pods => format!("{pods} pods"),
    };
    let title = match active {
        true => format!("A status call of {pods} does not answer, by the shape of the lag"),
        false => {
            format!("A status call of {pods} did not answer for a time, by the shape of the lag")
        }
    };
    let mut cited = vec![incident.first.clone(), incident.last.clone()];
    cited.dedup();
    Some(
        Draft::new(Severity::Critical, title)
            .active(active)
            .say(format!(
                "From {} on the lag fell back {} times, each time from about the same height ({}): the list of containers works, and after it {pods} cost the relist its time-outs, 2 minutes for a call, twice each (from kubelet 1.32 on once: then it is twice as many).",
                clock(evidence, Some(incident.start)),
                incident.peaks.count,
                heights(&incident.peaks)
            ))
            .say("The log has no line that names the container: query each separately.")
            .cite(cited)
            .span((incident.start, incident.last_line))
            .steps([save_stacks(evidence), restart_runtime(evidence)]),
    )
}

/// A sentence where the lag's height means more pods than the log names.
pub(super) fn more(case: &Case, suspects: &[Suspect]) -> Option<String> {
    let (incident, pods) = regular(case)?;
    let is_named = |suspect: &&Suspect| {
        let mut spans = suspect.deadlines.spans().into_iter();
        let during = |(first, last)| first <= incident.last_line && last >= incident.start;
        suspect.proof.status && spans.any(during)
    };
    let named = suspects.iter().filter(is_named).count();
    let pods = usize::try_from(pods).unwrap_or(usize::MAX);
    (named > 0 && named < pods).then(|| {
        format!(
            "The lag falls back from {} each time, as it does where {} hang: the log names {}.",
            duration::human(incident.peaks.most),
            count(pods, "pod"),
            count(named, "container")
        )
    })
}
