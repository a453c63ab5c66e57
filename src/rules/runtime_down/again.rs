//! A runtime that ends and is started again and again: each time is short, and what ends it does not go away.

use crate::evidence::Evidence;
use crate::kubelet::summary::RuntimeOutage;
use crate::rules::clock;
use crate::rules::lines::Lines;
use crate::syntax::duration;
use chrono::TimeDelta;

/// Twice may be an upgrade and its correction.
const TIMES: usize = 3;

/// The times that it was away.
pub(super) struct Again<'a>(Vec<&'a RuntimeOutage>);

impl<'a> Again<'a> {
    /// Returns the times that these lines tell of, if they are so many.
    pub(super) fn of(evidence: &'a Evidence, logged: &Lines) -> Option<Self> {
        let (from, to) = logged.first().zip(logged.last())?;
        let told = |down: &&RuntimeOutage| from <= down.last && down.first <= to;
        let runtime_outages: Vec<_> = evidence
            .log
            .as_ref()?
            .runtime_outages
            .iter()
            .filter(told)
            .collect();
        (runtime_outages.len() >= TIMES).then_some(Self(runtime_outages))
    }

    /// Returns the longest time from one to the next.
    fn apart(&self) -> TimeDelta {
        let next = self.0.windows(2).filter_map(|two| match two {
            [one, other] => Some(other.first - one.first),
            _ => None,
        });
        next.max().unwrap_or_default()
    }

    /// Returns whether the last time is not so long ago that it would have come again.
    pub(super) fn goes_on(&self, evidence: &Evidence) -> bool {
        let end = evidence.log.as_ref().and_then(|log| log.last);
        let last = self.0.last().map(|down| down.last);
        end.zip(last)
            .is_some_and(|(end, last)| end - last <= self.apart() * 2)
    }

    /// Returns what the log tells of it, as a sentence.
    pub(super) fn told(&self, evidence: &Evidence) -> String {
        let mut away: Vec<_> = self.0.iter().map(|down| down.last - down.first).collect();
        away.sort();
        let usual = away.get(away.len() / 2).copied().unwrap_or_default();
        let first = self.0.first().map(|down| down.first);
        let last = self.0.last().map(|down| down.first);
        format!(
            "It was away {} times, first at {}, last at {}, for {} mostly, at most {} from one to the next: in between the kubelet could list.",
            self.0.len(),
            clock(evidence, first),
            clock(evidence, last),
            duration::human(usual.max(TimeDelta::seconds(1))),
            duration::human(self.apart()),
        )
    }
}
