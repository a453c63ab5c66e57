//! Where the log comes from, through the program: standard input, files, a directory, a played journalctl.

use serde_json::Value;
use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

/// A kubelet that could not finish its relist.
const STALE: &str = "E1130 11:59:50.000000    2261 kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s\n";

/// The program at noon, with an emptied environment, asking no Docker, finding no journalctl.
fn plegdoctor(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plegdoctor"));
    command
        .env_clear()
        .args(["diagnose", "--no-docker", "--now", "2026-11-30T12:00:00Z"])
        .args(["--format", "json"])
        .args(options)
        .stdin(Stdio::null());
    command
}

/// Returns the exit code and the report; `Null` where there is none.
fn told(output: &Output) -> (i32, Value) {
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output.status.code().unwrap(), report)
}

fn piped(mut command: Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Writes an executable; through a shell, so that no test's child has it open for writing when it is run.
fn executable(path: &Path, text: &str) {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path);
    assert!(piped(shell, text.as_bytes()).status.success());
}

#[test]
fn standard_input_is_read_from_a_pipe_and_from_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log");
    fs::write(&file, STALE).unwrap();
    let from_file = plegdoctor(&["--log", "-"])
        .stdin(File::open(&file).unwrap())
        .output()
        .unwrap();
    for output in [
        piped(plegdoctor(&["--log", "-"]), STALE.as_bytes()),
        from_file,
    ] {
        let (code, report) = told(&output);
        assert_eq!(code, 1, "{}", words(&output));
        let source = &report["log"]["sources"][0];
        assert_eq!(source["name"], "standard input");
        assert_eq!(
            (&source["lines"], &source["bytes"]),
            (&1.into(), &STALE.len().into())
        );
    }
}

#[test]
fn a_pipe_that_is_given_twice_is_read_once_and_whole() {
    let lines = STALE.repeat(3000);
    for twice in [
        ["--log", "-", "--log", "-"],
        ["--log", "/dev/stdin", "--log", "-"],
    ] {
        let (_, report) = told(&piped(plegdoctor(&twice), lines.as_bytes()));
        let sources = report["log"]["sources"].as_array().unwrap();
        assert_eq!(sources.len(), 1);
        assert_eq!(sources[0]["bytes"], lines.len(), "{twice:?}");
    }
}

/// Packs with the system's own tool; `None` where it is not installed.
fn packed(tool: &str, options: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(tool);
    command.args(options).arg("-c").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{tool}");
    Some(output.stdout)
}

#[test]
fn what_the_systems_tools_compress_is_read_from_a_file_and_from_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kubelet.log");
    let log = STALE.repeat(1000);
    let mut tried = 0;
    for (tool, options) in [
        ("gzip", &["-9"][..]),
        ("xz", &["-6"]),
        ("xz", &["-9", "--check=sha256"]),
        ("zstd", &["-q", "-3"]),
        ("zstd", &["-q", "--long=27"]),
        ("bzip2", &["-9"]),
    ] {
        let Some(bytes) = packed(tool, options, log.as_bytes()) else {
            continue;
        };
        tried += 1;
        // Twice the same tool's, one after the other.
        let bytes = [bytes.clone(), bytes].concat();
        fs::write(&file, &bytes).unwrap();
        for output in [
            plegdoctor(&["--log", file.to_str().unwrap()])
                .output()
                .unwrap(),
            piped(plegdoctor(&["--log", "-"]), &bytes),
        ] {
            let (code, report) = told(&output);
            assert_eq!(code, 1, "{tool}: {}", words(&output));
            assert_eq!(report["log"]["sources"][0]["lines"], 2000, "{tool}");
            assert_eq!(report["gaps"].as_array().unwrap().len(), 0, "{tool}");
        }
    }
    assert!(tried > 0, "gzip at least is on every system");
}

#[test]
fn a_window_that_is_too_large_is_refused_with_the_command_that_unpacks_it() {
    let options = ["-q", "--long=28", "--single-thread"];
    let Some(bytes) = packed("zstd", &options, STALE.as_bytes()) else {
        return;
    };
    let output = piped(plegdoctor(&["--log", "-"]), &bytes);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        words(&output).contains("zstd -dc --long=31 FILE | plegdoctor diagnose --log -"),
        "{}",
        words(&output)
    );
}

#[test]
fn nothing_on_standard_input_answers_no_question() {
    let (code, report) = told(&plegdoctor(&["--log", "-"]).output().unwrap());
    assert_eq!((code, &report["verdict"]), (2, &"unknown".into()));
    assert_eq!(report["gaps"][0]["why"], "it is empty");
}

#[test]
fn a_log_that_cannot_be_read_is_one_line_on_standard_error() {
    for (path, cure) in [
        ("/nonexistent/kubelet.log", "let plegdoctor look for it"),
        ("/proc/self/fdinfo", "name a file with --log"),
    ] {
        let output = plegdoctor(&["--log", path]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        let words = words(&output);
        assert!(
            words.starts_with(&format!("plegdoctor: can't read {path}: ")),
            "{words}"
        );
        assert!(
            words.contains(cure) && words.matches('\n').count() == 1,
            "{words}"
        );
    }
}

#[test]
fn the_journal_is_asked_of_the_journalctl_on_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let line = STALE.trim_end();
    executable(
        &dir.path().join("journalctl"),
        &format!("#!/bin/sh\necho '2026-11-30T11:59:50+0000 worker-3 kubelet[2261]: {line}'\n"),
    );
    for options in [&[][..], &["--journal"], &["--journal=kubelet.service"]] {
        let output = plegdoctor(options)
            .env("PATH", dir.path())
            .output()
            .unwrap();
        let (code, report) = told(&output);
        assert_eq!(code, 1, "{}", words(&output));
        assert_eq!(
            report["log"]["sources"][0]["name"],
            "journal of kubelet.service"
        );
    }
}

#[test]
fn no_journalctl_where_it_is_asked_for_is_an_error() {
    let output = plegdoctor(&["--journal"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        words(&output).contains("there is no journalctl here"),
        "{}",
        words(&output)
    );
}

#[test]
fn a_log_for_others_eyes_names_who_may_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret");
    fs::create_dir(&secret).unwrap();
    let file = secret.join("kubelet.log");
    fs::write(&file, STALE).unwrap();
    let reached = Command::new("chmod")
        .arg("700")
        .arg(&secret)
        .status()
        .unwrap();
    assert!(reached.success());
    // As root: as nobody. As anybody else: what that user may not read, either.
    let root =
        fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    let mut command = Command::new("setpriv");
    if root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    } else {
        assert!(
            Command::new("chmod")
                .arg("000")
                .arg(&file)
                .status()
                .unwrap()
                .success()
        );
    }
    // Nobody may not enter the build's directory.
    let program = dir.path().join("plegdoctor");
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_plegdoctor"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    assert!(
        Command::new("chmod")
            .arg("755")
            .arg(dir.path())
            .arg(&program)
            .status()
            .unwrap()
            .success()
    );
    let output = command
        .arg(&program)
        .args(["diagnose", "--no-docker", "--log"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = words(&output);
    assert!(
        words.contains("Permission denied") && words.contains("run plegdoctor as root"),
        "{words}"
    );
}
