//! Runs every folder of `fixtures/cases`: a log, Docker's recorded answers, what is expected of them.
//!
//! `expect` is written by hand, before the rule; nothing here ever writes it. `report.txt` and `report.json` are
//! the whole output, refreshed with `PLEGDOCTOR_REFRESH=1 cargo test cases` and reviewed as a diff.

use crate::support::json;
use clap::Parser as _;
use plegdoctor::{
    capture::Capture,
    cli::{Cli, Command},
    commands::observe::replay,
    render::{self, Format, Style},
    report::{self, Report},
    rules::RULES,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Returns all case folders, in order.
pub(crate) fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/cases");
    let mut folders: Vec<_> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// Returns the arguments of a case: `args`, a word a line or several, with `{case}` for its folder. A saved capture
/// says all of that itself.
pub(crate) fn arguments(folder: &Path) -> Vec<String> {
    if folder.join("manifest.json").exists() {
        return vec!["--capture".to_owned(), folder.display().to_string()];
    }
    let text = fs::read_to_string(folder.join("args")).unwrap();
    let words = text
        .split_whitespace()
        .map(|word| word.replace("{case}", &folder.display().to_string()));
    // What stands in the folder is the host; without it nobody looks at the machine that runs the tests.
    let host = folder.join("host");
    let host = match host.is_dir() {
        true => vec!["--host-root".to_owned(), host.display().to_string()],
        false => vec!["--no-host".to_owned()],
    };
    // … and its Docker's files.
    let files = folder.join("docker-files");
    let files = match files.is_dir() {
        true => vec!["--docker-root".to_owned(), files.display().to_string()],
        false => vec!["--no-docker-files".to_owned()],
    };
    words.chain(host).chain(files).collect()
}

/// Runs the case within this process: its folder is a capture.
pub(crate) fn report(folder: &Path) -> Report {
    let words = ["plegdoctor".to_owned(), "diagnose".to_owned()]
        .into_iter()
        .chain(arguments(folder));
    let Command::Diagnose(args) = Cli::try_parse_from(words).unwrap().command else {
        panic!("{} is no diagnose case", folder.display())
    };
    let capture = Capture::open(folder).unwrap();
    report::diagnose(&replay(&args.look, capture, None).unwrap())
}

fn printed(report: &Report, format: Format) -> String {
    printed_at(80, report, format)
}

fn printed_at(width: u16, report: &Report, format: Format) -> String {
    let mut out = Vec::new();
    render::write(
        report,
        format,
        Style {
            width,
            color: false,
        },
        &mut out,
    )
    .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn every_case_meets_its_hand_written_expectation() {
    let wrong: Vec<_> = folders()
        .iter()
        .flat_map(|folder| unmet(folder, &report(folder)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Returns the lines of the case's `expect` that its report does not meet, and what was found instead.
pub(crate) fn unmet(folder: &Path, report: &Report) -> Vec<String> {
    let value: Value = serde_json::from_str(&printed(report, Format::Json)).unwrap();
    let expect = fs::read_to_string(folder.join("expect")).unwrap();
    assert!(
        expect.lines().any(|line| line.starts_with("exit ")),
        "{}: no exit code",
        folder.display()
    );
    let lines = expect
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let name = folder.file_name().unwrap().display();
    lines
        .filter_map(|line| {
            let found = meets(line, report.exit_code(), &value).err()?;
            Some(format!("{name}: {line}\n    found: {found}"))
        })
        .collect()
}

/// Whether the report meets one line of `expect`; the error is what was found instead.
pub(crate) fn meets(line: &str, exit: u8, value: &Value) -> Result<(), String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let first = &value["findings"][0];
    let ids = || -> Vec<&str> {
        value["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["id"].as_str().unwrap())
            .collect()
    };
    let equal = |found: &Value| {
        let found = found
            .as_str()
            .map_or_else(|| found.to_string(), str::to_owned);
        if found == rest { Ok(()) } else { Err(found) }
    };
    let has = |ok: bool, found: String| if ok { Ok(()) } else { Err(found) };
    match word {
        // What the case is about: `stories` reads that, and checks it.
        "cause" | "story" => Ok(()),
        "exit" => has(exit.to_string() == rest, exit.to_string()),
        "verdict" => equal(&value["verdict"]),
        "node" => equal(&value["node"]),
        "first" => equal(&first["id"]),
        "severity" => equal(&first["severity"]),
        "confidence" => equal(&first["confidence"]),
        "active" => equal(&first["active"]),
        "findings" => has(ids().join(" ") == rest, ids().join(" ")),
        // A finding that must be there, wherever it stands.
        "also" => has(ids().contains(&rest), ids().join(" ")),
        "never" => has(
            !rest.split(' ').any(|id| ids().contains(&id)),
            ids().join(" "),
        ),
        // A process among the first finding's subjects.
        "pid" => {
            let subjects = first["subjects"].as_array().ok_or("no finding")?;
            let pids: Vec<_> = subjects
                .iter()
                .map(|subject| subject["pid"].to_string())
                .collect();
            has(pids.iter().any(|pid| pid == rest), pids.join(" "))
        }
        // A command among the first finding's remedies.
        "remedy" => {
            let remedies = first["remedies"].as_array().ok_or("no finding")?;
            let commands: Vec<_> = remedies
                .iter()
                .map(|remedy| remedy["command"].as_str().unwrap())
                .collect();
            has(commands.contains(&rest), commands.join("\n"))
        }
        // The first finding's first subject: kind, id or its beginning, pod as namespace/name; - for none.
        "subject" => {
            let subject = &first["subjects"][0];
            let text = |key: &str| subject[key].as_str().unwrap_or("-").to_owned();
            let pod = match (subject["namespace"].as_str(), subject["pod"].as_str()) {
                (Some(namespace), Some(pod)) => format!("{namespace}/{pod}"),
                _ => "-".to_owned(),
            };
            let found = format!("{} {} {pod}", text("kind"), text("id"));
            let expected: Vec<&str> = rest.split(' ').collect();
            let ok = expected.len() == 3
                && text("kind") == expected[0]
                && text("id").starts_with(expected[1])
                && pod == expected[2];
            has(ok, found)
        }
        "shapes" => {
            let incidents = value["incidents"].as_array().unwrap();
            let shapes: Vec<_> = incidents
                .iter()
                .map(|incident| incident["shape"].as_str().unwrap())
                .collect();
            has(shapes.join(" ") == rest, shapes.join(" "))
        }
        "ongoing" => equal(&value["incidents"].as_array().unwrap().last().unwrap()["ongoing"]),
        "start" => equal(&value["incidents"][0]["start"]),
        "events" => {
            let (id, number) = rest.split_once(' ').unwrap();
            let found = value["log"]["events"][id].to_string();
            has(found == number, found)
        }
        "gap" => {
            let gaps = value["gaps"].to_string();
            has(gaps.contains(rest), gaps)
        }
        "gaps" => has(
            value["gaps"].as_array().unwrap().len().to_string() == rest,
            value["gaps"].to_string(),
        ),
        // Words of a note.
        "note" => {
            let notes = value["notes"].to_string();
            has(notes.contains(rest), notes)
        }
        "says" => {
            let text = first["explanation"].as_str().unwrap_or("");
            has(text.contains(rest), text.to_owned())
        }
        "cites" => {
            let lines: Vec<_> = first["citations"]
                .as_array()
                .unwrap()
                .iter()
                .map(|c| c["line"].to_string())
                .collect();
            has(lines.iter().any(|line| line == rest), lines.join(" "))
        }
        _ => ranked(word, rest, value),
    }
}

/// Whether the report ranks, excludes and dates as one line of `expect` says.
fn ranked(word: &str, rest: &str, value: &Value) -> Result<(), String> {
    let has = |ok: bool, found: String| if ok { Ok(()) } else { Err(found) };
    let named = |key: &str| -> Vec<&str> {
        let all = value[key].as_array().unwrap();
        all.iter().map(|it| it["id"].as_str().unwrap()).collect()
    };
    let last = || value["incidents"].as_array().unwrap().last();
    let moments = || last().map_or(Vec::new(), |it| it["timeline"].as_array().unwrap().clone());
    match word {
        // A finding's role: its id, primary or separate; or its id, consequence or feeds, and the other's id.
        "role" => {
            let roles: Vec<_> = value["findings"]
                .as_array()
                .unwrap()
                .iter()
                .map(|finding| {
                    let word = |value: &Value| value.as_str().unwrap_or("").to_owned();
                    let role = &finding["role"];
                    let words = [&finding["id"], &role["kind"], &role["to"]].map(word);
                    words.join(" ").trim().to_owned()
                })
                .collect();
            has(roles.iter().any(|role| role == rest), roles.join("\n"))
        }
        // All of these are ruled out; none of these is; all could not be judged.
        "ruled-out" | "not-ruled-out" | "undecided" => {
            let key = if word == "undecided" {
                "undecided"
            } else {
                "ruled_out"
            };
            let found = named(key);
            let is_there = |id: &str| found.contains(&id);
            let ok = match word {
                "not-ruled-out" => !rest.split(' ').any(is_there),
                _ => rest.split(' ').all(is_there),
            };
            has(ok, found.join(" "))
        }
        // What the last outage's timeline tells, in order.
        "moments" => {
            let found: Vec<_> = moments()
                .iter()
                .map(|it| it["what"].as_str().unwrap().to_owned())
                .collect();
            has(found.join(" ") == rest, found.join(" "))
        }
        // One of its moments: what, when, how often, seconds after the lag began.
        "moment" => {
            let found: Vec<_> = moments()
                .iter()
                .map(|it| {
                    format!(
                        "{} {} {} {}",
                        it["what"].as_str().unwrap(),
                        it["time"].as_str().unwrap(),
                        it["count"],
                        it["after_seconds"]
                    )
                })
                .collect();
            has(found.iter().any(|it| it == rest), found.join("\n"))
        }
        // A value anywhere: a JSON pointer and what stands there.
        "value" => {
            let (place, expected) = rest.split_once(' ').unwrap();
            let found = value.pointer(place).unwrap_or(&Value::Null).to_string();
            has(found == expected, found)
        }
        _ => Err(format!("no such expectation: {word}")),
    }
}

#[test]
fn every_case_prints_what_is_stored() {
    let refresh = std::env::var_os("PLEGDOCTOR_REFRESH").is_some();
    let mut wrong = Vec::new();
    for folder in folders() {
        let report = report(&folder);
        for (format, file) in [(Format::Text, "report.txt"), (Format::Json, "report.json")] {
            let printed = printed(&report, format);
            let stored = folder.join(file);
            if refresh {
                fs::write(&stored, &printed).unwrap();
            } else if fs::read_to_string(&stored).unwrap_or_default() != printed {
                wrong.push(format!(
                    "{} differs; it would be:\n{printed}",
                    stored.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn text_reports_keep_to_eighty_columns_but_for_commands() {
    for folder in folders() {
        let text = printed(&report(&folder), Format::Text);
        let long: Vec<_> = text
            .lines()
            .filter(|line| line.chars().count() > 80 && !line.starts_with("       "))
            .collect();
        assert!(long.is_empty(), "{}: {long:#?}", folder.display());
        assert!(!text.contains('\x1b'), "{}", folder.display());
    }
}

/// Returns what must not be broken: times, short ids, names of findings, whole commands; each with how often it is there.
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

#[test]
fn no_time_id_or_command_is_broken_however_narrow_the_terminal_is() {
    for folder in folders() {
        let report = report(&folder);
        let wide = printed_at(2000, &report, Format::Text);
        // Quoted lines are cut to the width.
        let is_quote = |line: &&str| line.starts_with("    ") && !line.starts_with("       ");
        let wanted = unbreakable(wide.lines().filter(|line| !is_quote(line)));
        for width in [40, 60, 80, 100] {
            let text = printed_at(width, &report, Format::Text);
            let found = unbreakable(text.lines());
            for (word, count) in &wanted {
                let there = found.get(word).copied().unwrap_or(0);
                let name = folder.display();
                assert!(there >= *count, "{name}, {width} columns: {word}\n{text}");
            }
            let commands = report.findings.iter().flat_map(|it| &it.remedies);
            for command in commands.map(|it| &it.command) {
                let whole = |text: &str| text.lines().any(|line| line.trim() == command.trim());
                assert_eq!(whole(&text), whole(&wide), "{command}");
            }
        }
    }
}

#[test]
fn every_case_is_valid_by_the_schema() {
    let schema = json::schema("report");
    for folder in folders() {
        let value: Value = serde_json::from_str(&printed(&report(&folder), Format::Json)).unwrap();
        json::validate(&schema, &value, &folder.display().to_string());
    }
}

#[test]
fn every_file_of_a_case_has_a_source() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/README.md"))
            .unwrap();
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(
            readme.contains(&format!("`{name}`")),
            "fixtures/README.md does not tell where {name} comes from"
        );
    }
}

#[test]
fn recorded_mounts_name_no_folder_of_the_machine_that_recorded_them() {
    let folders = ["/tmp/", "/var/tmp/", "/var/cache/", "/root/", "/home/"];
    let mut seen = 0;
    for folder in self::folders() {
        let Ok(processes) = fs::read_dir(folder.join("host/proc")) else {
            continue;
        };
        for process in processes.flatten() {
            let file = process.path().join("mountinfo");
            let Ok(text) = fs::read_to_string(&file) else {
                continue;
            };
            seen += 1;
            let named = folders.iter().find(|folder| text.contains(**folder));
            assert_eq!(named, None, "{}", file.display());
        }
    }
    assert!(seen > 10, "only {seen} files of mounts");
}
