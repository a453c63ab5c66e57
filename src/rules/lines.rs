//! Lines of the log that speak of one trouble: how many, from when to when, whether it is over.

use crate::{
    evidence::Evidence,
    kubelet::{
        event::{ErrorClass, ErrorTail, Kind},
        summary::{Group, PAUSE},
    },
    syntax::{citation::Citation, time::Time},
};
use chrono::TimeDelta;

/// Groups of lines, in the order of the log.
#[derive(Clone, Default)]
pub(super) struct Lines<'a>(pub(super) Vec<&'a Group>);

/// An episode of failed calls.
pub(super) struct Episode<'a> {
    pub(super) lines: Lines<'a>,
    /// Whether it may go on.
    pub(super) active: bool,
    /// Times of day of the first line and of the last one.
    pub(super) first: String,
    pub(super) last: String,
}

impl<'a> Lines<'a> {
    /// Returns the lines of these messages that ended in an error of this class, of the runtime's: what a network plugin
    /// says of its agent or of the API server tells nothing of a runtime that passes it on.
    pub(super) fn failed(evidence: &'a Evidence, kinds: &[Kind], class: ErrorClass) -> Self {
        Self::ended(evidence, kinds, class, false)
    }

    /// Returns the lines of these messages in which a network plugin ended in an error of this class.
    pub(super) fn failed_network(
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
    pub(super) fn of(evidence: &'a Evidence, kinds: &[Kind]) -> Self {
        let log = evidence.log.iter();
        let fits = |group: &&Group| kinds.contains(&group.first.kind);
        Self(log.flat_map(|log| &log.groups).filter(fits).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the moment of the first line.
    pub(super) fn first(&self) -> Option<Time> {
        self.0.iter().filter_map(|group| group.first.at).min()
    }

    /// Returns the moment of the last line.
    pub(super) fn last(&self) -> Option<Time> {
        self.0.iter().filter_map(|group| group.last.at).max()
    }

    /// Returns how many lines there are.
    pub(super) fn number(&self) -> u64 {
        self.0.iter().map(|group| group.count).sum()
    }

    /// Returns the last episode, if it has at least `often` lines; over where the kubelet would have repeated them within
    /// `period`.
    pub(super) fn episode(
        &self,
        evidence: &Evidence,
        often: u64,
        period: TimeDelta,
    ) -> Option<Episode<'a>> {
        let lines = self.latest();
        (lines.number() >= often).then(|| Episode {
            active: lines.go_on(evidence) && lines.are_recent(evidence, period),
            first: super::clock(evidence, lines.first()),
            last: super::clock(evidence, lines.last()),
            lines,
        })
    }

    /// Returns whether one of the errors holds these words.
    pub(super) fn say(&self, words: &str) -> bool {
        let mut errors = self.0.iter().filter_map(|it| it.last.error.as_ref());
        errors.any(|error| error.text.contains(words))
    }

    /// Returns how many lines there are, in words.
    pub(super) fn counted(&self) -> String {
        match self.number() {
            1 => "1 line".to_owned(),
            lines => format!("{lines} lines"),
        }
    }

    /// Returns the stretches of time that the lines cover.
    pub(super) fn spans(&self) -> Vec<(Time, Time)> {
        let span = |group: &&Group| Some((group.first.at?, group.last.at?));
        self.0.iter().filter_map(span).collect()
    }

    /// Returns the last episode: the lines back from the last one without a long pause.
    pub(super) fn latest(&self) -> Self {
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
    pub(super) fn go_on(&self, evidence: &Evidence) -> bool {
        super::lasts(evidence, self.last())
    }

    /// Returns whether the log shows no list that succeeded after the last line.
    pub(super) fn keep_lists_away(&self, evidence: &Evidence) -> bool {
        let log = evidence.log.as_ref();
        let listed = |time| log.is_some_and(|log| log.lists_after(time));
        !self.last().is_some_and(listed)
    }

    /// Returns whether the last line is so near to the log's end that the trouble may still be there, where the
    /// kubelet would repeat it at least every `period`.
    pub(super) fn are_recent(&self, evidence: &Evidence, period: TimeDelta) -> bool {
        let end = evidence.log.as_ref().and_then(|log| log.last);
        end.zip(self.last())
            .is_none_or(|(end, last)| end - last <= period)
    }

    /// Returns each group's first and last line, in the log's order, `most` at the most: the first ones date the
    /// beginning, the last one the present.
    pub(super) fn cite(&self, most: usize) -> Vec<Citation> {
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
