//! What systemd saw of the runtime's end, in a log of all programs.

use crate::kubelet::event::Kind;
use crate::kubelet::summary::Group;
use crate::rules::support::case::Case;
use crate::rules::support::log_lines::LogMatches;
use crate::rules::support::wording::clock;
use crate::syntax::citation::Citation;
use crate::syntax::framing::owner_of;
use chrono::TimeDelta;

/// The kubelet calls its runtime each second.
const BEFORE: TimeDelta = TimeDelta::minutes(1);

/// How the runtime's daemons ended right before these calls were refused, or meanwhile: a sentence, and the lines that
/// show it.
pub(super) fn from_log(case: &Case, refused: &LogMatches) -> Option<(String, Vec<Citation>)> {
    let (first, last) = refused.first().zip(refused.last())?;
    let is_runtimes = |group: &Group| {
        let is_kubelets = |unit: &str| owner_of(unit.as_bytes()).is_kubelet();
        let begins = group.first.at.is_some_and(|at| at <= last);
        let ends = group.last.at.is_some_and(|at| at >= first - BEFORE);
        begins && ends && !group.last.detail.as_deref().is_some_and(is_kubelets)
    };
    let ends = case.lines(&[Kind::UnitEnded]).filter(is_runtimes);
    let group = ends.0.iter().max_by_key(|group| group.last.at)?;
    let unit = group.last.detail.as_deref()?;
    let how = group.last.error.as_ref().map_or("", |error| &error.text);
    let how = how.split_once(", ").map_or(how, |(_, how)| how);
    let at = clock(case.evidence, group.last.at);
    let times = match ends.number() {
        1 => format!("systemd saw {unit} end at {at} ({how})."),
        times => format!("systemd saw it end {times} times, the last at {at} ({unit}: {how})."),
    };
    Some((times, ends.cite(3)))
}
