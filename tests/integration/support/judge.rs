//! Runs a case within this process, and judges its report by a line of `expect`.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use super::case::{self, Case};
use clap::Parser as _;
use plegdoctor::{
    capture::Capture,
    cli::{Cli, Command},
    commands::observe::replay,
    render::{self, Format, Style},
    report::{self, Report},
};
use serde_json::Value;
use std::{fs, ops::Deref, path::PathBuf};
use tempfile::TempDir;

/// A case whose inputs are a folder, which goes with this.
pub(crate) struct Unpacked {
    case: Case,
    pub(crate) folder: PathBuf,
    _root: TempDir,
}

impl Deref for Unpacked {
    type Target = Case;

    fn deref(&self) -> &Case {
        &self.case
    }
}

impl From<Case> for Unpacked {
    fn from(case: Case) -> Self {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(&case.name);
        let is_input = |path: &str| !case::OWN.contains(&path);
        for (path, bytes) in case.files.iter().filter(|(path, _)| is_input(path)) {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        Self {
            case,
            folder,
            _root: root,
        }
    }
}

/// All cases, one after the other.
pub(crate) fn unpacked() -> impl Iterator<Item = Unpacked> {
    let files = case::files().into_iter();
    files
        .flat_map(|file| case::cases_of(&file))
        .map(Unpacked::from)
}

/// The case of that name.
#[track_caller]
pub(crate) fn case(name: &str) -> Unpacked {
    case::case(name).into()
}

/// The arguments of a case: `args`, a word a line or several, with `{case}` for its folder. A saved capture says all of
/// that itself.
pub(crate) fn arguments(case: &Unpacked) -> Vec<String> {
    let folder = case.folder.display().to_string();
    if case.has("manifest.json") {
        return vec!["--capture".to_owned(), folder];
    }
    let words = case.text("args").split_whitespace();
    let words = words.map(|word| word.replace("{case}", &folder));
    // The case's own host and Docker's own files; without them the machine that runs the tests is not looked at.
    let host = match case.has("host") {
        true => vec!["--host-root".to_owned(), format!("{folder}/host")],
        false => vec!["--no-host".to_owned()],
    };
    let files = match case.has("docker-files") {
        true => vec!["--docker-root".to_owned(), format!("{folder}/docker-files")],
        false => vec!["--no-docker-files".to_owned()],
    };
    words.chain(host).chain(files).collect()
}

/// Runs the case within this process: its folder is a capture.
pub(crate) fn report(case: &Unpacked) -> Report {
    let words = ["plegdoctor".to_owned(), "diagnose".to_owned()]
        .into_iter()
        .chain(arguments(case));
    let Command::Diagnose(args) = Cli::try_parse_from(words).unwrap().command else {
        panic!("{} is no diagnose case", case.name)
    };
    let capture = Capture::open(&case.folder).unwrap();
    report::diagnose(&replay(&args.look, capture, None).unwrap())
}

/// The report as it is printed at a width of 80 columns.
pub(crate) fn printed(report: &Report, format: Format) -> String {
    printed_at(80, report, format)
}

pub(crate) fn printed_at(width: u16, report: &Report, format: Format) -> String {
    let mut out = Vec::new();
    let style = Style {
        width,
        color: false,
    };
    render::write(report, format, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
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
