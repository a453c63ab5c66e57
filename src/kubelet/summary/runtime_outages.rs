//! When the runtime's socket refused the kubelet's lists, each time separately: by its first and last line alone a runtime
//! that crashes again and again looks like one that was down for long.

use crate::kubelet::event::{ErrorClass, Event};
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::collections::VecDeque;

/// The kubelet lists every second; after a pause this long a list has succeeded.
const MAX_PAUSE: TimeDelta = TimeDelta::seconds(15);
const MAX_OUTAGES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeOutage {
    pub first: Time,
    pub last: Time,
}

#[derive(Debug, Default)]
pub(super) struct RuntimeOutages(VecDeque<RuntimeOutage>);

impl RuntimeOutages {
    pub(super) fn observe(&mut self, event: &Event) {
        if event.error_class() != Some(ErrorClass::Unavailable) || !event.kind.is_list() {
            return;
        }
        let Some(at) = event.at else { return };
        match self.0.back_mut() {
            Some(down) if at - down.last <= MAX_PAUSE => down.last = down.last.max(at),
            _ => {
                if self.0.len() == MAX_OUTAGES {
                    self.0.pop_front();
                }
                self.0.push_back(RuntimeOutage {
                    first: at,
                    last: at,
                });
            }
        }
    }

    pub(super) fn finish(self) -> Vec<RuntimeOutage> {
        self.0.into()
    }
}
