//! Status calls that time out for one container after the other, each of which answers the next time: none of them hangs.

use super::{calls::STATUS, log_lines::LogMatches};
use crate::evidence::Evidence;
use crate::kubelet::event::ErrorClass;
use crate::kubelet::incident::CALL_TIMEOUT;
use crate::kubelet::summary::Log;
use crate::syntax::id::ContainerId;

/// Two or three may have hung one after the other …
const MIN_CONTAINERS: usize = 4;
/// … and so many must have answered since.
const MIN_ANSWERED: usize = 3;

/// How many containers that is, and the lines; `None` where it is not so, or where one timed out again. A runtime that was
/// asked shows better which answer.
pub(crate) fn rotating_timeouts(evidence: &Evidence) -> Option<(usize, LogMatches<'_>)> {
    let log = evidence.log.as_ref();
    let log = log.filter(|_| evidence.runtime.is_none())?;
    let all = LogMatches::failed(evidence, STATUS, ErrorClass::Deadline).latest();
    let mut of_each: Vec<(&ContainerId, LogMatches)> = Vec::new();
    for group in &all.0 {
        let id = group.first.subject()?;
        match of_each.iter_mut().find(|(other, _)| other.matches(id)) {
            Some((_, lines)) => lines.0.push(group),
            None => of_each.push((id, LogMatches(vec![group]))),
        }
    }
    let answered = of_each.iter().filter(|(_, lines)| has_answered(log, lines));
    let is_so = of_each.len() >= MIN_CONTAINERS
        && of_each
            .iter()
            .all(|(_, it)| it.length().is_some_and(|it| it < CALL_TIMEOUT))
        && answered.count() >= MIN_ANSWERED;
    is_so.then_some((of_each.len(), all))
}

/// Whether a whole relist passed after the last of these lines without another: it asked that pod, too, and was answered.
pub(crate) fn has_answered(log: &Log, lines: &LogMatches) -> bool {
    lines.last().is_some_and(|last| log.relists_after(last) > 1)
}
