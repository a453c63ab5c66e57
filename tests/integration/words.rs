//! Plain words: turns of phrase that operators stumbled over stay out of every text that plegdoctor shows.

use std::{fs, path::Path};

/// Turns, and what to write instead. A turn is matched as whole words, whatever their case.
const BANNED: &[(&str, &str)] = &[
    ("told", "says, reports, shows"),
    ("tell", "say, report, show"),
    ("tells", "says, reports, shows"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mending", "fixing"),
    ("go on", "continue, resume"),
    ("goes on", "continues"),
    ("the present", "now, the current time"),
    ("is over", "ended, resolved"),
    ("was over", "ended, resolved"),
    ("as there may be", "the limit is reached"),
    ("by itself", "alone, automatically"),
    ("by themselves", "alone, automatically"),
    ("nobody", "name what did not"),
    ("in vain", "without success"),
    ("found no room", "dropped"),
    ("it only looks", "tag the step read-only"),
    ("answers no", "does not answer, times out"),
    ("no more than that", "leave it out"),
    ("let it be", "skip, leave"),
];

#[test]
fn no_text_has_a_turn_that_operators_stumble_over() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in ["src", "docs"] {
        collect(&root.join(folder), &mut texts);
    }
    for page in ["README.md", "CHANGELOG.md"] {
        texts.push((
            page.to_owned(),
            fs::read_to_string(root.join(page)).unwrap(),
        ));
    }
    assert!(texts.len() > 100, "only {} files found", texts.len());
    let mut found = Vec::new();
    for (file, text) in &texts {
        let help = |line: &&str| line.trim_start().starts_with("///");
        let mut shown = Vec::new();
        if file.ends_with(".rs") {
            shown.extend(literals(text));
        }
        // What describes an option is its help.
        if file.contains("src/cli") {
            shown.extend(text.lines().filter(help).map(str::to_owned));
        }
        if file.ends_with(".md") {
            shown.extend(text.lines().map(str::to_owned));
        }
        for text in shown {
            for (turn, instead) in BANNED {
                if has(&text, turn) {
                    found.push(format!("{file}: \"{turn}\" ({instead}): {}", text.trim()));
                }
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} texts to reword:\n{}",
        found.len(),
        found.join("\n")
    );
}

fn collect(folder: &Path, texts: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
        // Words that captures keep as they are.
        let is_list = name.ends_with("redact/allowlist.rs");
        if path.is_dir() {
            collect(&path, texts);
        } else if (name.ends_with(".rs") || name.ends_with(".md")) && !is_test && !is_list {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            texts.push((name, text.to_owned()));
        }
    }
}

/// Whether a text holds a turn as whole words. What stands in braces is a name in the code, and a single word is a
/// value, no sentence.
fn has(text: &str, turn: &str) -> bool {
    if !text.trim().contains(' ') {
        return false;
    }
    let outside = text
        .split('{')
        .map(|part| part.rsplit('}').next().unwrap_or(part));
    let text = outside.collect::<Vec<_>>().join("…").to_lowercase();
    text.match_indices(turn).any(|(at, _)| {
        let apart = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || "_-".contains(c));
        apart(text[..at].chars().next_back()) && apart(text[at + turn.len()..].chars().next())
    })
}

/// The string literals of a source.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '\'', '/']) {
        let start = &rest[at..];
        rest = if start.starts_with("//") {
            &start[start.find('\n').unwrap_or(start.len())..]
        } else if start.starts_with('"') && rest[..at].ends_with(['r', '#']) && is_raw(&rest[..at])
        {
            let hashes = rest[..at].len() - rest[..at].trim_end_matches('#').len();
            let close = format!("\"{}", "#".repeat(hashes));
            let end = start[1..].find(&close).unwrap_or(start.len() - 1);
            found.push(start[1..=end].to_owned());
            &start[(1 + end + close.len()).min(start.len())..]
        } else if let Some(text) = start.strip_prefix('"') {
            let end = end_of_string(text);
            found.push(text[..end].to_owned());
            &text[(end + 1).min(text.len())..]
        } else if start.starts_with("'\"'") || start.starts_with("'/'") {
            &start[3..]
        } else {
            &start[1..]
        };
    }
    found
}

fn is_raw(before: &str) -> bool {
    let before = before.trim_end_matches('#');
    let Some(before) = before.strip_suffix('r') else {
        return false;
    };
    let before = before.strip_suffix('b').unwrap_or(before);
    !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    text.len()
}

#[test]
fn literals_are_found_and_comments_are_not() {
    let source = "// \"no\"\nlet a = \"one \\\" two\"; let b = r#\"three \"x\"\"#; '\"'; b\"four\"";
    assert_eq!(literals(source), ["one \\\" two", "three \"x\"", "four"]);
    assert!(has("It is OVER.", "is over"));
    assert!(!has("this overlaps; is overdue", "is over"));
}
