//! Logs that somebody searched, and logs that are whole.

use super::*;
use std::sync::LazyLock;

fn is_extract(text: &str) -> bool {
    // However the blocks fall.
    let of = |size: usize| {
        let mut excerpt = Excerpt::default();
        text.as_bytes()
            .chunks(size)
            .for_each(|block| excerpt.push(block));
        excerpt.finish()
    };
    let whole = of(text.len().max(1));
    for size in [1 << 20, 256 << 10, 100_003, 4097] {
        assert_eq!(of(size), whole, "{size}");
    }
    whole
}

fn searched(text: &str) -> String {
    let named = |line: &&str| {
        ["PLEG", "SyncLoop", "NotReady"]
            .iter()
            .any(|word| line.contains(word))
    };
    text.lines()
        .filter(named)
        .map(|line| format!("{line}\n"))
        .collect()
}

static HANGS: LazyLock<String> = LazyLock::new(|| log_of("sandbox-stop-hangs"));

fn log_of(case: &str) -> String {
    crate::case::case(case).text("kubelet.log").to_owned()
}

#[test]
fn what_a_search_left_is_known_in_each_envelope_and_whole_logs_are_whole() {
    let tagged = |text: &str| -> String {
        let lines = text.lines();
        lines
            .map(|line| format!("Nov 30 05:36:26 worker-3 kubelet[1]: {line}\n"))
            .collect()
    };
    let json = log_of("json-format");
    let flood = log_of("list-too-large");
    let down = log_of("runtime-down-log");
    for text in [HANGS.as_str(), &json, &tagged(&HANGS)] {
        assert!(!is_extract(text));
        assert!(is_extract(&searched(text)));
    }
    // Floods, in which nearly each line is of interest, from their middle on.
    for text in [&flood, &down, &tagged(&flood)] {
        let middle = text.len() / 2 + text[text.len() / 2..].find('\n').unwrap() + 1;
        assert!(!is_extract(&text[middle..]));
    }
}

#[test]
fn a_line_that_was_not_searched_for_counts_wherever_it_is_looked_for() {
    let stale = searched(&HANGS);
    let stale = stale.repeat((400 << 10) / stale.len() + 1);
    assert!(is_extract(&stale));
    let other = "I1130 05:36:26.000000    2261 reconciler.go:1] nothing to see\n";
    assert!(!is_extract(&format!("{other}{stale}")));
    let at = 260 << 10;
    let at = at + stale[at..].find('\n').unwrap() + 1;
    assert!(!is_extract(&format!(
        "{}{other}{}",
        &stale[..at],
        &stale[at..]
    )));
}

#[test]
fn few_lines_tell_nothing_and_other_text_is_no_line() {
    let few: String = searched(&HANGS)
        .lines()
        .take(4)
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(!is_extract(&few));
    assert!(!is_extract(""));
    assert!(!is_extract("PLEG is not healthy\n".repeat(9).as_str()));
    let prose = format!("Hello, my node is sick:\n{}Thanks\n", searched(&HANGS));
    assert!(is_extract(&prose));
}
