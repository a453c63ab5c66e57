//! Dead containers that only Docker's files tell of, for it does not answer itself. Its log and its files are one
//! witness: never more than a suspicion.

use super::{RULE, plain_reason};
use crate::evidence::Evidence;
use crate::finding::{Confidence, Finding, Remedy, Severity, Variant};
use crate::io::probe::Outcome;
use crate::rules::lines::Lines;
use crate::rules::remedies::clean_dead;
use crate::rules::stored::cite;
use crate::rules::{EACH, called, count, lower, subject_of};
use crate::runtime::Container;

/// Returns those whose removal did not come to its end, as Docker last wrote it.
pub(super) fn dead<'a>(evidence: &Evidence, containers: Vec<&'a Container>) -> Vec<&'a Container> {
    let asked = evidence.runtime.as_ref().map(|runtime| runtime.asked_at);
    let untold = |container: &&Container| {
        let told = matches!(container.probe.outcome, Outcome::Answered | Outcome::Gone);
        let stored = container.disk.as_ref().zip(asked);
        !told && stored.is_some_and(|(stored, asked)| stored.is_dead(asked))
    };
    containers.into_iter().filter(untold).collect()
}

pub(super) fn tell(
    evidence: &Evidence,
    dead: &[&Container],
    about: &Lines,
    looks: Option<[Remedy; 2]>,
) -> Finding {
    let mut citations = about.cite(4);
    citations.extend(dead.iter().take(EACH).filter_map(|one| cite(evidence, one)));
    let who = match dead {
        [one] => called(&subject_of(one)),
        many => count(many.len(), "container"),
    };
    let (was, its) = match dead {
        [_] => ("was", "its"),
        _ => ("were", "their"),
    };
    let errors = dead.iter().filter_map(|one| one.disk.as_ref());
    let reason = errors
        .map(|stored| plain_reason(&stored.state.error))
        .find(|error| !error.is_empty());
    let reason = match reason {
        Some(error) => format!(" (\"{error}\")"),
        None => String::new(),
    };
    Finding {
        id: RULE.id,
        variant: Variant::Plain,
        title: format!("{who} {was} dead when Docker last wrote it down"),
        severity: Severity::Warning,
        confidence: Confidence::Suspected,
        active: true,
        explanation: format!(
            "{who} {was} being removed when Docker last wrote {its} state to its disk, and {its} removal did not come to its end{reason}. Docker does not answer for it now, so this may be stale. A dead container alone was never shown to block the kubelet's relist; each may point to a leaked mount."
        ),
        subjects: dead.iter().map(|container| subject_of(container)).collect(),
        citations,
        remedies: once_it_answers(evidence, looks),
        spans: about.spans(),
    }
}

/// Returns the remedies, the one first that works without Docker.
fn once_it_answers(evidence: &Evidence, looks: Option<[Remedy; 2]>) -> Vec<Remedy> {
    let (mounts, layer) = looks.map(|[mounts, layer]| (mounts, layer)).unzip();
    let later = layer
        .into_iter()
        .chain(clean_dead(evidence).into_iter().flatten());
    let later = later.map(|mut remedy| {
        remedy.title = format!("Once Docker answers: {}", lower(&remedy.title));
        remedy
    });
    mounts.into_iter().chain(later).collect()
}
