//! Lists of reasons, as `skipping pod synchronization` and the Ready condition carry them.
//!
//! Kubelets join the items by a blank, a comma, or both, with or without brackets and full stops, and items
//! hold commas themselves: so the list is cut where a known item begins.

use super::Kind;
use crate::syntax::duration;
use aho_corasick::{AhoCorasick, MatchKind};
use chrono::TimeDelta;
use std::sync::LazyLock;

/// One reason out of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item<'a> {
    pub(super) kind: Kind,
    pub(super) lag: Option<TimeDelta>,
    pub(super) threshold: Option<TimeDelta>,
    /// What follows the item's first words, up to the next item.
    pub(super) text: &'a str,
}

/// How known items begin.
const STALE: &str = "PLEG is not healthy: pleg was last seen active ";
const BEGINNINGS: &[(&str, Kind)] = &[
    (STALE, Kind::PlegStale),
    // A pager cut its middle out: `pleg was last see…threshold is 3m0s`.
    ("PLEG is not healthy: pleg was ", Kind::PlegStale),
    (
        "PLEG is not healthy: pleg has yet to be successful",
        Kind::PlegNever,
    ),
    ("EventedPLEG is not healthy: ", Kind::EventedPlegFull),
    ("container runtime is down", Kind::RuntimeDown),
    (
        "container runtime status check may not have completed yet",
        Kind::RuntimeStatusPending,
    ),
    ("ontainer runtime not ready: ", Kind::RuntimeNotReady),
    ("untime network not ready: ", Kind::CniNotReady),
];

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(BEGINNINGS.iter().map(|(beginning, _)| beginning))
        .ok()
});

/// Most reasons that are taken out of a list: there are seven.
const MAX_ITEMS: usize = 16;

/// The text of a reason that is logged in lists only; nothing for other messages.
pub(super) fn wording(kind: Kind) -> Option<&'static str> {
    let (beginning, _) = BEGINNINGS.iter().find(|(_, of)| *of == kind)?;
    // What begins in the middle of a word is logged as a line of its own, too.
    let whole = ["PLEG", "EventedPLEG", "container"];
    whole
        .iter()
        .any(|word| beginning.starts_with(word))
        .then_some(beginning)
}

/// The known reasons in `list`, in order, and how many are left out.
pub(super) fn items(list: &str) -> (Vec<Item<'_>>, u64) {
    let (mut items, mut left_out) = (Vec::new(), 0);
    let Some(automaton) = AUTOMATON.as_ref().filter(|_| !list.is_empty()) else {
        return (items, left_out);
    };
    let mut found = automaton.find_iter(list).peekable();
    while let Some(beginning) = found.next() {
        if items.len() == MAX_ITEMS {
            left_out += 1;
            continue;
        }
        let end = found.peek().map_or(list.len(), aho_corasick::Match::start);
        let kind = BEGINNINGS[beginning.pattern().as_usize()].1;
        items.push(item(kind, &list[beginning.end()..end]));
    }
    (items, left_out)
}

fn item(kind: Kind, text: &str) -> Item<'_> {
    let text = text.trim_end_matches([' ', ',', ']', '[']);
    let (mut lag, mut threshold) = (None, None);
    let mut kind = kind;
    if kind == Kind::PlegStale {
        (lag, threshold) = stale(text);
        if lag == Some(duration::NEVER) {
            kind = Kind::PlegNever;
        }
    }
    Item {
        kind,
        lag,
        threshold,
        text,
    }
}

/// Reads `3m45.2s ago; threshold is 3m0s`; a terminal may have torn the first duration, a paste cut either. Of one that
/// is cut no lag is better than a wrong one.
fn stale(text: &str) -> (Option<TimeDelta>, Option<TimeDelta>) {
    let lag = text.split_once("ago").and_then(|(lag, _)| {
        duration::parse(lag.trim()).or_else(|| {
            let joined: String = lag.split_whitespace().collect();
            duration::parse(&joined)
        })
    });
    let threshold = text
        .split_once("threshold is ")
        .and_then(|(_, text)| duration::parse_prefix(text))
        .map(|(threshold, _)| threshold);
    (lag, threshold)
}

/// Reason and message of `RuntimeReady=false reason:… message:…`.
pub(super) fn state(text: &str) -> (Option<&str>, Option<&str>) {
    let Some((_, rest)) = text.split_once("reason:") else {
        return (None, None);
    };
    let (reason, message) = match rest.split_once(" message:") {
        Some((reason, message)) => (reason, Some(message)),
        None => (rest, None),
    };
    let reason = Some(reason.trim()).filter(|reason| !reason.is_empty());
    (reason, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(list: &str) -> Vec<Kind> {
        let (items, left_out) = items(list);
        assert_eq!(left_out, 0);
        items.into_iter().map(|item| item.kind).collect()
    }

    #[test]
    fn lists_joined_in_any_way_fall_into_their_items() {
        use Kind::{
            CniNotReady, PlegNever, PlegStale, RuntimeDown, RuntimeNotReady, RuntimeStatusPending,
        };
        for (list, expected) in [
            (
                "PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s",
                &[PlegStale][..],
            ),
            (
                "[container runtime is down PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s]",
                &[RuntimeDown, PlegStale],
            ),
            (
                "[container runtime is down, PLEG is not healthy: pleg has yet to be successful]",
                &[RuntimeDown, PlegNever],
            ),
            (
                "[container runtime status check may not have completed yet., PLEG is not healthy: pleg has yet to be successful.]",
                &[RuntimeStatusPending, PlegNever],
            ),
            (
                "PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s,container runtime is down",
                &[PlegStale, RuntimeDown],
            ),
            (
                "runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized",
                &[CniNotReady],
            ),
            (
                "[container runtime network not ready: NetworkReady=false reason:N message:a, b, container runtime not ready: RuntimeReady=false reason:D message:docker: x]",
                &[CniNotReady, RuntimeNotReady],
            ),
            (
                "[EventedPLEG is not healthy: EventedPLEG: pleg event channel capacity is full with 1000 events, PLEG is not healthy: pleg was last seen active 11m1s ago; threshold is 10m0s]",
                &[Kind::EventedPlegFull, PlegStale],
            ),
            (
                "PLEG is not healthy: pleg was last seen active 2562047h47m16.854775807s ago; threshold is 3m0s",
                &[PlegNever],
            ),
            (
                "missing node capacity for resources: ephemeral-storage",
                &[],
            ),
            ("", &[]),
        ] {
            assert_eq!(kinds(list), expected, "{list}");
        }
    }

    #[test]
    fn lag_and_threshold_are_read_also_where_text_was_torn() {
        for (text, lag, threshold) in [
            (
                "3m45.252087921s ago; threshold is 3m0s",
                Some(225_252_087_921),
                Some(180),
            ),
            (
                "3m45.252087921s ago; threshold is 3m0s.]",
                Some(225_252_087_921),
                Some(180),
            ),
            (
                "3m0.32           2579259s ago; threshold is 3m0s",
                Some(180_322_579_259),
                Some(180),
            ),
            (
                "3m8.068354s ago; threshold is 3m0",
                Some(188_068_354_000),
                Some(180),
            ),
            ("last see…threshold is 3m0s]", None, Some(180)),
            ("3m4", None, None),
            ("3m", None, None),
            (".. ago; threshold ...", None, None),
            ("~30m ago", None, None),
            ("", None, None),
        ] {
            let expected = (
                lag.map(TimeDelta::nanoseconds),
                threshold.map(TimeDelta::seconds),
            );
            assert_eq!(stale(text), expected, "{text}");
        }
    }

    #[test]
    fn a_state_tells_reason_and_message() {
        let text = "RuntimeReady=false reason:DockerDaemonNotReady message:docker: failed to get docker version";
        assert_eq!(
            state(text),
            (
                Some("DockerDaemonNotReady"),
                Some("docker: failed to get docker version")
            )
        );
        assert_eq!(state("x"), (None, None));
        assert_eq!(state("reason: message:"), (None, Some("")));
    }
}
