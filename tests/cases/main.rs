//! Runs each case of `fixtures/cases` as a test of its name: `cargo test --test cases hung` runs those with `hung` in it.
//!
//! `expect` is written by hand, before the rule, and nothing here ever writes it. Whole reports are kept of a few cases,
//! without what is undecided; `PLEGDOCTOR_REFRESH=1 cargo test --test cases` writes those that are there.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

/// The reader of cases.
#[path = "../integration/support/case.rs"]
mod case;
/// What differs between two texts.
mod diff;
/// Output against its schema.
#[path = "../integration/support/json.rs"]
mod json;
/// A case's report, and lines of `expect`.
#[path = "../integration/support/judge.rs"]
#[expect(dead_code, reason = "others take all cases at once")]
mod judge;
/// What each case stands for: its cause and its story.
mod stories;

use case::Case;
use judge::{Unpacked, meets, printed, printed_at, report};
use libtest_mimic::{Arguments, Failed, Trial};
use plegdoctor::{render::Format, report::Report, rules::RULES};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{LazyLock, Mutex},
};
use stories::Kind;

/// The schema of the report.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| json::schema("report"));
/// One file is rewritten at a time: cases share files.
static WRITING: Mutex<()> = Mutex::new(());

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let all: Vec<(PathBuf, Case)> = case::files()
        .into_iter()
        .flat_map(|file| {
            let cases = case::cases_of(&file);
            cases.into_iter().map(move |case| (file.clone(), case))
        })
        .collect();
    let stories: Vec<_> = all
        .iter()
        .filter_map(|(_, it)| stories::of(it).ok())
        .collect();
    let of_all = [
        Trial::test(
            "every-cause-is-shown-twice-and-told-from-what-looks-like-it",
            move || every_cause_is_shown(&stories),
        ),
        Trial::test("stories-that-make-no-sense-are-refused", || {
            stories::stories_that_make_no_sense_are_refused();
            Ok(())
        }),
        Trial::test("a-diff-shows-what-is-only-here-or-there", || {
            diff::a_diff_shows_what_is_only_here_or_there();
            Ok(())
        }),
    ];
    let cases = all
        .into_iter()
        .map(|(file, case)| Trial::test(case.name.clone(), move || judged(&file, case)));
    let trials = of_all.into_iter().chain(cases).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a case and takes all that is wrong with it together.
fn judged(file: &Path, case: Case) -> Result<(), Failed> {
    let case = Unpacked::from(case);
    let report = report(&case);
    let json = printed(&report, Format::Json);
    let value: Value = serde_json::from_str(&json)?;
    let mut wrong = unmet(&case, &report, &value);
    match stories::of(&case) {
        Ok(story) => wrong.extend(stories::keeps_to(story, &report).err()),
        Err(why) => wrong.push(why),
    }
    if case.source.is_empty() {
        wrong.push("nothing in front of its sections tells where its inputs come from".to_owned());
    }
    wrong.extend(foreign_mounts(&case));
    let text = printed(&report, Format::Text);
    for (path, found) in [
        (
            "report.txt",
            without_undecided(&text, "Not judged", |line| line.is_empty()),
        ),
        (
            "report.json",
            without_undecided(&json, "  \"undecided\": [", |line| line.starts_with("  ]")),
        ),
    ] {
        wrong.extend(stored(file, &case, path, &found));
    }
    match wrong.is_empty() {
        true => {
            json::validate(&SCHEMA, &value, &case.name);
            keeps_to_eighty_columns(&text);
            is_whole_however_narrow(&report);
            Ok(())
        }
        false => Err(wrong.join("\n").into()),
    }
}

/// The lines of the case's `expect` that its report does not meet, and what was found instead.
fn unmet(case: &Case, report: &Report, value: &Value) -> Vec<String> {
    let lines = case.text("expect").lines().map(str::trim);
    let lines: Vec<_> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let has_exit = lines.iter().any(|line| line.starts_with("exit "));
    let exit = (!has_exit).then(|| "no exit code".to_owned());
    let unmet = lines.iter().filter_map(|line| {
        let found = meets(line, report.exit_code(), value).err()?;
        Some(format!("expected: {line}\n   found: {found}"))
    });
    exit.into_iter().chain(unmet).collect()
}

/// Compares with a report that is kept, or writes it; `Some` is how they differ.
fn stored(file: &Path, case: &Case, path: &str, found: &str) -> Option<String> {
    let stored = case.files.contains_key(path).then(|| case.text(path))?;
    if stored == found {
        return None;
    }
    if std::env::var_os("PLEGDOCTOR_REFRESH").is_none() {
        return Some(format!("{path} differs:\n{}", diff::lines(stored, found)));
    }
    let _one = WRITING.lock().unwrap();
    let text = fs::read_to_string(file).unwrap();
    let stem = file.file_stem().unwrap().to_str().unwrap();
    fs::write(file, refreshed(&text, stem, (&case.name, path), found)).unwrap();
    None
}

/// The text of a file, whose first case has that name, with another content of one case's section.
fn refreshed(text: &str, first: &str, section: (&str, &str), content: &str) -> String {
    let mut out = String::new();
    let (mut name, mut skips) = (first, false);
    for line in text
        .split_inclusive('\n')
        .map(|line| line.strip_suffix('\n').unwrap_or(line))
    {
        match case::header(line) {
            Some(("==", next)) => (name, skips) = (next, false),
            Some((_, path)) => {
                skips = (name, path) == section;
                if skips {
                    out.extend([line, "\n", content]);
                }
            }
            None => {}
        }
        if !skips {
            out.extend([line, "\n"]);
        }
    }
    out
}

/// A report without the part that begins with some words and ends with a line that is `last`.
fn without_undecided(text: &str, begin: &str, last: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut skips = false;
    for line in text.lines() {
        skips |= line.starts_with(begin);
        if !skips {
            out.extend([line, "\n"]);
        }
        skips &= !(last(line) || line.ends_with("[],"));
    }
    out
}

/// Mounts of folders of the machine that recorded them.
fn foreign_mounts(case: &Case) -> Vec<String> {
    let folders = ["/tmp/", "/var/tmp/", "/var/cache/", "/root/", "/home/"];
    let mounts = case.files.keys();
    let mounts = mounts.filter(|path| path.starts_with("host/") && path.ends_with("/mountinfo"));
    mounts
        .filter_map(|path| {
            let text = case.text(path);
            let named = folders.iter().find(|folder| text.contains(**folder))?;
            Some(format!("{path} names {named}"))
        })
        .collect()
}

/// A text report keeps to 80 columns but for commands.
fn keeps_to_eighty_columns(text: &str) {
    let long: Vec<_> = text
        .lines()
        .filter(|line| line.chars().count() > 80 && !line.starts_with("       "))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
    assert!(!text.contains('\x1b'), "{text}");
}

/// What must not be broken: times, short ids, names of findings, whole commands; each with how often it is there.
fn unbreakable<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut words = BTreeMap::new();
    for line in lines {
        let is_time =
            |word: &str| word.len() == 8 && word.bytes().filter(|&byte| byte == b':').count() == 2;
        let is_id = |word: &str| word.len() == 12 && word.bytes().all(|it| it.is_ascii_hexdigit());
        let is_rule = |word: &str| RULES.iter().any(|rule| rule.id == word);
        let all = line.split(|c: char| !(c.is_alphanumeric() || ":-/".contains(c)));
        for word in all.map(|word| word.trim_matches(':')) {
            if is_time(word) || is_id(word) || is_rule(word) {
                *words.entry(word).or_default() += 1;
            }
        }
    }
    words
}

/// No time, id or command is broken however narrow the terminal is.
fn is_whole_however_narrow(report: &Report) {
    let wide = printed_at(2000, report, Format::Text);
    // Quoted lines are cut to the width.
    let is_quote = |line: &&str| line.starts_with("    ") && !line.starts_with("       ");
    let wanted = unbreakable(wide.lines().filter(|line| !is_quote(line)));
    for width in [40, 60, 80, 100] {
        let text = printed_at(width, report, Format::Text);
        let found = unbreakable(text.lines());
        for (word, count) in &wanted {
            let there = found.get(word).copied().unwrap_or(0);
            assert!(there >= *count, "{width} columns: {word}\n{text}");
        }
        let commands = report.findings.iter().flat_map(|it| &it.remedies);
        for command in commands.map(|it| &it.command) {
            let whole = |text: &str| text.lines().any(|line| line.trim() == command.trim());
            assert_eq!(whole(&text), whole(&wide), "{command}");
        }
    }
}

fn every_cause_is_shown(stories: &[stories::Story]) -> Result<(), Failed> {
    let mut missing = Vec::new();
    for rule in RULES {
        for kind in [Kind::Plain, Kind::Variant, Kind::NearMiss] {
            let is = |story: &stories::Story| story.cause == Some(rule.id) && story.kind == kind;
            if !stories.iter().any(is) {
                missing.push(format!("{}: {kind:?}", rule.id));
            }
        }
    }
    let well = stories.iter().filter(|story| story.kind == Kind::Healthy);
    if well.count() < 6 {
        missing.push("too few healthy nodes".to_owned());
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(missing.join("\n").into()),
    }
}
