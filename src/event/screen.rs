//! The screen: rejects lines that hold no known message, before anything is parsed.
//!
//! A few literals cover the whole table: fragments that several messages share, chosen so that what they begin
//! with is rare in kubelet logs. Whole blocks are searched for them at once (`Seek`), a single line with `screen`.
//! At most 32: beyond, a packed (SIMD) search is half as fast, and it cannot take more than 64. What is screened for
//! in blocks is at least what `screen` lets pass in a line.

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

/// What a literal stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// A message.
    Message,
    /// A loss, or klog's header of a file.
    Note,
    /// JSON over several lines begins (`envelope::Entry`).
    Start,
}

use Sign::{Message, Note, Start};

/// The literals, shared fragments of messages: what precedes them was cut off where their first four bytes, by which a
/// packed search looks for them, became rarer. It has eight buckets, fills them in turn, and stops wherever a bucket's
/// bytes may be mixed to what stands there; so the order counts, too. Fragments and order were found by trying: of
/// 3 MB of healthy logs it stops at 850 places a MB, all but a few of them hits; in the table's order at 15,000. What is
/// not a failure of the kubelet's (the clock, iptables, memory, versions) adds some 7 % to that.
const LITERALS: &[(&str, Sign)] = &[
    // ntpd: clock_step +28799.938451 s
    ("clock_step", Message),
    // Suppressed 3 messages from kubelet.service
    ("uppressed ", Note),
    // … due to rate-limiting
    ("e-limiting", Note),
    (PLEG_SAYS, Message),
    // sync Loop took longer than, Housekeeping took longer than
    ("ok longer than", Message),
    // SyncLoop (REMOVE, "api"), SyncLoop REMOVE
    ("REMOVE", Message),
    // Failed to ensure lease exists, failed to update node lease
    (" lease", Message),
    // Node became not ready, as it just became ready
    ("became ", Message),
    // Log file created at: 2023/03/14 09:26:53
    ("og file created at: ", Note),
    // Update channel is closed
    ("el is closed", Message),
    ("\n{\n ", Start),
    // Recording NodeReady event message for node
    ("ge for node", Message),
    // KubeletReady, KubeletNotReady
    ("tReady", Message),
    // SyncLoop (DELETE, "api"), SyncLoop DELETE
    ("DELETE", Message),
    // Error syncing pod
    ("yncing pod", Message),
    // PodSandboxStatus of, ContainerStatus for, ContainerStatus return
    ("Status ", Message),
    // Error updating node status, Unable to update node status
    ("de status", Message),
    (PLEG_IS, Message),
    // Starting kubelet main sync loop
    (" main sync loop", Message),
    // Using dockershim is deprecated
    ("g dockershim is", Message),
    // skipping pod synchronization
    ("onization", Message),
    // ListContainers error
    ("s error", Message),
    ("iscard this relist", Message),
    // Connecting to docker on
    ("cting to docker on", Message),
    // preStop hook, PreStop hook
    ("op hook", Message),
    // Container runtime not ready, container runtime network not ready
    ("er runtime ", Message),
    // Failed to stop sandbox, StopPodSandbox from runtime service failed: most calls that fail say it so
    ("ailed", Message),
    // systemd: Time has been changed
    (" changed", Message),
    // iptables: Another app is currently holding the xtables lock
    ("olding the xtables lock", Message),
    // Version: {KernelVersion:5.4.214 …
    ("{KernelVersion:", Message),
    // Got sys oom event
    (" oom event", Message),
    // chronyd: System clock was stepped by 3600.000012 seconds
    ("clock was stepped by", Message),
];
const PLEG_SAYS: &str = "PLEG: ";
const PLEG_IS: &str = "PLEG is not";
/// Context, of which healthy logs are full. At one place in a line the first that fits counts: a failed relist is
/// none.
const NO_CONTEXT: &str = "GenericPLEG: Unable";
const CONTEXT: &[&str] = &[
    "SyncLoop (PLEG",
    "GenericPLEG",
    "Generic (PLEG",
    "registered node",
];
/// In blocks these take the places of `PLEG_SAYS` and `PLEG_IS` where context is wanted: all that there is of PLEG.
const ALL_OF_PLEG: [&str; 2] = ["PLEG", "registered node"];
/// klog's header of a file goes on with this.
const HEADER: &str = "Running on machine: ";

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
            Self::Never => return (at < text.len()).then_some((at, usize::MAX)),
        };
        Some((found.start(), found.pattern().as_usize()))
    }
}

/// For a line: what is no context, context, klog's second header, then `LITERALS`.
static LINE: LazyLock<Search> = LazyLock::new(|| {
    let literals = LITERALS.iter().map(|(text, _)| *text);
    let context = [NO_CONTEXT].into_iter().chain(CONTEXT.iter().copied());
    Search::new(&context.chain([HEADER]).chain(literals).collect::<Vec<_>>())
});
static MESSAGES: LazyLock<Search> = LazyLock::new(|| Search::new(&literals(false)));
static WITH_CONTEXT: LazyLock<Search> = LazyLock::new(|| Search::new(&literals(true)));
static ONLY_CONTEXT: LazyLock<Search> =
    LazyLock::new(|| Search::new(&["(PLEG", "GenericPLEG", "registered node"]));

/// Returns what a block is searched for.
fn literals(context: bool) -> Vec<&'static str> {
    let texts = LITERALS.iter().map(|(text, _)| match *text {
        PLEG_SAYS if context => ALL_OF_PLEG[0],
        PLEG_IS if context => ALL_OF_PLEG[1],
        text => text,
    });
    texts.collect()
}

/// Returns what `line` may be; `None` if it is nothing that is known.
pub(crate) fn screen(line: &[u8]) -> Option<Hit> {
    let Some((_, literal)) = LINE.find(line, 0) else {
        return fatal(line, 0).map(|_| Hit::Message);
    };
    let context = 1 + CONTEXT.len();
    let sign = literal
        .checked_sub(context + 1)
        .map(|at| LITERALS.get(at).map_or(Message, |(_, sign)| *sign));
    Some(match sign {
        None if literal == 0 => Hit::Message,
        None if literal < context => Hit::Bulk,
        None | Some(Note) => Hit::Note,
        Some(Message | Start) => Hit::Message,
    })
}

/// Returns where from `at` on a fatal line may begin: klog's letter and the month's first digit, at a line's start or
/// behind a blank or a quote.
fn fatal(text: &[u8], at: usize) -> Option<usize> {
    memchr::memchr_iter(b'F', &text[at..])
        .map(|found| at + found)
        .find(|&place| {
            let before = place.checked_sub(1).map(|before| text[before]);
            matches!(text.get(place + 1), Some(b'0' | b'1'))
                && matches!(before, None | Some(b'\n' | b' ' | b'"'))
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

/// A block that is searched from its beginning to its end.
#[derive(Debug)]
pub(crate) struct Seek<'a> {
    block: &'a [u8],
    wanted: Wanted,
    /// Where the next fatal line may begin, beyond the block if none does; looked for again once it lies behind.
    fatal: usize,
}

impl<'a> Seek<'a> {
    pub(crate) fn new(block: &'a [u8], wanted: Wanted) -> Self {
        let fatal = match wanted {
            Wanted::Context => usize::MAX,
            _ => fatal(block, 0).unwrap_or(usize::MAX),
        };
        Self {
            block,
            wanted,
            fatal,
        }
    }

    /// Returns a place in the first line from `at` on, a line's start, that may be something known; and what `screen`
    /// says of that line, where that is certain. `at` never goes back.
    pub(crate) fn find(&mut self, at: usize) -> Option<(usize, Option<Hit>)> {
        if self.fatal < at {
            self.fatal = fatal(self.block, at).unwrap_or(usize::MAX);
        }
        let search = match self.wanted {
            Wanted::Messages => &MESSAGES,
            Wanted::All => &WITH_CONTEXT,
            Wanted::Context => &ONLY_CONTEXT,
        };
        // One literal begins with the newline before its line.
        let found = search.find(self.block, at.saturating_sub(1));
        let Some((start, literal)) = found.filter(|(start, _)| *start < self.fatal) else {
            return (self.fatal < self.block.len()).then_some((self.fatal, None));
        };
        let hit = match LITERALS.get(literal) {
            _ if self.wanted != Wanted::All => None,
            Some((PLEG_SAYS | PLEG_IS, _)) => None,
            Some((_, Message)) => Some(Hit::Message),
            Some((_, Note)) => Some(Hit::Note),
            _ => None,
        };
        let start = start + usize::from(self.block[start] == b'\n');
        Some((start.max(at), hit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MESSAGES;

    fn find(block: &str, at: usize, wanted: Wanted) -> Option<(usize, Option<Hit>)> {
        Seek::new(block.as_bytes(), wanted).find(at)
    }

    #[test]
    fn every_text_of_the_table_passes_the_screen() {
        for message in MESSAGES {
            for text in message.old.iter().chain(message.new) {
                let line = format!("I1130 x] {text}");
                let bulk = screen(line.as_bytes()) == Some(Hit::Bulk);
                assert!(
                    !bulk || message.weight == crate::event::Weight::Context,
                    "{text}"
                );
                assert!(
                    bulk || screen(line.as_bytes()) == Some(Hit::Message),
                    "{text}"
                );
                let wanted = if bulk { Wanted::All } else { Wanted::Messages };
                let block = format!("I1130 \n{line}\nI1130");
                let end = block.len() - 6;
                assert!(
                    find(&block, 7, wanted).is_some_and(|(at, _)| at < end),
                    "{text}"
                );
                let (at, hit) = find(&block, 7, Wanted::All).unwrap();
                assert!(at < end, "{text}");
                assert!(hit.is_none() || hit == screen(line.as_bytes()), "{text}");
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
            ("Running on machine: a", Some(Hit::Note)),
            ("Log file created at: a", Some(Hit::Note)),
            ("kubelet[1]: F1130 10:00:00", Some(Hit::Message)),
            ("{\"log\":\"F0130 10:00:00", Some(Hit::Message)),
            ("0xF0 F2", None),
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
            ("I1\n{\n  a\n", 3, Some(3)),
            ("I1\nI2 PLEG: x", 3, Some(6)),
            ("I1 PLEG: x\nI2", 11, None),
            ("I1 PLEG: x F0\nI2", 0, Some(3)),
            ("I1 F0 PLEG: x\nI2", 0, Some(3)),
        ] {
            let got = find(block, at, Wanted::Messages);
            assert_eq!(got.map(|(at, _)| at), found, "{block}");
        }
    }

    #[test]
    fn without_a_packed_search_the_same_is_found() {
        for context in [false, true] {
            let literals = literals(context);
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
    }

    #[test]
    fn the_benchmarks_give_other_tools_the_same_literals() {
        // But that of more than one line, which no line-based tool can look for.
        let lines = literals(true);
        let lines = lines.into_iter().filter(|text| !text.contains('\n'));
        let phrases = include_str!("../../benches/phrases");
        let given: Vec<&str> = phrases.lines().collect();
        assert_eq!(given, lines.collect::<Vec<_>>());
    }

    #[test]
    fn the_literals_are_few_and_long_enough_for_the_fastest_search() {
        // aho-corasick's slim Teddy: at most 32 literals, by four bytes of each.
        for context in [false, true] {
            let literals = literals(context);
            assert!(literals.len() <= 32, "{}", literals.len());
            assert!(literals.iter().all(|text| text.len() >= 4));
        }
    }
}
