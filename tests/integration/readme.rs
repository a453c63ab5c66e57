//! The README tells the truth: its report is a case's, its commands parse, its first command runs.

use crate::support::judge::{case, printed, report};
use clap::Parser as _;
use plegdoctor::{cli::Cli, render::Format};
use std::{fs, path::Path, process::Command};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the README's fenced blocks of a language.
fn blocks(language: &str) -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut found = Vec::new();
    for block in readme.split("\n```").skip(1).step_by(2) {
        let (head, body) = block.split_once('\n').unwrap();
        if head == language {
            found.push(body.to_owned());
        }
    }
    found
}

#[test]
fn the_report_shown_is_a_cases() {
    let shown = &blocks("text")[0];
    let report = printed(&report(&case("sandbox-flaps")), Format::Text);
    let mut rest = report.as_str();
    let mut lines = 0;
    for line in shown
        .lines()
        .filter(|line| !line.starts_with("$ ") && *line != "…")
    {
        let at = rest
            .find(line)
            .unwrap_or_else(|| panic!("not in the report, or not in this order: {line}"));
        rest = &rest[at + line.len()..];
        lines += 1;
    }
    assert!(lines > 15);
}

#[test]
fn every_command_parses() {
    let mut commands = 0;
    for line in blocks("sh").iter().flat_map(|block| block.lines()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(start) = words
            .iter()
            .position(|word| *word == "plegdoctor" || *word == "--")
        else {
            assert_eq!(line, "bash tests/run.sh");
            continue;
        };
        let words = ["plegdoctor"].iter().chain(&words[start + 1..]);
        assert!(Cli::try_parse_from(words).is_ok(), "{line}");
        commands += 1;
    }
    assert!(commands >= 12, "only {commands} found");
}

#[test]
fn the_first_command_names_the_culprit() {
    let line = blocks("sh").remove(0);
    let words = line
        .split_whitespace()
        .skip_while(|word| *word != "--")
        .skip(1);
    let run = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .args(words)
        .current_dir(root())
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(
        text.starts_with("NOT READY  Sandbox fffba3fcf5d5 of pod default/web-2 does not answer."),
        "{text}"
    );
}

#[test]
fn it_stays_readable() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() < 260);
    assert!(readme.contains("PLEG is not healthy"));
}
