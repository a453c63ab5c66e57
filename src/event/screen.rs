//! The screen: rejects lines that hold no known message, before anything is parsed.
//!
//! A few short literals cover the whole table; most stand in the middle of their message, where what they
//! begin with is rare in kubelet logs. They have to be at most 64: that many fit one packed (SIMD) search.

use aho_corasick::{AhoCorasick, MatchKind, packed};
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

/// At one place in a line the first that fits counts: a failed relist is no bulk.
const MESSAGE_BEFORE: &[&str] = &["GenericPLEG: Unable"];
const BULK: &[&str] = &["SyncLoop (PLEG)", "GenericPLEG", "Generic (PLEG)"];
const NOTE: &[&str] = &[
    "Suppressed ",
    "rate-limiting",
    "Running on machine: ",
    "Log file created at: ",
];
const MESSAGE: &[&str] = &[
    "PLEG is not healthy",
    "PLEG: ",
    "discard this relist",
    "ipping pod sync",
    "ontainer runtime ",
    "untime version failed",
    "rom runtime service failed",
    "onnect remote runtime",
    "kubelet main sync loop",
    "pdate channel is closed",
    "sync Loop took",
    "Housekeeping took",
    "ailed cleaning pods",
    "ListPodSandbox",
    "list pod sandboxes",
    "list sandboxes for pod",
    "getKubeletContainers",
    "ListContainers",
    "recv failed",
    "PodSandboxStatus of",
    "pod sandbox status",
    "ContainerStatus",
    "ailed to stop sandbox",
    "ailed to remove sandbox",
    "ailed to create sandbox",
    "reatePodSandbox for pod",
    "termination failed with",
    "illContainer",
    "Kill container failed",
    "ailed to remove container",
    "ailed to stop container",
    "killPodWithSyncResult",
    "reStop hook",
    "became not ready",
    "event message for node",
    " node status",
    " lease",
    "registered node",
    "rror syncing pod",
    "SyncLoop (DEL",
    "SyncLoop (REM",
    "SyncLoop DEL",
    "SyncLoop REM",
    "ontainer garbage collection failed",
    "get summary stats",
    "Using dockershim",
    "ocker cri networking",
    "onnecting to docker on",
    "--container-runtime=",
    "KubeletNotReady",
    "NodeStatusUnknown",
    "KubeletReady",
    // A fatal line's letter and month, behind a blank or a quote.
    " F0",
    " F1",
    "\"F0",
    "\"F1",
];

/// The search, packed where the machine can.
enum Search {
    Packed(packed::Searcher),
    Plain(AhoCorasick),
    Never,
}

static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let literals = || [MESSAGE_BEFORE, BULK, NOTE, MESSAGE].concat();
    if let Some(searcher) = packed::Searcher::new(literals()) {
        return Search::Packed(searcher);
    }
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(literals())
        .map_or(Search::Never, Search::Plain)
});

/// Returns what `line` may be; `None` if it is nothing that is known.
pub(crate) fn screen(line: &[u8]) -> Option<Hit> {
    // Short lines are below what a packed search can take.
    let pattern = match &*SEARCH {
        Search::Packed(searcher) => searcher.find(line)?.pattern(),
        Search::Plain(automaton) => automaton.find(line)?.pattern(),
        Search::Never => return Some(Hit::Message),
    }
    .as_usize();
    let bulk = MESSAGE_BEFORE.len();
    let note = bulk + BULK.len();
    let message = note + NOTE.len();
    Some(if (bulk..note).contains(&pattern) {
        Hit::Bulk
    } else if (note..message).contains(&pattern) {
        Hit::Note
    } else {
        Hit::Message
    })
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
    fn the_literals_fit_one_packed_search() {
        let count = MESSAGE_BEFORE.len() + BULK.len() + NOTE.len() + MESSAGE.len();
        assert!(count <= 64, "{count}");
    }
}
