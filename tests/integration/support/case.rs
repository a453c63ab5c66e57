//! Reads the cases of `fixtures/cases`, whose form `fixtures/README.md` describes. It stands alone: the unit tests and
//! the benches include it, too.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// What stands in a case for the byte NUL.
const NUL: char = '\u{2400}';

/// A case: a node's story as files, and what is expected of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// What stands before the first section: where the inputs come from.
    pub(crate) source: String,
    /// The sections, by path.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Case {
    /// The text of a section.
    #[track_caller]
    pub(crate) fn text(&self, path: &str) -> &str {
        let bytes = self.files.get(path);
        let bytes = bytes.unwrap_or_else(|| panic!("{}: no section {path}", self.name));
        std::str::from_utf8(bytes).unwrap()
    }

    /// Whether there is a section of that path, or below that folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let is_it = |name: &String| name == path || name.starts_with(&below);
        self.files.keys().any(is_it)
    }
}

/// The files that hold the cases, by name.
pub(crate) fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let entries = fs::read_dir(root).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// All cases of a file.
pub(crate) fn cases_of(file: &Path) -> Vec<Case> {
    let name = file.file_stem().unwrap().to_str().unwrap();
    let text = fs::read_to_string(file).unwrap();
    parse(name, &text).unwrap_or_else(|wrong| panic!("{}: {wrong}", file.display()))
}

/// The case of that name.
#[track_caller]
pub(crate) fn case(name: &str) -> Case {
    let found = files()
        .iter()
        .flat_map(|file| cases_of(file))
        .find(|it| it.name == name);
    found.unwrap_or_else(|| panic!("no case {name}"))
}

/// A header of a section (`-- path --`) or of another case (`== name ==`), and what stands between.
pub(crate) fn header(line: &str) -> Option<(&str, &str)> {
    let of = |mark: &'static str| {
        let rest = line.strip_prefix(mark)?.strip_prefix(' ')?;
        Some((mark, rest.strip_suffix(mark)?.strip_suffix(' ')?))
    };
    of("--").or_else(|| of("=="))
}

/// Reads the text of a file. Cases after the first begin with the first one's inputs.
pub(crate) fn parse(name: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut case = Case {
        name: name.to_owned(),
        ..Case::default()
    };
    let mut head: Option<&str> = None;
    let mut body = Vec::new();
    let text = text.strip_suffix('\n').ok_or("no newline at its end")?;
    for line in text.split('\n').map(Some).chain([None]) {
        let next = line.and_then(header);
        if let (Some(line), None) = (line, next) {
            body.push(line);
            continue;
        }
        match head {
            Some(head) => section(&mut case.files, head, &body)?,
            None => case.source = body.join("\n").trim().to_owned(),
        }
        body.clear();
        match next {
            Some(("--", path)) => head = Some(path),
            Some((_, name)) => {
                cases.push(std::mem::take(&mut case));
                let is_own = |path: &str| OWN.contains(&path);
                case.name = name.to_owned();
                case.files = cases[0].files.clone();
                case.files.retain(|path, _| !is_own(path));
                head = None;
            }
            None => {}
        }
    }
    cases.push(case);
    Ok(cases)
}

/// What each case of a file has for itself.
pub(crate) const OWN: [&str; 4] = ["args", "expect", "report.txt", "report.json"];

fn section(
    files: &mut BTreeMap<String, Vec<u8>>,
    head: &str,
    lines: &[&str],
) -> Result<(), String> {
    let (path, flags) = match head.split_once(" (") {
        Some((path, flags)) => (path, flags.strip_suffix(')').ok_or(head)?),
        None => (head, ""),
    };
    if flags == "absent" {
        let before = files.len();
        files.retain(|name, _| name != path && !(path.ends_with('/') && name.starts_with(path)));
        return match files.len() < before {
            true => Ok(()),
            false => Err(format!("{path} is absent anyway")),
        };
    }
    if path.ends_with('/') {
        return table(files, path, lines);
    }
    let (mut escaped, mut newline) = (false, true);
    for flag in flags.split(", ").filter(|flag| !flag.is_empty()) {
        match flag {
            "escaped" => escaped = true,
            "no newline" => newline = false,
            _ => return Err(format!("{path}: no such flag: {flag}")),
        }
    }
    let mut text = lines.join("\n");
    if newline && !lines.is_empty() {
        text.push('\n');
    }
    let bytes = match escaped {
        true => unescaped(&text)?,
        false => text.replace(NUL, "\0").into_bytes(),
    };
    files.insert(path.to_owned(), bytes);
    Ok(())
}

/// A table of files: `NAME: LINE`, `NAME = TEXT` without a newline, or `NAME:` and lines that are indented.
fn table(
    files: &mut BTreeMap<String, Vec<u8>>,
    folder: &str,
    lines: &[&str],
) -> Result<(), String> {
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let wrong = || format!("{folder}: no entry of a table: {line}");
        let (word, first) = line.split_once(' ').unwrap_or((line, ""));
        let (name, newline, first) = match (word.strip_suffix(':'), first.strip_prefix('=')) {
            (Some(name), _) => (name, true, first),
            (None, Some(rest)) => (word, false, rest.strip_prefix(' ').unwrap_or(rest)),
            (None, None) => return Err(wrong()),
        };
        if name.is_empty() {
            return Err(wrong());
        }
        let mut text = vec![first];
        while let Some(more) = lines.peek().and_then(|line| line.strip_prefix("  ")) {
            text.push(more);
            lines.next();
        }
        if text.len() > 1 && text.remove(0) != "" {
            return Err(wrong());
        }
        let mut text = text.join("\n").replace(NUL, "\0");
        if newline {
            text.push('\n');
        }
        files.insert(format!("{folder}{name}"), text.into_bytes());
    }
    Ok(())
}

/// Takes `\\` for a backslash and `\xNN` for a byte.
fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or("").as_bytes().to_vec();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            bytes.push(b'\\');
            bytes.extend(parts.next().ok_or("a backslash alone")?.as_bytes());
            continue;
        }
        let digits = part.strip_prefix('x').and_then(|rest| rest.get(..2));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(|| format!("no escape: \\{part:.4}"))?);
        bytes.extend(&part.as_bytes()[3..]);
    }
    Ok(bytes)
}
