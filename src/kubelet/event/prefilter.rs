//! The prefilter: rejects lines that hold no known message, before anything is parsed.
//!
//! A few literals cover the whole table: fragments that several messages share, chosen so that what they begin
//! with is rare in kubelet logs. Whole blocks are searched for them at once (`Seek`), a single line with `prefilter`.
//! At most 32: beyond, a packed (SIMD) search is half as fast, and it cannot take more than 64. What is screened for
//! in blocks is at least what `prefilter` lets pass in a line.

use aho_corasick::{AhoCorasick, Input, MatchKind, Span, packed};
use std::sync::LazyLock;

/// What a line may be, by the first literal in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hit {
    /// A message that fills healthy logs.
    Bulk,
    Message,
    /// Not the kubelet's word, but about the log: its losses, its host, its date.
    Note,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Message,
    /// A loss, or klog's header of a file.
    Note,
    /// JSON over several lines begins (`envelope::Entry`).
    Start,
}

use Sign::{Message, Note, Start};

/// The literals, shared fragments of messages: what precedes them was cut off where their first four bytes, by which a
/// packed search looks for them, became rarer. It has eight buckets, fills them in turn, and stops wherever a bucket's
/// bytes may be mixed to what stands there; so the order counts, too. Fragments and order were found by trying: in what
/// real kubelets say of no interest it stops at some 1000 places a MB, in other orders at 9000; a test holds that.
const LITERALS: &[(&str, Sign)] = &[
    // The kernel's own lines in a log of all programs: Out of memory, task blocked, nfs: server not responding
    (" kernel: ", Message),
    // systemd: Time has been changed
    (" changed", Message),
    ("\n{\n\t", Start),
    // skipping pod synchronization
    ("onization", Message),
    (PLEG_SAYS, Message),
    // Connecting to docker on
    ("cting to docker on", Message),
    // Got sys oom event
    (" oom event", Message),
    // preStop hook, PreStop hook
    ("op hook", Message),
    // Error syncing pod
    ("yncing pod", Message),
    ("iscard this relist", Message),
    // Suppressed 3 messages from kubelet.service
    ("uppressed ", Note),
    // ntpd: clock_step +28799.938451 s; chronyd: System clock was stepped by 3600.000012 seconds
    ("step", Message),
    // SyncLoop (DELETE, "api"), SyncLoop DELETE
    ("DELETE", Message),
    ("\n{\n ", Start),
    // Recording NodeReady event message for node
    ("ge for node", Message),
    ("\n{\r\n", Start),
    // KubeletReady, KubeletNotReady: the reason of each condition that Node became not ready shows
    ("tReady", Message),
    // systemd: Main process exited, code=killed, status=9/KILL
    ("n process exited", Message),
    // Container runtime not ready, container runtime network not ready
    ("er runtime ", Message),
    (PLEG_IS, Message),
    // PodSandboxStatus of, ContainerStatus for, ContainerStatus return
    ("Status ", Message),
    // … due to rate-limiting
    ("e-limiting", Note),
    // Log file created at: 2023/03/14 09:26:53
    ("og file created at: ", Note),
    // sync Loop took longer than, Housekeeping took longer than
    ("ok longer than", Message),
    // ListContainers error
    ("s error", Message),
    // Starting kubelet main sync loop, Exiting the sync loop
    (" sync loop", Message),
    // Version: {KernelVersion:5.4.214 …
    ("{KernelVersion:", Message),
    // iptables: Another app is currently holding the xtables lock
    ("olding the xtables lock", Message),
    // SyncLoop (REMOVE, "api"), SyncLoop REMOVE
    ("REMOVE", Message),
    ("\n{\n\"", Start),
    // Error updating node status, Unable to update node status, Fast updating node status as it just became ready
    ("de status", Message),
    // Failed to stop sandbox, StopPodSandbox from runtime service failed: most calls that fail say it so; Failed to
    // update lease, Will retry updating lease: failed 5 attempts
    ("ailed", Message),
];
const PLEG_SAYS: &str = "PLEG: ";
const PLEG_IS: &str = "PLEG is not";
/// Context, of which healthy logs are full. At one place in a line the first that fits counts: a failed relist is
/// none.
const NO_CONTEXT: &str = "GenericPLEG: Unable";
const CONTEXT: &[&str] = &["SyncLoop (PLEG", "GenericPLEG", "Generic (PLEG", REGISTERED];
const REGISTERED: &str = "registered node";
/// klog's header of a file goes on so.
const HEADER: &str = "Running on machine: ";

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

    /// The first match in `text` from `at` on: its start, and which literal it is.
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

/// For a line; what each literal says.
static LINE: LazyLock<(Search, Vec<Hit>)> = LazyLock::new(|| {
    let (literals, hits): (Vec<_>, Vec<_>) = line_literals().into_iter().unzip();
    (Search::new(&literals), hits)
});
static MESSAGES: LazyLock<Search> = LazyLock::new(|| Search::new(&literals(false)));
static WITH_CONTEXT: LazyLock<Search> = LazyLock::new(|| Search::new(&literals(true)));
static ONLY_CONTEXT: LazyLock<Search> = LazyLock::new(|| Search::new(CONTEXT));

/// What a block is searched for; with `context`, for all that there is of PLEG.
fn literals(context: bool) -> Vec<&'static str> {
    let texts = LITERALS.iter().map(|(text, _)| match *text {
        PLEG_SAYS if context => "PLEG",
        PLEG_IS if context => REGISTERED,
        text => text,
    });
    texts.collect()
}

/// What a line is searched for, and what it is if that is the first in it. What is more than a line gives its
/// places to what only lines are searched for, so that the others keep theirs.
fn line_literals() -> Vec<(&'static str, Hit)> {
    let context = CONTEXT.iter().map(|text| (*text, Hit::Bulk));
    let mut own = [(NO_CONTEXT, Hit::Message)]
        .into_iter()
        .chain(context)
        .chain([(HEADER, Hit::Note)]);
    let mut all = Vec::new();
    for (text, sign) in LITERALS {
        match sign {
            Message => all.push((*text, Hit::Message)),
            Note => all.push((*text, Hit::Note)),
            Start => all.extend(own.next()),
        }
    }
    all.extend(own);
    all
}

/// What `line` may be; `None` if it is nothing that is known.
pub(crate) fn prefilter(line: &[u8]) -> Option<Hit> {
    let (search, hits) = &*LINE;
    match search.find(line, 0) {
        Some((_, literal)) => Some(hits.get(literal).copied().unwrap_or(Hit::Message)),
        None => fatal(line, 0).map(|_| Hit::Message),
    }
}

/// Whether with the last line of `block` JSON over several lines may begin: what follows it is in the next one.
pub(crate) fn may_start(block: &[u8]) -> bool {
    block.ends_with(b"\n{\n")
}

/// Where from `at` on a fatal line may begin: klog's letter and the month's first digit, at a line's start or
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

    /// A place in the first line from `at` on, a line's start, that may be something known; and what `prefilter`
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
mod tests;
