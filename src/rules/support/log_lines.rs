//! LogMatches of the log that speak of one trouble: how many, from when to when, whether it is over.

use super::wording::clock;
use crate::evidence::Evidence;
use crate::kubelet::event::{ErrorClass, ErrorTail, Kind};
use crate::kubelet::summary::{Group, PAUSE};
use crate::syntax::citation::Citation;
use crate::syntax::time::Time;
use chrono::TimeDelta;

/// Go's words of a certificate that is not valid at this time (crypto/x509/verify.go).
pub(crate) const EXPIRED: &str = "certificate has expired or is not yet valid";

/// Groups of lines, in the order of the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogMatches<'a>(pub(crate) Vec<&'a Group>);

pub(crate) use LogMatches as Lines;

/// An episode of failed calls.
pub(crate) struct Episode<'a> {
    pub(crate) lines: LogMatches<'a>,
    /// Whether it may go on.
    pub(crate) active: bool,
    /// Times of day of the first line and of the last one.
    pub(crate) first: String,
    pub(crate) last: String,
}

impl<'a> LogMatches<'a> {
    /// Returns the lines of these messages that ended in an error of this class, of the runtime's: what a network plugin
    /// says of its agent or of the API server tells nothing of a runtime that passes it on.
    pub(crate) fn failed(evidence: &'a Evidence, kinds: &[Kind], class: ErrorClass) -> Self {
        Self::ended(evidence, kinds, class, false)
    }

    /// Returns the lines of these messages in which a network plugin ended in an error of this class.
    pub(crate) fn failed_network(
        evidence: &'a Evidence,
        kinds: &[Kind],
        class: ErrorClass,
    ) -> Self {
        Self::ended(evidence, kinds, class, true)
    }

    fn ended(evidence: &'a Evidence, kinds: &[Kind], class: ErrorClass, of_network: bool) -> Self {
        let log = evidence.log.iter();
        let fits = |group: &&Group| {
            let error = group.first.error.as_ref();
            let ended =
                |error: &ErrorTail| error.class == class && error.is_of_network() == of_network;
            kinds.contains(&group.first.kind) && error.is_some_and(ended)
        };
        Self(log.flat_map(|log| &log.groups).filter(fits).collect())
    }

    /// Returns the lines of these messages.
    pub(crate) fn of(evidence: &'a Evidence, kinds: &[Kind]) -> Self {
        let log = evidence.log.iter();
        let fits = |group: &&Group| kinds.contains(&group.first.kind);
        Self(log.flat_map(|log| &log.groups).filter(fits).collect())
    }

    /// Those of the groups that fit.
    pub(crate) fn filter(self, fits: impl Fn(&Group) -> bool) -> Self {
        Self(self.0.into_iter().filter(|group| fits(group)).collect())
    }

    /// All groups of which this holds.
    pub(crate) fn all(evidence: &'a Evidence, fits: impl Fn(&Group) -> bool) -> Self {
        let groups = evidence.log.iter().flat_map(|log| &log.groups);
        Self(groups.filter(|group| fits(group)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the moment of the first line.
    pub(crate) fn first(&self) -> Option<Time> {
        self.0.iter().filter_map(|group| group.first.at).min()
    }

    /// Returns the moment of the last line.
    pub(crate) fn last(&self) -> Option<Time> {
        self.0.iter().filter_map(|group| group.last.at).max()
    }

    /// Returns how many lines there are.
    pub(crate) fn number(&self) -> u64 {
        self.0.iter().map(|group| group.count).sum()
    }

    /// Returns the last episode, if it has at least `often` lines; over where the kubelet would have repeated them within
    /// `period`.
    pub(crate) fn episode(
        &self,
        evidence: &Evidence,
        often: u64,
        period: TimeDelta,
    ) -> Option<Episode<'a>> {
        let lines = self.latest();
        (lines.number() >= often).then(|| Episode {
            active: lines.go_on(evidence) && lines.are_recent(evidence, period),
            first: clock(evidence, lines.first()),
            last: clock(evidence, lines.last()),
            lines,
        })
    }

    /// The error of the last line.
    pub(crate) fn last_error(&self) -> Option<&'a ErrorTail> {
        let last = self.0.iter().max_by_key(|group| group.last.at)?;
        last.last.error.as_ref()
    }

    /// Returns whether one of the errors holds these words.
    pub(crate) fn say(&self, words: &str) -> bool {
        let mut errors = self.0.iter().filter_map(|it| it.last.error.as_ref());
        errors.any(|error| error.text.contains(words))
    }

    /// Returns how many lines there are, in words.
    pub(crate) fn counted(&self) -> String {
        match self.number() {
            1 => "1 line".to_owned(),
            lines => format!("{lines} lines"),
        }
    }

    /// From the first line to the last: `03:38:10 to 03:40:10`, or one time.
    pub(crate) fn span(&self, evidence: &Evidence) -> String {
        let [first, last] = [self.first(), self.last()].map(|time| clock(evidence, time));
        match first == last {
            true => first,
            false => format!("{first} to {last}"),
        }
    }

    /// `3 lines, 03:38:10 to 03:40:10`.
    pub(crate) fn summary(&self, evidence: &Evidence) -> String {
        format!("{}, {}", self.counted(), self.span(evidence))
    }

    /// How long the last line comes after the first.
    pub(crate) fn length(&self) -> Option<TimeDelta> {
        self.first()
            .zip(self.last())
            .map(|(first, last)| last - first)
    }

    /// Returns the stretches of time that the lines cover.
    pub(crate) fn spans(&self) -> Vec<(Time, Time)> {
        let span = |group: &&Group| Some((group.first.at?, group.last.at?));
        self.0.iter().filter_map(span).collect()
    }

    /// Returns the last episode: the lines back from the last one without a long pause.
    pub(crate) fn latest(&self) -> Self {
        let mut groups = self.0.clone();
        groups.sort_by_key(|group| std::cmp::Reverse(group.last.at));
        let mut since = None;
        let near = |group: &&&Group| {
            let apart = since
                .zip(group.last.at)
                .is_some_and(|(since, last)| since - last > PAUSE);
            if !apart {
                since = since.into_iter().chain(group.first.at).min();
            }
            !apart
        };
        let number = groups.iter().take_while(near).count();
        groups.truncate(number);
        groups.sort_by_key(|group| (group.first.at, group.first.citation.line));
        Self(groups)
    }

    /// Returns whether the log shows no recovery after the last line.
    pub(crate) fn go_on(&self, evidence: &Evidence) -> bool {
        lasts(evidence, self.last())
    }

    /// Returns whether the log shows no list that succeeded after the last line.
    pub(crate) fn keep_lists_away(&self, evidence: &Evidence) -> bool {
        let log = evidence.log.as_ref();
        let listed = |time| log.is_some_and(|log| log.lists_after(time));
        !self.last().is_some_and(listed)
    }

    /// Returns whether the last line is so near to the log's end that the trouble may still be there, where the
    /// kubelet would repeat it at least every `period`.
    pub(crate) fn are_recent(&self, evidence: &Evidence, period: TimeDelta) -> bool {
        let end = evidence.log.as_ref().and_then(|log| log.last);
        end.zip(self.last())
            .is_none_or(|(end, last)| end - last <= period)
    }

    /// Returns each group's first and last line, in the log's order, `most` at the most: the first ones date the
    /// beginning, the last one the present.
    pub(crate) fn cite(&self, most: usize) -> Vec<Citation> {
        let both = |group: &&Group| [group.first.citation.clone(), group.last.citation.clone()];
        let mut lines: Vec<_> = self.0.iter().flat_map(both).collect();
        lines.sort_by(|a, b| (a.time, &a.source, a.line).cmp(&(b.time, &b.source, b.line)));
        lines.dedup();
        if lines.len() > most {
            lines.drain(most - 1..lines.len() - 1);
        }
        lines
    }
}

/// Whether the log shows no recovery after `last`, the last line that speaks of the trouble.
pub(crate) fn lasts(evidence: &Evidence, last: Option<Time>) -> bool {
    let log = evidence.log.as_ref();
    let recovered = |time| log.is_some_and(|log| log.recovery_after(time).is_some());
    !last.is_some_and(recovered)
}
