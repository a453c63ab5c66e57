//! A runtime that ends and is started again and again: each time is short, and what ends it does not go away.

use crate::evidence::Evidence;
use crate::kubelet::summary::RuntimeOutage;
use crate::rules::support::log_lines::LogMatches;
use crate::rules::support::wording::clock;
use crate::syntax::duration;
use chrono::TimeDelta;

/// Twice may be an upgrade and its correction.
const MIN_TIMES: usize = 3;

/// The times that it was down.
pub(super) struct CrashLoop<'a>(Vec<&'a RuntimeOutage>);

impl<'a> CrashLoop<'a> {
    /// The times that these lines are of, if they are so many.
    pub(super) fn new(evidence: &'a Evidence, lines: &LogMatches) -> Option<Self> {
        let (from, to) = lines.first().zip(lines.last())?;
        let during = |down: &&RuntimeOutage| from <= down.last && down.first <= to;
        let runtime_outages: Vec<_> = evidence
            .log
            .as_ref()?
            .runtime_outages
            .iter()
            .filter(during)
            .collect();
        (runtime_outages.len() >= MIN_TIMES).then_some(Self(runtime_outages))
    }

    /// The longest time from one to the next.
    fn apart(&self) -> TimeDelta {
        let next = self.0.windows(2).filter_map(|two| match two {
            [one, other] => Some(other.first - one.first),
            _ => None,
        });
        next.max().unwrap_or_default()
    }

    /// Whether the last time is not so long ago that it would have come again.
    pub(super) fn continues(&self, evidence: &Evidence) -> bool {
        let end = evidence.log.as_ref().and_then(|log| log.last);
        let last = self.0.last().map(|down| down.last);
        end.zip(last)
            .is_some_and(|(end, last)| end - last <= self.apart() * 2)
    }

    pub(super) fn describe(&self, evidence: &Evidence) -> String {
        let mut away: Vec<_> = self.0.iter().map(|down| down.last - down.first).collect();
        away.sort();
        let usual = away.get(away.len() / 2).copied().unwrap_or_default();
        let first = self.0.first().map(|down| down.first);
        let last = self.0.last().map(|down| down.first);
        format!(
            "It was down {} times, first at {}, last at {}, usually for {}, at most {} apart; in between the kubelet could list.",
            self.0.len(),
            clock(evidence, first),
            clock(evidence, last),
            duration::human(usual.max(TimeDelta::seconds(1))),
            duration::human(self.apart()),
        )
    }
}
