//! Lines that rotated logs share (rotation by copy, a log that was saved twice) count once. What a log says several times
//! itself counts as often. Only lines that a later log may repeat are remembered: those from its first time on. A line
//! without a time never counts as repeated.

use crate::{kubelet::event::Event, syntax::time::Time};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Lines that are remembered: some 9 MiB.
const MAX_LINES: usize = 229_376;

#[derive(Debug)]
pub(super) struct Dedup {
    /// When the earliest of the logs to come begins.
    next: Option<Time>,
    log: u16,
    seen: HashMap<u64, Seen>,
    max: usize,
    /// From when to when logs before the current one, and it itself, said too much to be remembered.
    forgotten: Option<(Time, Time)>,
    forgetting: Option<(Time, Time)>,
    last: Option<u64>,
    repeats: Repeats,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Time,
    before: u16,
    /// That last one, and how often it says it.
    log: u16,
    own: u16,
}

/// Lines of a log that logs before it hold, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repeats {
    pub(super) dropped: u64,
    /// Lines from a time when too much was said to be remembered.
    pub(super) unknown: u64,
}

impl Default for Dedup {
    fn default() -> Self {
        Self {
            next: None,
            log: 0,
            seen: HashMap::new(),
            max: MAX_LINES,
            forgotten: None,
            forgetting: None,
            last: None,
            repeats: Repeats::default(),
        }
    }
}

impl Dedup {
    /// Sets when the earliest log after the one that begins now begins; `None`: none follows.
    pub(super) fn expect(&mut self, next: Option<Time>) {
        let begins = std::mem::replace(&mut self.next, next);
        self.seen
            .retain(|_, seen| begins.is_some_and(|begins| seen.at >= begins));
    }

    pub(super) fn end(&mut self) -> Repeats {
        self.log = self.log.saturating_add(1);
        self.forgotten = union(self.forgotten, self.forgetting.take());
        self.last = None;
        std::mem::take(&mut self.repeats)
    }

    /// Whether a log before this one holds the event, too.
    pub(super) fn is_repeated(&mut self, event: &Event) -> bool {
        let Some(at) = event.at else {
            return false;
        };
        let remember = self.next.is_some_and(|next| at >= next);
        if !remember && self.seen.is_empty() {
            return false;
        }
        let hash = hash(event, at);
        if let Some(seen) = self.seen.get_mut(&hash) {
            if seen.log != self.log {
                seen.before = seen.before.max(seen.own);
                (seen.log, seen.own) = (self.log, 0);
            }
            seen.own = seen.own.saturating_add(1);
            let repeated = seen.own <= seen.before;
            let line = event.citation.line;
            // A line may have several events.
            if repeated && (line.is_none() || line != self.last) {
                self.repeats.dropped += 1;
                self.last = line;
            }
            return repeated;
        }
        let unknown = self
            .forgotten
            .is_some_and(|(from, to)| from <= at && at <= to);
        self.repeats.unknown += u64::from(unknown);
        if remember && self.seen.len() < self.max {
            let (before, log, own) = (0, self.log, 1);
            let seen = Seen {
                at,
                before,
                log,
                own,
            };
            self.seen.insert(hash, seen);
        } else if remember {
            self.forgetting = union(self.forgetting, Some((at, at)));
        }
        false
    }
}

fn union(one: Option<(Time, Time)>, other: Option<(Time, Time)>) -> Option<(Time, Time)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Hashes what a line says, without who received it when: the same line may have different framing.
fn hash(event: &Event, at: Time) -> u64 {
    let mut hasher = DefaultHasher::new();
    (event.kind, at.timestamp_micros(), event.severity as u8).hash(&mut hasher);
    (&event.pod, &event.uid, &event.sandbox, &event.container).hash(&mut hasher);
    (&event.detail, &event.node, event.carrier).hash(&mut hasher);
    event.citation.text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubelet::event::{Kind, MessageFields};
    use crate::syntax::citation::Citation;
    use crate::syntax::klog::Severity;
    use chrono::{TimeDelta, TimeZone as _, Utc};
    use std::sync::Arc;

    fn second(second: i64) -> Time {
        Utc.timestamp_opt(1_800_000_000, 0).unwrap().fixed_offset() + TimeDelta::seconds(second)
    }

    fn event(at: Option<Time>, line: u64, text: &str) -> Event {
        Event {
            fields: Arc::new(MessageFields::new(Kind::PlegStale)),
            at,
            exact: true,
            guessed: false,
            received: None,
            severity: Severity::Error,
            citation: Citation {
                is_call: false,
                source: "log".into(),
                line: Some(line),
                time: at,
                text: text.into(),
            },
        }
    }

    /// Reads logs whose lines are given by their seconds. Returns of each the seconds that count, and its tally.
    fn read(dedup: &mut Dedup, logs: &[&[i64]]) -> Vec<(Vec<i64>, Repeats)> {
        let mut read = Vec::new();
        for (number, log) in logs.iter().enumerate() {
            let later = logs[number + 1..].iter().filter_map(|log| log.first());
            dedup.expect(later.min().map(|&first| second(first)));
            let mut counted = log.to_vec();
            let mut line = 0;
            counted.retain(|&at| {
                line += 1;
                !dedup.is_repeated(&event(Some(second(at)), line, "text"))
            });
            read.push((counted, dedup.end()));
        }
        read
    }

    fn again(dropped: u64) -> Repeats {
        Repeats {
            dropped,
            unknown: 0,
        }
    }

    #[test]
    fn what_an_earlier_log_holds_counts_once_and_repeats_within_one_count() {
        let mut dedup = Dedup::default();
        let counted = read(&mut dedup, &[&[1, 2, 3, 3, 4], &[3, 3, 3, 4, 5], &[5, 6]]);
        assert_eq!(
            counted,
            [
                (vec![1, 2, 3, 3, 4], again(0)),
                (vec![3, 5], again(3)),
                (vec![6], again(1)),
            ]
        );
    }

    #[test]
    fn of_three_copies_one_counts() {
        let log: &[i64] = &[1, 1, 2];
        let counted = read(&mut Dedup::default(), &[log, log, log]);
        assert_eq!(counted[0].0, log);
        assert_eq!(counted[1..], [(vec![], again(3)), (vec![], again(3))]);
    }

    #[test]
    fn without_an_overlap_nothing_is_remembered() {
        let mut dedup = Dedup::default();
        read(&mut dedup, &[&[1, 2, 3], &[4, 5], &[6]]);
        assert!(dedup.seen.is_empty());
    }

    #[test]
    fn other_words_at_the_same_time_and_lines_without_a_time_count() {
        let mut dedup = Dedup::default();
        dedup.expect(Some(second(0)));
        assert!(!dedup.is_repeated(&event(Some(second(1)), 1, "a")));
        assert!(!dedup.is_repeated(&event(None, 2, "a")));
        dedup.end();
        assert!(!dedup.is_repeated(&event(Some(second(1)), 1, "b")));
        assert!(!dedup.is_repeated(&event(None, 2, "a")));
        assert!(dedup.is_repeated(&event(Some(second(1)), 3, "a")));
        // A second thing that the same line tells is no second line.
        let mut other = event(Some(second(1)), 3, "a");
        other.fields = Arc::new(MessageFields::new(Kind::SkipSync));
        assert!(!dedup.is_repeated(&other));
        assert_eq!(dedup.end(), again(1));
    }

    #[test]
    fn what_is_too_much_to_be_remembered_is_told() {
        let mut dedup = Dedup {
            max: 3,
            ..Dedup::default()
        };
        let counted = read(&mut dedup, &[&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 5]]);
        let tally = Repeats {
            dropped: 3,
            unknown: 2,
        };
        assert_eq!(counted[1], (vec![4, 5], tally));
        assert!(dedup.seen.len() <= 3);
    }
}
