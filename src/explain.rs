//! What there is to explain: each finding and each known message of the kubelet, with its page.
//!
//! The pages are Markdown files in `docs`; `page` reads them. `paste` reads pasted lines, `describe` says what a line
//! holds, `notes` what the words of its error mean.

mod describe;
pub mod notes;
pub mod page;
pub mod paste;

use crate::{kubelet::event::Kind, rules::RULES};
use page::Page;

pub use describe::describe;

/// What an id may be the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// A finding of `plegdoctor diagnose`.
    Finding,
    /// A message of the kubelet's log.
    Message,
}

/// A finding or a message, with its page.
#[derive(Clone, Copy, Debug)]
pub struct Topic {
    /// Which of the two.
    pub sort: Sort,
    /// Its stable name.
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Which message, if it is one.
    pub kind: Option<Kind>,
    /// Its page, as Markdown.
    pub markdown: &'static str,
}

impl Topic {
    /// How a message is logged, as `Kind::texts`; empty for a finding.
    pub fn texts(&self) -> Vec<String> {
        self.kind.map(Kind::texts).unwrap_or_default()
    }

    /// Its page, by section.
    pub fn page(&self) -> Page {
        Page::new(self.markdown)
    }
}

const MAX_SUGGESTIONS: usize = 3;
/// How similar a name must be to be suggested, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.6;

/// All topics: the findings in the order of their rules, then the messages.
pub fn topics() -> impl Iterator<Item = Topic> {
    let findings = RULES.iter().map(|rule| Topic {
        sort: Sort::Finding,
        id: rule.id,
        title: rule.title,
        kind: None,
        markdown: rule.page,
    });
    findings.chain(Kind::ALL.iter().map(|&kind| message(kind)))
}

/// The topic of a message.
pub fn message(kind: Kind) -> Topic {
    let message = kind.message();
    Topic {
        sort: Sort::Message,
        id: message.id,
        title: page::title(message.page),
        kind: Some(kind),
        markdown: message.page,
    }
}

/// The topics of that name, the finding first where a finding and a message share it. Case does not count, nor
/// does how the words are joined.
pub fn named(name: &str) -> Vec<Topic> {
    let name = normalize(name);
    topics().filter(|topic| topic.id == name).collect()
}

/// The ids most similar to an unknown name, the most similar first.
pub fn nearest(name: &str) -> Vec<&'static str> {
    let name = normalize(name);
    let alike = |id: &str| {
        let within = name.len() > 2 && (id.contains(&name) || name.contains(id));
        let words = strsim::normalized_damerau_levenshtein(&name, id);
        if within {
            words.max(MIN_SIMILARITY)
        } else {
            words
        }
    };
    let mut near: Vec<_> = topics()
        .map(|topic| (topic.id, alike(topic.id)))
        .filter(|(_, alike)| *alike >= MIN_SIMILARITY)
        .collect();
    // The sort is stable: of those that are as much alike, the findings stay first.
    near.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut ids = Vec::new();
    for (id, _) in near {
        if ids.len() < MAX_SUGGESTIONS && !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

fn normalize(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(name: &str) -> Vec<(Sort, &'static str)> {
        let named = named(name).into_iter();
        named.map(|topic| (topic.sort, topic.id)).collect()
    }

    #[test]
    fn a_name_is_found_however_it_is_written() {
        let found = [(Sort::Finding, "hung-container")];
        assert_eq!(ids("hung-container"), found);
        assert_eq!(ids(" Hung_Container"), found);
        assert_eq!(ids("pleg-stale"), [(Sort::Message, "pleg-stale")]);
        assert_eq!(ids("pleg"), []);
        assert_eq!(ids(""), []);
    }

    #[test]
    fn a_finding_and_a_message_may_share_a_name() {
        assert_eq!(
            ids("runtime-down"),
            [
                (Sort::Finding, "runtime-down"),
                (Sort::Message, "runtime-down")
            ]
        );
    }

    #[test]
    fn what_is_misspelt_is_guessed_and_what_is_foreign_is_not() {
        assert_eq!(nearest("hung-contaner")[0], "hung-container");
        assert_eq!(nearest("plegstale")[0], "pleg-stale");
        assert!(nearest("stale").contains(&"pleg-stale"));
        assert!(nearest("sandbox").contains(&"orphan-sandbox"));
        assert_eq!(nearest("runtime-dwn")[0], "runtime-down");
        assert_eq!(
            nearest("runtime-dwn")
                .iter()
                .filter(|id| **id == "runtime-down")
                .count(),
            1
        );
        assert_eq!(nearest("kubernetes"), Vec::<&str>::new());
        assert_eq!(nearest(""), Vec::<&str>::new());
        assert_eq!(nearest("a"), Vec::<&str>::new());
    }
}
