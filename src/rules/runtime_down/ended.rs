//! What systemd saw of the runtime's end, in a log of all programs.

use crate::evidence::Evidence;
use crate::kubelet::event::Kind;
use crate::kubelet::summary::Group;
use crate::rules::clock;
use crate::rules::lines::Lines;
use crate::syntax::citation::Citation;
use crate::syntax::framing::owner_of;
use chrono::TimeDelta;

/// The kubelet calls its runtime each second.
const BEFORE: TimeDelta = TimeDelta::minutes(1);

/// Returns how the runtime's daemons ended right before these calls were refused, or meanwhile, in a sentence, with what
/// tells it.
pub(super) fn told(evidence: &Evidence, refused: &Lines) -> Option<(String, Vec<Citation>)> {
    let (first, last) = refused.first().zip(refused.last())?;
    let mut ends = Lines::of(evidence, &[Kind::UnitEnded]);
    ends.0.retain(|group| {
        let of_kubelet = |unit: &str| owner_of(unit.as_bytes()).is_kubelet();
        let during = |group: &Group| {
            group.last.at.is_some_and(|at| at >= first - BEFORE)
                && group.first.at.is_some_and(|at| at <= last)
        };
        during(group) && !group.last.detail.as_deref().is_some_and(of_kubelet)
    });
    let group = ends.0.iter().max_by_key(|group| group.last.at)?;
    let unit = group.last.detail.as_deref()?;
    let how = group.last.error.as_ref().map_or("", |error| &error.text);
    let how = how.split_once(", ").map_or(how, |(_, how)| how);
    let at = clock(evidence, group.last.at);
    let times = match ends.number() {
        1 => format!("systemd saw {unit} end at {at} ({how})."),
        times => format!("systemd saw it end {times} times, the last at {at} ({unit}: {how})."),
    };
    Some((times, ends.cite(3)))
}
