//! Equal messages about the same thing, as one: what they have in common, how many, the first and the last.

use crate::kubelet::event::{ErrorClass, Event, MessageFields, Weight};
use chrono::TimeDelta;
use std::{cmp::Ordering, sync::Arc};

/// After a pause this long the same message is another story; a hang repeats its time-outs every 2 to 4 minutes.
pub const PAUSE: TimeDelta = TimeDelta::minutes(10);

#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub count: u64,
    pub first: Event,
    pub last: Event,
}

impl Group {
    pub(super) fn new(event: Event) -> Self {
        Self {
            count: 1,
            first: event.clone(),
            last: event,
        }
    }

    /// Whether `event`, though it says the same, comes after a pause: it is another story.
    pub(super) fn ended_before(&self, event: &Event) -> bool {
        self.last
            .at
            .zip(event.at)
            .is_some_and(|(last, at)| at - last > PAUSE)
    }
}

#[derive(Debug, Clone)]
pub(super) struct About(pub(super) Arc<MessageFields>);

impl About {
    /// Whether a healthy node says it of one pod after the other, as it lets go of them.
    pub(super) fn is_quiet(&self) -> bool {
        self.0.error_class() == Some(ErrorClass::NotFound)
            || matches!(self.0.kind.message().weight, Weight::Weak | Weight::Context)
    }

    fn key(&self) -> impl Ord {
        let fields = &*self.0;
        let id = fields.subject();
        // A message about a container is about that, whichever way it names its pod.
        let pod = fields.pod.as_ref().filter(|_| id.is_none());
        let uid = fields.uid.as_ref().filter(|_| id.is_none());
        let class = fields.error_class();
        // One process that was killed is not another, nor one server another.
        let named = fields.detail.as_deref();
        let named = named.filter(|_| fields.kind.is_of_machine());
        (class, id, pod, uid, named)
    }
}

impl Ord for About {
    fn cmp(&self, other: &Self) -> Ordering {
        // Lines that are repeated share their fields.
        if Arc::ptr_eq(&self.0, &other.0) {
            Ordering::Equal
        } else {
            (self.0.kind.cmp(&other.0.kind)).then_with(|| self.key().cmp(&other.key()))
        }
    }
}

impl PartialOrd for About {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for About {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for About {}
