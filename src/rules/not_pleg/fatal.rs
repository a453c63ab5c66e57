//! A kubelet that ends with an error, again and again: its own last words, and what systemd saw of its end.

use crate::evidence::Evidence;
use crate::kubelet::event::Kind;
use crate::kubelet::summary::Group;
use crate::rules::lines::Lines;
use crate::rules::removal_race;
use crate::syntax::framing::owner_of;

/// So many ends in one episode are a loop, though no line of the kubelet's tells why: one may be somebody's restart.
const LOOP: u64 = 3;

/// Returns the kubelet's last words, but those that `removal-race` explains; where there are none, systemd's on a
/// kubelet that ended several times.
pub(super) fn words(evidence: &Evidence) -> Lines<'_> {
    let lines = Lines::of(evidence, &[Kind::KubeletFatal]).0.into_iter();
    let (own, raced): (Vec<_>, Vec<_>) =
        lines.partition(|group| removal_race::missed(&group.last).is_none());
    if !own.is_empty() || !raced.is_empty() {
        return Lines(own);
    }
    let ends = ends(evidence).latest();
    match ends.number() >= LOOP && !is_explained_otherwise(evidence) {
        true => ends,
        false => Lines::default(),
    }
}

/// Returns what systemd says of the kubelet's ends.
pub(super) fn ends(evidence: &Evidence) -> Lines<'_> {
    let of_kubelet = |group: &&Group| {
        let unit = group.last.detail.as_deref();
        unit.is_some_and(|unit| owner_of(unit.as_bytes()).is_kubelet())
    };
    let lines = Lines::of(evidence, &[Kind::UnitEnded]).0.into_iter();
    Lines(lines.filter(of_kubelet).collect())
}

/// Whether its container manager could not start: that has its own line, and its own rule.
fn is_explained_otherwise(evidence: &Evidence) -> bool {
    !Lines::of(evidence, &[Kind::ContainerManagerFailed]).is_empty()
}
