//! Status calls that time out for one container after the other, each of which answers the next time: none of them hangs.

use crate::{
    evidence::Evidence,
    kubelet::{
        event::{ErrorClass, Kind},
        incident::CALL_TIMEOUT,
        summary::Log,
    },
    rules::lines::Lines,
    syntax::id::ContainerId,
};

/// Two or three may have hung one after the other; and so many must have answered since.
const MANY: usize = 4;
const ANSWERED: usize = 3;
const STATUS: &[Kind] = &[Kind::SandboxStatusFailed, Kind::ContainerStatusFailed];

/// Returns how many containers that is, and the lines; `None` where it is not so, or where one was asked in vain again. A
/// runtime that was asked itself says better who answers.
pub(in crate::rules) fn in_turn(evidence: &Evidence) -> Option<(usize, Lines<'_>)> {
    let log = evidence
        .log
        .as_ref()
        .filter(|_| evidence.runtime.is_none())?;
    let all = Lines::failed(evidence, STATUS, ErrorClass::Deadline).latest();
    let mut of_each: Vec<(&ContainerId, Lines)> = Vec::new();
    for group in &all.0 {
        let id = group.first.subject()?;
        match of_each.iter_mut().find(|(other, _)| other.matches(id)) {
            Some((_, lines)) => lines.0.push(group),
            None => of_each.push((id, Lines(vec![group]))),
        }
    }
    let once = |lines: &Lines| {
        let times = lines.first().zip(lines.last());
        times.is_some_and(|(first, last)| last - first < CALL_TIMEOUT)
    };
    let answered = of_each.iter().filter(|(_, lines)| has_answered(log, lines));
    let is_so = of_each.len() >= MANY
        && of_each.iter().all(|(_, lines)| once(lines))
        && answered.count() >= ANSWERED;
    is_so.then_some((of_each.len(), all))
}

/// Whether a whole relist went by after the last of these lines without another: it asked that pod, too, and was
/// answered.
pub(super) fn has_answered(log: &Log, lines: &Lines) -> bool {
    lines.last().is_some_and(|last| log.relists_after(last) > 1)
}
