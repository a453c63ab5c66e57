//! Words for people: hostile text made harmless, long text made short, paragraphs laid out.

use crate::syntax::id::PodUid;
use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, Width, presets::NOTHING};
use std::{collections::BTreeSet, fmt::Write as _};

/// `text` with what could command or deceive a terminal made visible: control characters, marks that
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

/// A log line as people quote it: whole ids cut to twelve digits, a pod's UID and gRPC's phrases left out.
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

/// `text` cut to `width` columns, with an ellipsis where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// `text` cut to `width` columns in the middle: a log line's end shows how the call ended.
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

/// The longest word that is kept whole: a container's id. What is longer is a path or an address, mostly.
const MAX_WORD: usize = 64;
/// Columns that a table's cell of free text gets at least.
const MIN_CELL: usize = 24;
/// Rows of a table that is looked through for broken words.
const MAX_SEARCHED_ROWS: usize = 100;
/// Columns between two cells.
const GAP: usize = 2;

/// `text` as a paragraph of at most `width` columns, each line indented. Only a word that must stay whole and is
/// longer reaches beyond them.
pub fn paragraph(text: &str, indent: usize, width: u16) -> String {
    let room = width
        .saturating_sub(u16::try_from(indent).unwrap_or(0))
        .max(20);
    let margin = " ".repeat(indent);
    let kept = |word: &str| {
        (usize::from(room) + 1..=MAX_WORD).contains(&word.chars().count()) && !word.contains('/')
    };
    if text.split_whitespace().any(kept) {
        return filled(text, usize::from(room))
            .iter()
            .map(|line| format!("{margin}{line}\n"))
            .collect();
    }
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(room)
        .add_row([text]);
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 0));
    }
    table
        .trim_fmt()
        .lines()
        .map(|line| format!("{margin}{line}\n"))
        .collect()
}

/// Fills lines of that many columns with the words of a text, none of them broken.
fn filled(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let fits = |line: &String| line.chars().count() + 1 + word.chars().count() <= room;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A table without borders, two blanks between its columns.
pub fn table(head: impl IntoIterator<Item = impl Into<Cell>>, width: u16) -> Table {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(head.into_iter().map(Into::into).collect::<Vec<Cell>>());
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// Lays out a table of at most `width` columns in which the words of the cells in these columns stay whole: times, ids,
/// what a command takes. Where there is no room for that, each row is a paragraph.
pub fn laid_out(table: &mut Table, whole: &[usize], width: u16) -> String {
    // What each column needs at least, and what it would take.
    let mut columns: Vec<(usize, usize)> = vec![(0, 0); table.column_count()];
    let mut kept = BTreeSet::new();
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (index, (cell, (least, most))) in row.cell_iter().zip(&mut columns).enumerate() {
            let content = cell.content();
            *most = (*most).max(content.chars().count());
            for word in content.split_whitespace() {
                let length = word.chars().count();
                if whole.contains(&index) || length <= MIN_CELL {
                    kept.insert(word.to_owned());
                    *least = (*least).max(length);
                } else {
                    *least = (*least).max(MIN_CELL);
                }
            }
        }
    }
    let gaps = columns.len() * GAP;
    let room = usize::from(width).saturating_sub(gaps);
    // As the words fall by themselves, mostly; a longer table would take long to look through.
    let usual = (table.row_count() <= MAX_SEARCHED_ROWS).then(|| table.trim_fmt());
    let sound = |text: &String| kept.iter().all(|word| text.contains(word.as_str()));
    if let Some(text) = usual.filter(sound) {
        return text + "\n";
    }
    let needed: usize = columns.iter().map(|(least, _)| least).sum();
    let Some(mut left) = room.checked_sub(needed) else {
        return stacked(table, width);
    };
    while left > 0 && columns.iter().any(|(least, most)| least < most) {
        for (given, most) in &mut columns {
            let more = usize::from(*given < *most && left > 0);
            *given += more;
            left -= more;
        }
    }
    for (column, (given, _)) in table.column_iter_mut().zip(&columns) {
        // The constraint counts the padding, too.
        let given = u16::try_from(given + GAP).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(given)));
    }
    table.trim_fmt() + "\n"
}

/// Each row of a table as a paragraph: what each cell is called, and what it holds.
fn stacked(table: &Table, width: u16) -> String {
    let cells = |row: &comfy_table::Row| row.cell_iter().map(Cell::content).collect();
    let heads: Vec<String> = table.header().map(cells).unwrap_or_default();
    let rows: Vec<Vec<String>> = table.row_iter().map(cells).collect();
    let (title, rest) = heads
        .split_first()
        .map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
    let mut text = format!("{title}\n");
    for row in &rows {
        let Some((first, cells)) = row.split_first() else {
            continue;
        };
        let cells = rest.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        let cells: Vec<String> = cells
            .map(|(head, cell)| match head.as_str() {
                // It says nothing beside what it stands for.
                "" | "what" => cell.clone(),
                head => format!("{head} {cell}"),
            })
            .collect();
        let first = if first.is_empty() {
            String::new()
        } else {
            format!("{first}: ")
        };
        text += &paragraph(&format!("{first}{}", cells.join(", ")), 2, width);
    }
    text
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
    fn an_id_reaches_beyond_a_narrow_paragraph_and_a_longer_word_is_broken() {
        let id = "f".repeat(64);
        let text = format!("sandbox {id} does not answer");
        assert_eq!(
            paragraph(&text, 2, 40),
            format!("  sandbox\n  {id}\n  does not answer\n")
        );
        let path = "/".repeat(65);
        let told = paragraph(&path, 2, 40);
        assert_eq!(
            told,
            format!("  {}\n  {}\n", "/".repeat(38), "/".repeat(27))
        );
    }

    #[test]
    fn words_of_a_table_stay_whole_while_there_is_room_and_then_rows_are_paragraphs() {
        let told = |width: u16| {
            let mut table = table(["Outages", "started", "what"], width);
            table
                .add_row([
                    "",
                    "05:36:28",
                    "the node goes NotReady, and stays so for long",
                ])
                .add_row(["x", "05:39:29", ""]);
            laid_out(&mut table, &[1], width)
        };
        assert_eq!(
            told(40),
            "Outages  started   what\n         05:36:28  the node goes\n                   NotReady, and stays\n                   so for long\nx        05:39:29\n"
        );
        assert_eq!(
            told(24),
            "Outages\n  started 05:36:28, the\n  node goes NotReady,\n  and stays so for long\n  x: started 05:39:29\n"
        );
    }

    #[test]
    fn a_cut_is_marked() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut_middle("abcdefghij", 7), "abcd…ij");
        assert_eq!(cut_middle("größer als", 10), "größer als");
    }
}
