//! Words for people: hostile text made harmless, long text made short, paragraphs laid out.

use crate::id::PodUid;
use comfy_table::{ContentArrangement, Table, presets::NOTHING};
use std::fmt::Write as _;

/// Returns `text` with what could command or deceive a terminal made visible: control characters, marks that
/// turn the direction of writing, characters without width.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '\r' => shown.push_str("\\r"),
            _ if is_hostile(c) => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            _ => shown.push(c),
        }
    }
    shown
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

/// Phrases that take room in a quoted line and say nothing, and what stands for them.
const PHRASES: [(&str, &str); 5] = [
    (
        "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
        "DeadlineExceeded",
    ),
    ("rpc error: code = ", ""),
    (" from runtime service failed: ", ": "),
    (" from runtime service failed\"", "\""),
    ("skipping pod synchronization - ", ""),
];

/// Returns a log line as people quote it: whole ids cut to twelve digits, a pod's UID and gRPC's phrases left out.
pub fn brief(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let run = rest[start..]
            .bytes()
            .take_while(|b| b.is_ascii_hexdigit() || *b == b'-')
            .count();
        let (before, after) = rest.split_at(start);
        let (run, after) = after.split_at(run);
        short.push_str(before);
        if run.len() == 64 {
            short.push_str(&run[..12]);
            short.push('…');
        } else if short.ends_with('(') && after.starts_with(')') && PodUid::parse(run).is_some() {
            short.push('…');
        } else {
            short.push_str(run);
        }
        rest = after;
    }
    short.push_str(rest);
    PHRASES.iter().fold(short, |line, (phrase, shorter)| {
        line.replace(phrase, shorter)
    })
}

/// Returns `text` cut to `width` columns, with an ellipsis where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Returns `text` cut to `width` columns in the middle: a log line's end tells how the call ended.
pub fn cut_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let tail = width / 3;
    let head = width.saturating_sub(tail + 1);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

/// Returns `text` as a paragraph of at most `width` columns, each line indented.
pub fn paragraph(text: &str, indent: usize, width: u16) -> String {
    let room = width
        .saturating_sub(u16::try_from(indent).unwrap_or(0))
        .max(20);
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(room)
        .add_row([text]);
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 0));
    }
    let margin = " ".repeat(indent);
    table
        .trim_fmt()
        .lines()
        .map(|line| format!("{margin}{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_command_a_terminal_is_shown() {
        assert_eq!(
            visible("a\x1b[2Jb\nc\u{202e}d\u{9b}"),
            "a\\u{1b}[2Jb\\nc\\u{202e}d\\u{9b}"
        );
        assert_eq!(visible("größe 容器"), "größe 容器");
    }

    #[test]
    fn a_quoted_line_keeps_what_counts() {
        let id = "b15929dfcea1".repeat(6);
        let line = format!(
            "StopPodSandbox \"{}\" from runtime service failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            &id[..64]
        );
        assert_eq!(
            brief(&line),
            "StopPodSandbox \"b15929dfcea1…\": DeadlineExceeded"
        );
        assert_eq!(
            brief("for pod \"web-2_default(9b0e4a32-7fe5-45b4-b69e-1c76355b4249)\" error"),
            "for pod \"web-2_default(…)\" error"
        );
        assert_eq!(brief("cafe déjà-vu 3m0s"), "cafe déjà-vu 3m0s");
    }

    #[test]
    fn paragraphs_keep_to_their_width() {
        let text = "one two three four five six seven eight nine ten eleven twelve";
        let laid = paragraph(text, 2, 30);
        assert!(
            laid.lines()
                .all(|line| line.len() <= 30 && line.starts_with("  ")),
            "{laid}"
        );
        assert_eq!(laid.split_whitespace().collect::<Vec<_>>().join(" "), text);
    }

    #[test]
    fn a_cut_is_marked() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut_middle("abcdefghij", 7), "abcd…ij");
        assert_eq!(cut_middle("größer als", 10), "größer als");
    }
}
