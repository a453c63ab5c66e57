//! Captures through the library and the program: what was saved is judged the same elsewhere.

mod daemon;
mod dead_disk;

use crate::support::{
    judge::{arguments, case, unpacked},
    program::run,
};
use clap::Parser as _;
use plegdoctor::{
    capture::{Archive, Capture, Recorder, Sanitize},
    cli::{Cli, Command, DiagnoseArgs},
    commands::observe::replay,
    evidence::Evidence,
    render::{self, Format, Style},
    report::{self, Report},
};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};
use tempfile::TempDir;

pub(crate) fn parsed(words: &[String]) -> DiagnoseArgs {
    let words = ["plegdoctor", "diagnose"]
        .map(str::to_owned)
        .into_iter()
        .chain(words.iter().cloned());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Diagnose(args) => *args,
        other => panic!("{other:?}"),
    }
}

fn printed(evidence: &Evidence) -> [String; 2] {
    let report = report::diagnose(evidence);
    [Format::Text, Format::Json].map(|format| {
        let mut out = Vec::new();
        let style = Style {
            width: 80,
            color: false,
        };
        render::write(&report, format, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    })
}

/// Sees what a capture holds, saves it again at `to`, and returns the reports before and after.
fn again(args: &DiagnoseArgs, from: &Path, to: &Path) -> [[String; 2]; 2] {
    let keep = Recorder::new(Sanitize::Workloads);
    let before = replay(&args.look, Capture::open(from).unwrap(), Some(&keep)).unwrap();
    let archive = Archive::create(to).unwrap();
    archive.write(keep.finish(&before)).unwrap();
    let plain = parsed(&[]);
    let after = replay(&plain.look, Capture::open(to).unwrap(), None).unwrap();
    [printed(&before), printed(&after)]
}

#[test]
fn every_case_saved_and_judged_again_gives_the_same_report() {
    let here = TempDir::new().unwrap();
    for case in unpacked() {
        let args = parsed(&arguments(&case));
        let name = &case.name;
        let to = here.path().join(format!("{name}.tar.gz"));
        let [before, after] = again(&args, &case.folder, &to);
        assert_eq!(before, after, "{name}");
        // … and saved once more, now with a manifest.
        let once_more = here.path().join(format!("{name}-2.tar.gz"));
        let [before, after] = again(&parsed(&[]), &to, &once_more);
        assert_eq!(before, after, "{name}");
    }
}

#[test]
fn a_capture_is_its_owners_alone_replaces_nothing_and_is_whole_or_not_there() {
    let here = TempDir::new().unwrap();
    let case = case("sandbox-flaps");
    let (args, folder) = (parsed(&arguments(&case)), &case.folder);
    let to = here.path().join("x.tar.gz");
    again(&args, folder, &to);
    let mode = fs::metadata(&to).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = format!("{:#}", Archive::create(&to).unwrap_err());
    assert!(error.contains("already exists"), "{error}");
    // Begun and left: nothing stays.
    let other = here.path().join("y.tar.gz");
    drop(Archive::create(&other).unwrap());
    // Somebody was faster.
    let archive = Archive::create(&other).unwrap();
    fs::write(&other, "theirs").unwrap();
    let keep = Recorder::new(Sanitize::Workloads);
    let capture = Capture::open(folder).unwrap();
    let evidence = replay(&args.look, capture, Some(&keep)).unwrap();
    assert!(archive.write(keep.finish(&evidence)).is_err());
    assert_eq!(fs::read_to_string(&other).unwrap(), "theirs");
    let left: Vec<_> = fs::read_dir(here.path()).unwrap().flatten().collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

/// The names that a report tells: of nodes, pods, namespaces.
fn names(report: &Report) -> Vec<String> {
    let pods = report.containers.iter().filter_map(|it| it.pod.as_ref());
    let subjects = report.findings.iter().flat_map(|it| &it.subjects);
    let subjects = subjects.filter_map(|subject| subject.pod.as_ref());
    let pods = pods.chain(subjects).map(ToString::to_string);
    let known = ["default", "kube-system"];
    pods.flat_map(|pod| pod.split('/').map(str::to_owned).collect::<Vec<_>>())
        .chain(report.node.clone())
        .filter(|name| !known.contains(&name.as_str()) && name.contains(['-', '.']))
        .collect()
}

#[test]
fn every_case_redacted_gives_the_same_findings_and_no_name() {
    let here = TempDir::new().unwrap();
    let mut seen = 0;
    for case in unpacked() {
        let args = parsed(&arguments(&case));
        let keep = Recorder::new(Sanitize::Workloads);
        let before = replay(
            &args.look,
            Capture::open(&case.folder).unwrap(),
            Some(&keep),
        )
        .unwrap();
        let mut kept = keep.finish(&before);
        kept.redact().unwrap();
        let to = here.path().join(format!("{}.tar.gz", case.name));
        Archive::create(&to).unwrap().write(kept).unwrap();
        let after = replay(&parsed(&[]).look, Capture::open(&to).unwrap(), None).unwrap();
        let [before, after] = [before, after].map(|evidence| report::diagnose(&evidence));
        let ids = |report: &Report| {
            let mut ids: Vec<_> = report
                .findings
                .iter()
                .map(|found| (found.id, found.severity, found.confidence, found.active))
                .collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(&before), ids(&after), "{}", case.name);
        assert_eq!(before.verdict, after.verdict, "{}", case.name);
        let told = format!("{after:?}");
        for name in names(&before) {
            seen += 1;
            let whole = told.match_indices(&name).find(|&(at, _)| {
                let around = [
                    told[..at].chars().next_back(),
                    told[at + name.len()..].chars().next(),
                ];
                !around
                    .iter()
                    .flatten()
                    .any(|c| c.is_alphanumeric() || *c == '-')
            });
            let around = whole.map(|(at, _)| told[..at].chars().rev().take(80).collect::<String>());
            let around = around.map(|text| text.chars().rev().collect::<String>());
            assert_eq!(around, None, "{}: {name}", case.name);
        }
    }
    assert!(seen > 20, "only {seen} names");
}

/// A log that is named, in two pieces and with a window: judged through the program, saved, and judged again.
#[test]
fn a_run_on_logs_is_replayed_byte_by_byte_from_what_it_saved() {
    let here = TempDir::new().unwrap();
    let case = case("sandbox-flaps");
    let whole = case.text("kubelet.log");
    let middle = whole[whole.len() / 2..].find('\n').unwrap() + whole.len() / 2 + 1;
    for (name, text) in [
        ("kubelet.log.1", &whole[..middle]),
        ("kubelet.log", &whole[middle..]),
    ] {
        fs::write(here.path().join(name), text).unwrap();
    }
    let logs = here.path().to_str().unwrap();
    for format in ["text", "json"] {
        let saved = here.path().join(format!("{format}.tar.gz"));
        let saved = saved.to_str().unwrap();
        let now = [
            "--now",
            "2026-11-30T05:48:31Z",
            "--since",
            "2026-11-30T05:36:30Z",
        ];
        let alone = [
            "--no-docker",
            "--no-host",
            "--save",
            saved,
            "--format",
            format,
        ];
        let live = run(&[&["diagnose", "--log", logs][..], &now, &alone].concat());
        assert_eq!(live.code, 1, "{live:?}");
        assert!(live.out.contains("kubelet.log.1"), "{live:?}");
        let replayed = run(&["diagnose", "--capture", saved, "--format", format]);
        assert_eq!((replayed.out, replayed.code), (live.out, 1));
    }
}

#[test]
fn what_is_no_capture_and_options_that_contradict_one_are_refused() {
    let here = TempDir::new().unwrap();
    let at = |name: &str| here.path().join(name).display().to_string();
    fs::write(at("empty.tar.gz"), "").unwrap();
    fs::write(at("text.tar.gz"), "no capture").unwrap();
    for (name, why) in [
        ("none.tar.gz", "No such file"),
        ("empty.tar.gz", "it is empty"),
        ("text.tar.gz", "neither a folder nor a .tar.gz"),
        ("", "not a capture"),
    ] {
        if name.is_empty() {
            fs::remove_file(at("empty.tar.gz")).unwrap();
            fs::write(at("text.tar.gz"), "").unwrap();
        }
        run(&["diagnose", "--capture", &at(name)]).refused(&[why]);
    }
    let case = case("sandbox-flaps");
    let folder = case.folder.to_str().unwrap();
    for option in [
        &["--no-log"][..],
        &["--docker-host", "unix:///x"],
        &["--host-root", "/"],
    ] {
        let told = run(&[&["diagnose", "--capture", folder][..], option].concat());
        assert_eq!(told.code, 2, "{told:?}");
        assert!(told.err.contains("cannot be used with"), "{told:?}");
    }
    let saved = at("x.tar.gz");
    let told = run(&[
        "diagnose",
        "--capture",
        folder,
        "--now",
        "2026-11-30T05:48:31Z",
        "--save",
        &saved,
    ]);
    assert!(told.code < 2, "{told:?}");
    let again = run(&[
        "diagnose",
        "--capture",
        &saved,
        "--now",
        "2026-11-30T05:48:31Z",
    ]);
    again.refused(&["--now can't be given"]);
}
