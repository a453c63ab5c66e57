//! Matches unstructured text against the table's templates, and structured messages against its texts.
//!
//! Templates are taken apart once; a text is compared only with those that begin with its first byte.

use super::{Kind, MESSAGES};
use std::sync::LazyLock;

/// Most holes that a template has.
const HOLES: usize = 6;

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

/// A template: its head, then holes, each with the text that follows it (none: the hole takes the rest).
struct Template {
    kind: Kind,
    head: &'static str,
    parts: Vec<(Hole, &'static str)>,
}

/// What a text matched: the message, and what filled its holes.
#[derive(Debug)]
pub(super) struct Match<'t> {
    pub(super) kind: Kind,
    holes: [(Hole, &'t str); HOLES],
    count: usize,
}

impl<'t> Match<'t> {
    pub(super) fn holes(&self) -> &[(Hole, &'t str)] {
        &self.holes[..self.count]
    }
}

struct Tables {
    /// By first byte.
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
            parts.push((Hole::named(name), literal));
            rest = next;
        }
        Self { kind, head, parts }
    }

    fn matches<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        let mut rest = text.strip_prefix(self.head)?;
        let mut found = Match {
            kind: self.kind,
            holes: [(Hole::Any, ""); HOLES],
            count: 0,
        };
        for &(hole, literal) in &self.parts {
            let end = if literal.is_empty() {
                rest.len()
            } else if hole.is_greedy() {
                memchr::memmem::rfind(rest.as_bytes(), literal.as_bytes())?
            } else {
                memchr::memmem::find(rest.as_bytes(), literal.as_bytes())?
            };
            *found.holes.get_mut(found.count)? = (hole, &rest[..end]);
            found.count += 1;
            rest = &rest[end + literal.len()..];
        }
        Some(found)
    }
}

/// Returns the message that unstructured `text` is.
pub(super) fn old(text: &str) -> Option<Match<'_>> {
    TABLES.old[first(text)]
        .iter()
        .find_map(|template| template.matches(text))
}

/// Returns the message whose structured text is `text`.
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
