//! The pods that the log shows as going or gone, and which of them is meant: one name may be that of several pods, one
//! after the other.

use super::Log;
use crate::kubelet::event::Event;
use crate::syntax::id::{PodName, PodUid};
use crate::syntax::time::Time;

pub(super) const MAX_DELETIONS: usize = 4096;
/// How many of the latest may be the same one's.
const MAX_LOOKBACK: usize = 64;

/// A pod that the log shows as going or gone.
#[derive(Clone, Debug, PartialEq)]
pub struct PodDeletion {
    /// When, and with which word (`DELETE`, `REMOVE`, `KILL`).
    pub event: Event,
    /// Whether it is gone: what goes next by its name is another.
    pub gone: bool,
}

impl Log {
    /// When and how the log shows this pod being removed. By a name alone it may be that of several
    /// pods, one after the other: then it is the last removal up to that moment, or else the first after it.
    pub fn deletion_of(
        &self,
        pod: Option<&PodName>,
        uid: Option<&PodUid>,
        at: Option<Time>,
    ) -> Option<&Event> {
        let events = || self.pod_deletions.iter().map(|removal| &removal.event);
        if let Some(known) = events().find(|event| uid.is_some() && event.uid.as_ref() == uid) {
            return Some(known);
        }
        let may_be = |event: &&Event| event.uid.is_none() || uid.is_none();
        let named = || events().filter(|event| pod.is_some() && event.pod.as_ref() == pod);
        let by_then = |event: &&Event| event.at.zip(at).is_none_or(|(then, at)| then <= at);
        let before = named().filter(may_be).rfind(by_then);
        before.or_else(|| named().find(may_be))
    }

    /// Takes note of a pod that goes; of one whose going is known, whether it is gone.
    pub(super) fn note_deletion(&mut self, event: &Event) {
        let gone = event.detail.as_deref() == Some("REMOVE");
        let known = |removal: &&mut PodDeletion| {
            let of = &removal.event;
            let another = of.uid.is_none() && removal.gone && !gone;
            of.pod == event.pod && of.uid == event.uid && !another
        };
        if let Some(known) = self
            .pod_deletions
            .iter_mut()
            .rev()
            .take(MAX_LOOKBACK)
            .find(known)
        {
            known.gone |= gone;
            return;
        }
        if self.pod_deletions.len() == MAX_DELETIONS {
            self.pod_deletions.pop_front();
            self.forgotten += 1;
        }
        self.pod_deletions.push_back(PodDeletion {
            event: event.clone(),
            gone,
        });
    }
}
