//! What the beginning of a log shows.

use super::*;
use crate::case::case;

fn cut_at(text: &str) -> Option<usize> {
    LineFormat::detect_in(text.as_bytes(), true).cut
}

/// Cuts lines as a pager does that shows so many columns.
fn paged(text: &str, width: usize) -> String {
    let cut = |line: &str| match line.chars().count() > width {
        true => line.chars().take(width - 1).chain(">\n".chars()).collect(),
        false => format!("{line}\n"),
    };
    text.lines().map(cut).collect()
}

#[test]
fn lines_that_a_pager_cut_all_end_at_its_edge() {
    let real = case("sandbox-flaps");
    let head: String = real
        .text("kubelet.log")
        .lines()
        .take(300)
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(cut_at(&head), None);
    for width in [80, 120] {
        assert_eq!(cut_at(&paged(&head, width)), Some(width));
    }
    let dots = "kubelet[1]: a line of which the middle w…out, since it is wide\n";
    assert_eq!(cut_at(&dots.repeat(3)), Some(62));
}

#[test]
fn lines_that_end_so_by_themselves_were_not_cut() {
    let probe = "E1130 05:36:26.000000    2261 prober.go:1] Readiness probe failed: <html>\n";
    for text in [
        probe.repeat(9),
        format!("{probe}short\n"),
        "tag>\n".repeat(9),
        String::new(),
    ] {
        assert_eq!(cut_at(&text), None, "{text}");
    }
}

#[test]
fn a_line_that_the_beginning_ends_in_does_not_count() {
    let line = format!("{}>\n", "a".repeat(60));
    let text = format!("{line}{line}{}", "b".repeat(90));
    assert_eq!(LineFormat::detect_in(text.as_bytes(), false).cut, Some(61));
    assert_eq!(LineFormat::detect_in(text.as_bytes(), true).cut, None);
}
