//! The screen: rejects lines that hold no known message, before anything is parsed.
//!
//! A few literals cover the whole table: fragments that several messages share, chosen so that what they begin
//! with is rare in kubelet logs. Whole blocks are searched for them at once (`find`), a single line with `screen`.
//! At most 48: a packed (SIMD) search gets slower with each, and cannot take more than 64.

use aho_corasick::{AhoCorasick, Input, MatchKind, Span, packed};
use std::sync::LazyLock;

/// What a line may be, by the first literal in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// A message that fills healthy logs.
    Bulk,
    /// Any other message.
    Message,
    /// Not the kubelet's word, but about the log: its losses, its host, its date.
    Note,
}

/// Messages; each literal stands in one line.
const MESSAGE: &[&str] = &[
    // Most calls that fail say it in one of these two ways.
    " failed",
    "ailed to ",
    "ailed cleaning",
    "PLEG is not",
    "PLEG: ",
    "this relist",
    "ipping pod sync",
    "ontainer runtime ",
    "kubelet main sync",
    "pdate channel is",
    "Loop took",
    "keeping took",
    "PodSandboxStatus of",
    "ListContainers error",
    "ContainerStatus ",
    "reStop hook",
    "became ",
    "event message for",
    " node status",
    " lease",
    "registered node",
    "rror syncing pod",
    // `SyncLoop (DELETE, "api")`, `SyncLoop DELETE`
    "DELETE",
    "REMOVE",
    "Using dockershim",
    "cri networking",
    "to docker on",
    "--container-runtime=",
    "KubeletReady",
    "KubeletNotReady",
    "NodeStatusUnknown",
    // A fatal line's letter and month, behind a blank or a quote.
    " F0",
    " F1",
    "\"F0",
    "\"F1",
];
/// What tells of losses.
const NOTE: &[&str] = &["Suppressed ", "rate-limiting"];
/// klog's header of a file.
const HEADER: &[&str] = &["Running on machine: ", "Log file created at: "];
/// Context, of which healthy logs are full. At one place in a line the first that fits counts: a failed relist is
/// no bulk.
const MESSAGE_BEFORE: &[&str] = &["GenericPLEG: Unable"];
const BULK: &[&str] = &["SyncLoop (PLEG", GENERIC, "Generic (PLEG"];
const GENERIC: &str = "GenericPLEG";
/// In blocks only: a fatal line, or the first line of an entry of several lines (`envelope::Entry`).
const START: &[&str] = &["\nF0", "\nF1", "\n{\n", "\n[\n", "__CURSOR=", " [s="];

/// A search, packed where the machine can.
enum Search {
    Packed(packed::Searcher),
    Plain(AhoCorasick),
    Never,
}

impl Search {
    fn new(literals: &[&str]) -> Self {
        match packed::Searcher::new(literals) {
            Some(searcher) => Self::Packed(searcher),
            None => Self::plain(literals),
        }
    }

    /// For processors without the instructions that a packed search needs.
    fn plain(literals: &[&str]) -> Self {
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(literals)
            .map_or(Self::Never, Self::Plain)
    }

    /// Returns the first match in `text` from `at` on: its start, and which literal it is.
    fn find(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let span = Span::from(at..text.len());
        let found = match self {
            Self::Packed(searcher) => searcher.find_in(text, span)?,
            Self::Plain(automaton) => automaton.find(Input::new(text).span(span))?,
            // An automaton that cannot be built rejects nothing.
            Self::Never => return (at < text.len()).then_some((at, MESSAGE_BEFORE.len())),
        };
        Some((found.start(), found.pattern().as_usize()))
    }
}

/// For a line: of context only, of messages, of notes, in this order.
static LINE: LazyLock<Search> =
    LazyLock::new(|| Search::new(&[MESSAGE_BEFORE, BULK, NOTE, HEADER, MESSAGE].concat()));
static BLOCK: LazyLock<Search> =
    LazyLock::new(|| Search::new(&[NOTE, HEADER, MESSAGE, START].concat()));
static BLOCK_WITH_CONTEXT: LazyLock<Search> =
    LazyLock::new(|| Search::new(&[BULK, NOTE, HEADER, MESSAGE, START].concat()));
static CONTEXT: LazyLock<Search> = LazyLock::new(|| Search::new(BULK));

/// Returns what `line` may be; `None` if it is nothing that is known.
pub(crate) fn screen(line: &[u8]) -> Option<Hit> {
    let (_, literal) = LINE.find(line, 0)?;
    let bulk = MESSAGE_BEFORE.len();
    let note = bulk + BULK.len();
    let message = note + NOTE.len() + HEADER.len();
    Some(if (bulk..note).contains(&literal) {
        Hit::Bulk
    } else if (note..message).contains(&literal) {
        Hit::Note
    } else {
        Hit::Message
    })
}

/// What is looked for in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All but messages that are context only.
    Messages,
    /// All.
    All,
    /// Messages that are context only.
    Context,
}

/// Returns a place in the first line of `block` from `at` on, a line's start, that may be something known; and what
/// `screen` says of that line, where that is certain.
pub(crate) fn find(block: &[u8], at: usize, wanted: Wanted) -> Option<(usize, Option<Hit>)> {
    let search = match wanted {
        Wanted::Messages => &BLOCK,
        Wanted::All => &BLOCK_WITH_CONTEXT,
        Wanted::Context => &CONTEXT,
    };
    // Some literals begin with the newline before their line.
    let (start, literal) = search.find(block, at.saturating_sub(1))?;
    let start = start + usize::from(block[start] == b'\n');
    let hit = (wanted == Wanted::All).then(|| hit_of(literal)).flatten();
    Some((start.max(at), hit))
}

/// Returns what a line is whose first literal is that one of the search for all.
fn hit_of(literal: usize) -> Option<Hit> {
    let note = BULK.len();
    let message = note + NOTE.len() + HEADER.len();
    let start = message + MESSAGE.len();
    match literal {
        // Also what `MESSAGE_BEFORE` begins with.
        _ if BULK.get(literal) == Some(&GENERIC) => None,
        _ if literal < note => Some(Hit::Bulk),
        _ if literal < message => Some(Hit::Note),
        _ if literal < start => Some(Hit::Message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MESSAGES;

    #[test]
    fn every_text_of_the_table_passes_the_screen() {
        for message in MESSAGES {
            for text in message.old.iter().chain(message.new) {
                let bulk =
                    message.id.starts_with("pleg-") && screen(text.as_bytes()) == Some(Hit::Bulk);
                assert!(
                    bulk || screen(text.as_bytes()) == Some(Hit::Message),
                    "{text}"
                );
                let wanted = if bulk { Wanted::All } else { Wanted::Messages };
                let block = format!("I1130 \nE1130 x] {text}\nI1130");
                let found = find(block.as_bytes(), 7, wanted);
                assert!(found.is_some_and(|(at, _)| at < block.len() - 6), "{text}");
                let line = &block.as_bytes()[7..block.len() - 6];
                let all = find(block.as_bytes(), 7, Wanted::All).and_then(|(_, hit)| hit);
                assert!(all.is_none() || all == screen(line), "{text}");
            }
        }
    }

    #[test]
    fn bulk_is_told_from_its_neighbours() {
        for (line, hit) in [
            (
                "GenericPLEG: Unable to retrieve pods: x",
                Some(Hit::Message),
            ),
            ("GenericPLEG: Relisting", Some(Hit::Bulk)),
            ("\"GenericPLEG\" podUID=a", Some(Hit::Bulk)),
            ("PLEG: Write status for a/b", Some(Hit::Message)),
            ("SyncLoop (PLEG): \"a\"", Some(Hit::Bulk)),
            ("SyncLoop (ADD, \"api\"): \"a\"", None),
            ("", None),
            ("F", None),
        ] {
            assert_eq!(screen(line.as_bytes()), hit, "{line}");
        }
    }

    #[test]
    fn a_lines_start_is_found_with_the_newline_before_it() {
        for (block, at, found) in [
            ("I1\nF1130 x\n", 3, Some(3)),
            ("I1\nF1130 x\n", 0, Some(3)),
            ("I1\n{\n", 3, Some(3)),
            ("I1\nI2 PLEG: x", 3, Some(6)),
            ("I1 PLEG: x\nI2", 11, None),
        ] {
            let got = find(block.as_bytes(), at, Wanted::Messages);
            assert_eq!(got.map(|(at, _)| at), found, "{block}");
        }
    }

    #[test]
    fn without_a_packed_search_the_same_is_found() {
        let literals = [BULK, NOTE, HEADER, MESSAGE, START].concat();
        let (fast, plain) = (Search::new(&literals), Search::plain(&literals));
        assert!(matches!(plain, Search::Plain(_)));
        let mut text = String::new();
        for (number, literal) in literals.iter().enumerate() {
            text += number.to_string().as_str();
            text += literal;
            text += " and ";
            text += &literal[1..];
        }
        let all = |search: &Search| {
            let mut found = Vec::new();
            let mut at = 0;
            while let Some((start, literal)) = search.find(text.as_bytes(), at) {
                found.push((start, literal));
                at = start + 1;
            }
            found
        };
        assert!(all(&plain).len() >= literals.len());
        assert_eq!(all(&fast), all(&plain));
    }

    #[test]
    fn the_benchmarks_give_other_tools_the_same_literals() {
        // But those of more than one line, which no line-based tool can look for.
        let all = [BULK, NOTE, HEADER, MESSAGE, START].concat();
        let lines: Vec<&str> = all
            .into_iter()
            .filter(|text| !text.contains('\n'))
            .collect();
        let phrases = include_str!("../../benches/phrases");
        assert_eq!(phrases.lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn the_literals_are_few_enough() {
        let all = [BULK, NOTE, HEADER, MESSAGE, START].concat();
        assert!(all.len() <= 48, "{}", all.len());
    }
}
