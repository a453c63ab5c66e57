//! Where a log's times go back: the machine's clock was set, or the log was put together in another order.
//!
//! A step forward looks like a pause, so it is not seen here.

use crate::kubelet::event::{Event, Kind};
use crate::syntax::citation::Citation;
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::sync::Arc;

/// Lines that several threads wrote may be this much out of order; a blocked writer's are no more so.
const DISORDER: TimeDelta = TimeDelta::minutes(2);
/// What goes back further is another log.
const MAX_STEP: TimeDelta = TimeDelta::hours(26);
/// By how much the two clocks of a line may differ in how far they went back.
const MAX_DISAGREEMENT: TimeDelta = TimeDelta::minutes(1);
/// The end of summer time, in a log without a zone.
const SUMMER_TIME: TimeDelta = TimeDelta::hours(1);
/// More than so many are several logs in one.
const MAX_STEPS: usize = 4;

/// A place where the times of one source go back.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockStep {
    /// By how much, at most: lines before it may be older.
    pub by: TimeDelta,
    pub before: Citation,
    pub after: Citation,
}

#[derive(Debug, Default)]
pub(super) struct ClockSteps {
    found: Vec<ClockStep>,
    last: Option<(Citation, Option<Time>)>,
}

impl ClockSteps {
    pub(super) fn observe(&mut self, event: &Event) {
        // A condition has the time when it was observed, not when it was written down.
        let Some(at) = event.at.filter(|_| event.kind != Kind::ReadyCondition) else {
            return;
        };
        if let Some((before, received)) = &self.last
            && let Some(then) = before.time
            && before.source == event.citation.source
            && at < then
            && let by = then - at
            && (DISORDER..=MAX_STEP).contains(&by)
        {
            // A line that was written late was received after the one before it all the same.
            let both = received.zip(event.received);
            let agreed =
                both.is_none_or(|(then, now)| ((then - now) - by).abs() <= MAX_DISAGREEMENT);
            let summer = !event.exact && (by - SUMMER_TIME).abs() <= MAX_DISAGREEMENT;
            if agreed && !summer && self.found.len() <= MAX_STEPS {
                self.found.push(ClockStep {
                    by,
                    before: before.clone(),
                    after: event.citation.clone(),
                });
            }
        }
        match &mut self.last {
            Some((last, received)) => {
                overwrite(last, &event.citation);
                *received = event.received;
            }
            None => self.last = Some((event.citation.clone(), event.received)),
        }
    }

    pub(super) fn finish(self) -> Vec<ClockStep> {
        match self.found.len() {
            0..=MAX_STEPS => self.found,
            _ => Vec::new(),
        }
    }
}

/// Overwrites a citation. To count one more owner of the source's name costs more than to see that it is the same.
fn overwrite(last: &mut Citation, citation: &Citation) {
    if !Arc::ptr_eq(&last.source, &citation.source) {
        last.source = Arc::clone(&citation.source);
    }
    if !Arc::ptr_eq(&last.text, &citation.text) {
        last.text = Arc::clone(&citation.text);
    }
    last.is_call = citation.is_call;
    last.line = citation.line;
    last.time = citation.time;
}
