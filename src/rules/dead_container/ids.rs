//! Which containers a line of the log is about, where there may be thousands of both.

use crate::{kubelet::summary::Group, runtime::Container, syntax::id::ContainerId};
use std::{collections::BTreeSet, ops::Bound};

/// The ids of some containers, to find those of which a line speaks: of thousands of both, not each with each.
pub(super) struct Ids<'a>(BTreeSet<&'a str>);

impl<'a> Ids<'a> {
    pub(super) fn of(containers: &[&'a Container]) -> Self {
        Self(containers.iter().map(|one| one.id.as_str()).collect())
    }

    /// Returns those that a group's call was about, or that its error names in full.
    pub(super) fn named(&self, group: &Group) -> Vec<&'a str> {
        let subject = group.first.subject().map(ContainerId::as_str);
        let subject = subject.and_then(|short| {
            let next = self
                .0
                .range::<str, _>((Bound::Included(short), Bound::Unbounded))
                .next();
            next.filter(|id| id.starts_with(short)).copied()
        });
        let text = group.first.error.as_ref().map_or("", |error| &error.text);
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        let named = words.filter_map(|word| self.0.get::<str>(word).copied());
        named.chain(subject).collect()
    }
}
