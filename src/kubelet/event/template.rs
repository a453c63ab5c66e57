//! Matches unstructured text against the table's templates, and structured messages against its texts.
//!
//! Templates are taken apart once; a text is compared only with those that begin with its first byte.

use super::{Kind, MESSAGES};
use memchr::memmem::{Finder, FinderRev};
use std::sync::LazyLock;

const MAX_HOLES: usize = 6;

/// A place in a template that text fills. Meanings: see the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hole {
    Error,
    Pod,
    Pods,
    Reversed,
    Uid,
    Sandbox,
    Container,
    Node,
    Word,
    Version,
    List,
    State,
    Condition,
    PlegEvent,
    Filter,
    Dump,
    Any,
}

impl Hole {
    fn named(name: &str) -> Self {
        match name {
            "err" => Self::Error,
            "pod" => Self::Pod,
            "pods" => Self::Pods,
            "slash" => Self::Reversed,
            "uid" => Self::Uid,
            "sid" => Self::Sandbox,
            "cid" => Self::Container,
            "node" => Self::Node,
            "word" => Self::Word,
            "ver" => Self::Version,
            "list" => Self::List,
            "state" => Self::State,
            "cond" => Self::Condition,
            "event" => Self::PlegEvent,
            "filter" => Self::Filter,
            "dump" => Self::Dump,
            _ => Self::Any,
        }
    }

    /// Errors and dumps may hold the text that follows them; then its last occurrence ends them.
    fn is_greedy(self) -> bool {
        matches!(self, Self::Error | Self::Dump | Self::Pods)
    }
}

struct Template {
    kind: Kind,
    head: &'static str,
    parts: Vec<(Hole, End)>,
}

/// The text that follows a hole; the searches are prepared once, which is dearer than most of them.
enum End {
    Rest,
    First(Box<Finder<'static>>),
    Last(FinderRev<'static>),
}

impl End {
    fn new(hole: Hole, literal: &'static str) -> Self {
        if literal.is_empty() {
            Self::Rest
        } else if hole.is_greedy() {
            Self::Last(FinderRev::new(literal))
        } else {
            Self::First(Box::new(Finder::new(literal)))
        }
    }

    /// Where in `text` the hole ends, and how long what follows it is.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        let text = text.as_bytes();
        match self {
            Self::Rest => Some((text.len(), 0)),
            Self::First(finder) => Some((finder.find(text)?, finder.needle().len())),
            Self::Last(finder) => Some((finder.rfind(text)?, finder.needle().len())),
        }
    }
}

/// What a text matched: the message, and what filled its holes.
#[derive(Debug)]
pub(super) struct Match<'t> {
    pub(super) kind: Kind,
    holes: [(Hole, &'t str); MAX_HOLES],
    count: usize,
}

impl<'t> Match<'t> {
    pub(super) fn holes(&self) -> &[(Hole, &'t str)] {
        &self.holes[..self.count]
    }
}

struct Tables {
    old: Vec<Vec<Template>>,
    new: Vec<Vec<(&'static str, Kind)>>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let mut old: Vec<Vec<Template>> = (0..256).map(|_| Vec::new()).collect();
    let mut new: Vec<Vec<(&str, Kind)>> = (0..256).map(|_| Vec::new()).collect();
    for (message, &kind) in MESSAGES.iter().zip(Kind::ALL) {
        for text in message.old {
            let template = Template::new(kind, text);
            old[first(template.head)].push(template);
        }
        for text in message.new {
            new[first(text)].push((text, kind));
        }
    }
    Tables { old, new }
});

fn first(text: &str) -> usize {
    text.bytes().next().map_or(0, usize::from)
}

impl Template {
    fn new(kind: Kind, text: &'static str) -> Self {
        let (head, mut rest) = text.split_once('<').unwrap_or((text, ""));
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let (name, after) = rest.split_once('>').unwrap_or((rest, ""));
            let (literal, next) = after.split_once('<').unwrap_or((after, ""));
            let hole = Hole::named(name);
            parts.push((hole, End::new(hole, literal)));
            rest = next;
        }
        Self { kind, head, parts }
    }

    fn matches<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        let mut rest = text.strip_prefix(self.head)?;
        let mut found = Match {
            kind: self.kind,
            holes: [(Hole::Any, ""); MAX_HOLES],
            count: 0,
        };
        for (hole, end) in &self.parts {
            let (end, skip) = end.find(rest)?;
            *found.holes.get_mut(found.count)? = (*hole, &rest[..end]);
            found.count += 1;
            rest = &rest[end + skip..];
        }
        Some(found)
    }
}

pub(super) fn old(text: &str) -> Option<Match<'_>> {
    TABLES.old[first(text)]
        .iter()
        .find_map(|template| template.matches(text))
}

pub(super) fn new(text: &str) -> Option<Kind> {
    TABLES.new[first(text)]
        .iter()
        .find(|(message, _)| *message == text)
        .map(|&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_take_what_stands_between_literals() {
        let text =
            r#"PodSandboxStatus of sandbox "b159" for pod "web-2_default(9b0e)" error: rpc: x"#;
        let found = old(text).unwrap();
        assert_eq!(found.kind, Kind::SandboxStatusFailed);
        assert_eq!(
            found.holes(),
            [
                (Hole::Sandbox, "b159"),
                (Hole::Pod, "web-2_default(9b0e)"),
                (Hole::Error, "rpc: x"),
            ]
        );
    }

    #[test]
    fn an_error_that_holds_the_text_after_it_is_whole() {
        let text = r#"Failed to get pod sandbox status: a; Skipping pod "b"; Skipping pod "c_d""#;
        let found = old(text).unwrap();
        assert_eq!(
            found.holes(),
            [(Hole::Error, r#"a; Skipping pod "b""#), (Hole::Pod, "c_d")]
        );
    }

    #[test]
    fn texts_that_only_begin_alike_do_not_match() {
        for text in [
            "",
            "StopPodSandbox",
            "StopPodSandbox \"x\" failed",
            "xStatus from",
        ] {
            assert!(old(text).is_none(), "{text}");
        }
        assert_eq!(new("Failed to stop sandbox, perhaps"), None);
    }
}
