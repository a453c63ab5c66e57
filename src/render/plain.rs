//! Words for people: hostile text made harmless, long text made short, paragraphs laid out.

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

/// Returns a log line as people quote it: whole ids cut to twelve digits, gRPC's phrase to its code.
pub fn brief(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let run = rest[start..]
            .bytes()
            .take_while(u8::is_ascii_hexdigit)
            .count();
        let (before, after) = rest.split_at(start);
        short.push_str(before);
        if run == 64 {
            short.push_str(&after[..12]);
            short.push('…');
        } else {
            short.push_str(&after[..run]);
        }
        rest = &after[run..];
    }
    short.push_str(rest);
    short
        .replace(
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            "DeadlineExceeded",
        )
        .replace("rpc error: code = ", "")
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
            "StopPodSandbox \"{}\" failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            &id[..64]
        );
        assert_eq!(
            brief(&line),
            "StopPodSandbox \"b15929dfcea1…\" failed: DeadlineExceeded"
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
    }
}
