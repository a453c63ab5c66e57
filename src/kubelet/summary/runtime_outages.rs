//! When the runtime's socket refused the kubelet's lists: each time by itself, since one that ends again and again looks
//! the same as one that was away for long where only the first and the last line are told.

use crate::{
    kubelet::event::{ErrorClass, Event},
    syntax::time::Time,
};
use chrono::TimeDelta;
use std::collections::VecDeque;

/// The kubelet lists every second; after a pause this long a list has succeeded.
const APART: TimeDelta = TimeDelta::seconds(15);
/// So many are kept, the last ones.
const MOST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeOutage {
    pub first: Time,
    pub last: Time,
}

#[derive(Debug, Default)]
pub(super) struct RuntimeOutages(VecDeque<RuntimeOutage>);

impl RuntimeOutages {
    pub(super) fn observe(&mut self, event: &Event) {
        let refused = |class| class == ErrorClass::Unavailable;
        let error = event.error.as_ref();
        if !error.is_some_and(|error| refused(error.class)) || !event.kind.is_list() {
            return;
        }
        let Some(at) = event.at else { return };
        match self.0.back_mut() {
            Some(down) if at - down.last <= APART => down.last = down.last.max(at),
            _ => {
                if self.0.len() == MOST {
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
