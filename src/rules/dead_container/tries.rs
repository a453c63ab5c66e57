//! The kubelet's tries to remove something, as its log tells them: which of them are in vain.

use super::{CALLS, RETRIES};
use crate::evidence::Evidence;
use crate::kubelet::event::ErrorClass;
use crate::kubelet::summary::Group;
use crate::rules::lines::Lines;
use chrono::TimeDelta;

/// The kubelet's clean-up tries again after this.
const RETRY: TimeDelta = TimeDelta::minutes(1);
/// So often, and for so long, nobody tries in vain by chance.
const TRIES: u64 = 10;
const FOR_HOURS: TimeDelta = TimeDelta::hours(1);

/// Returns the removals that cannot come to an end.
pub(super) fn in_vain(evidence: &Evidence) -> Lines<'_> {
    let mut logged = Lines::failed(evidence, CALLS, ErrorClass::Busy);
    logged.0.retain(|group| !was_first(evidence, group));
    logged.0.extend(stubborn(evidence).0);
    logged
}

/// Whether somebody else was just removing it, and did: the kubelet did not try again.
fn was_first(evidence: &Evidence, group: &Group) -> bool {
    let error = group.last.error.as_ref();
    let under_way = error.is_some_and(|error| error.text.contains("is already in progress"));
    let lasted = group.first.at.zip(group.last.at);
    let once = lasted.is_none_or(|(first, last)| last - first < RETRY);
    under_way && once && !Lines(vec![group]).are_recent(evidence, RETRIES)
}

/// Returns the removals that fail for another reason, and are tried for hours: one that fails now and then is ordinary.
fn stubborn(evidence: &Evidence) -> Lines<'_> {
    let mut lines = Lines::failed(evidence, CALLS, ErrorClass::Other);
    lines.0.retain(|group| {
        let lasted = group
            .last
            .at
            .zip(group.first.at)
            .map(|(last, first)| last - first);
        group.count >= TRIES && lasted.is_some_and(|lasted| lasted >= FOR_HOURS)
    });
    lines
}
