//! Lines that several logs hold are counted once: rotation by copy, a collector that saved twice, a log within an
//! archive and beside it. What a log says several times itself counts as often.
//!
//! Only the stretch is remembered that a later log may hold, too: from the earliest first line of those to come. Of
//! each line of interest there a hash is kept, and of a bounded number of them, the newest. A line without a time is
//! never taken for another.

use crate::{kubelet::event::Event, syntax::time::Time};
use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

/// How many hashes are remembered: what fits in a table of 2^18, some 9 MiB with their times.
const MOST: usize = 229_376;

/// What was seen.
#[derive(Debug)]
pub(super) struct Overlap {
    /// From when on logs to come may hold the same.
    ahead: Option<Time>,
    /// The number of the log being read.
    log: u16,
    seen: HashMap<u64, Seen>,
    /// What was seen and when it happened, in microseconds, in its order.
    order: VecDeque<(u64, i64)>,
    most: usize,
    /// Up to when lines of logs before this one were forgotten.
    forgotten: Option<i64>,
    /// … and of this one.
    forgetting: Option<i64>,
    /// The last line that was another log's, too.
    last: Option<u64>,
    tally: Tally,
}

/// How often something was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// How often a log before the last one that holds it says it at most.
    before: u16,
    /// That last one.
    log: u16,
    /// How often it says it.
    own: u16,
}

/// What became of a log's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Lines of interest that logs before it hold, too.
    pub(super) again: u64,
    /// Lines of interest from a stretch of which too much was seen to be remembered.
    pub(super) unknown: u64,
}

impl Default for Overlap {
    fn default() -> Self {
        Self {
            ahead: None,
            log: 0,
            seen: HashMap::new(),
            order: VecDeque::new(),
            most: MOST,
            forgotten: None,
            forgetting: None,
            last: None,
            tally: Tally::default(),
        }
    }
}

impl Overlap {
    /// Tells when the earliest of the logs begins that come after the next one; `None`: none comes.
    pub(super) fn expect(&mut self, ahead: Option<Time>) {
        self.ahead = ahead;
    }

    /// Ends a log; returns what became of its lines.
    pub(super) fn end(&mut self) -> Tally {
        self.log = self.log.saturating_add(1);
        self.forgotten = self.forgotten.max(self.forgetting.take());
        self.last = None;
        std::mem::take(&mut self.tally)
    }

    /// Takes in an event. Returns whether a log before this one told it already.
    pub(super) fn is_again(&mut self, event: &Event) -> bool {
        let Some(at) = event.at else {
            return false;
        };
        let remember = self.ahead.is_some_and(|ahead| at >= ahead);
        if !remember && self.seen.is_empty() {
            return false;
        }
        let line = event.citation.line;
        let (hash, at) = (hash(event, at), at.timestamp_micros());
        if let Some(seen) = self.seen.get_mut(&hash) {
            if seen.log != self.log {
                seen.before = seen.before.max(seen.own);
                (seen.log, seen.own) = (self.log, 0);
            }
            seen.own = seen.own.saturating_add(1);
            let again = seen.own <= seen.before;
            // One line may tell several things.
            if again && (line.is_none() || line != self.last) {
                self.tally.again += 1;
                self.last = line;
            }
            return again;
        }
        if self.forgotten.is_some_and(|forgotten| at <= forgotten) {
            self.tally.unknown += 1;
        }
        if remember {
            self.remember(hash, at);
        }
        false
    }

    fn remember(&mut self, hash: u64, at: i64) {
        if self.seen.is_empty() {
            self.seen.reserve(self.most.min(MOST));
        }
        if self.order.len() >= self.most
            && let Some((oldest, when)) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
            self.forgetting = self.forgetting.max(Some(when));
        }
        let seen = Seen {
            before: 0,
            log: self.log,
            own: 1,
        };
        self.seen.insert(hash, seen);
        self.order.push_back((hash, at));
    }
}

/// Returns a hash of what a line says. Who received it when is left out: the same line may lie in several envelopes.
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
    use crate::{
        kubelet::event::{Kind, MessageFields},
        syntax::{citation::Citation, klog::Severity},
    };
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
    fn read(overlap: &mut Overlap, logs: &[&[i64]]) -> Vec<(Vec<i64>, Tally)> {
        let mut told = Vec::new();
        for (number, log) in logs.iter().enumerate() {
            let later = logs[number + 1..].iter().filter_map(|log| log.first());
            overlap.expect(later.min().map(|&first| second(first)));
            let mut counted = log.to_vec();
            let mut line = 0;
            counted.retain(|&at| {
                line += 1;
                !overlap.is_again(&event(Some(second(at)), line, "text"))
            });
            told.push((counted, overlap.end()));
        }
        told
    }

    fn again(again: u64) -> Tally {
        Tally { again, unknown: 0 }
    }

    #[test]
    fn what_an_earlier_log_holds_counts_once_and_repeats_within_one_count() {
        let mut overlap = Overlap::default();
        let told = read(&mut overlap, &[&[1, 2, 3, 3, 4], &[3, 3, 3, 4, 5], &[5, 6]]);
        assert_eq!(
            told,
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
        let told = read(&mut Overlap::default(), &[log, log, log]);
        assert_eq!(told[0].0, log);
        assert_eq!(told[1..], [(vec![], again(3)), (vec![], again(3))]);
    }

    #[test]
    fn without_an_overlap_nothing_is_remembered() {
        let mut overlap = Overlap::default();
        read(&mut overlap, &[&[1, 2, 3], &[4, 5], &[6]]);
        assert!(overlap.seen.is_empty() && overlap.order.is_empty());
    }

    #[test]
    fn other_words_at_the_same_time_and_lines_without_a_time_count() {
        let mut overlap = Overlap::default();
        overlap.expect(Some(second(0)));
        assert!(!overlap.is_again(&event(Some(second(1)), 1, "a")));
        assert!(!overlap.is_again(&event(None, 2, "a")));
        overlap.end();
        assert!(!overlap.is_again(&event(Some(second(1)), 1, "b")));
        assert!(!overlap.is_again(&event(None, 2, "a")));
        assert!(overlap.is_again(&event(Some(second(1)), 3, "a")));
        // A second thing that the same line tells is no second line.
        let mut other = event(Some(second(1)), 3, "a");
        other.fields = Arc::new(MessageFields::new(Kind::SkipSync));
        assert!(!overlap.is_again(&other));
        assert_eq!(overlap.end(), again(1));
    }

    #[test]
    fn what_is_too_much_to_be_remembered_is_told() {
        let mut overlap = Overlap {
            most: 3,
            ..Overlap::default()
        };
        let told = read(&mut overlap, &[&[1, 2, 3, 4, 5], &[1, 2, 3, 4, 5]]);
        let tally = Tally {
            again: 3,
            unknown: 2,
        };
        assert_eq!(told[1], (vec![1, 2], tally));
        assert!(overlap.seen.len() <= 3);
    }
}
