//! The program, run as a script would: an emptied environment, no terminal, nothing on standard input.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use super::json::{schema, validate};
use serde_json::Value;
use std::{
    ffi::OsStr,
    io::Write as _,
    process::{Command, Output, Stdio},
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};

/// The schema of the report.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| schema("report"));

/// What the program did.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

/// Returns the program with these arguments.
pub(crate) fn plegdoctor<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plegdoctor"));
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it.
pub(crate) fn run<S: AsRef<OsStr>>(args: &[S]) -> Told {
    told(&mut plegdoctor(args))
}

/// Runs it with that on standard input.
pub(crate) fn fed(args: &[&str], input: &[u8]) -> Told {
    fed_to(&mut plegdoctor(args), input)
}

/// Runs a prepared command with that on standard input.
pub(crate) fn fed_to(command: &mut Command, input: &[u8]) -> Told {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        // Who does not read to the end closes the pipe; that is then what the test sees.
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    Told::new(output, started.elapsed())
}

/// Runs a prepared command.
pub(crate) fn told(command: &mut Command) -> Told {
    let started = Instant::now();
    let output = command.output().unwrap();
    Told::new(output, started.elapsed())
}

impl Told {
    fn new(output: Output, took: Duration) -> Self {
        Self {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
            took,
        }
    }

    /// Returns the JSON report, after an independent look whether it keeps to its schema.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        assert_eq!(self.err, "", "{self:?}");
        let value = serde_json::from_str(&self.out).unwrap();
        validate(&SCHEMA, &value, "report");
        value
    }

    /// Fails unless the program refused to work: exit code 2, nothing on standard output, and one line of its own
    /// that holds each of `words`.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{self:?}");
        assert!(self.err.starts_with("plegdoctor: "), "{self:?}");
        assert_eq!(self.err.matches('\n').count(), 1, "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?}: {self:?}");
        }
    }
}

/// Returns the ids of a report's findings, in order.
pub(crate) fn findings(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().unwrap();
    findings
        .iter()
        .map(|finding| finding["id"].as_str().unwrap())
        .collect()
}

/// Runs `diagnose` on a Docker and this machine, without a log, and returns its report, whatever that says.
pub(crate) fn judged(endpoint: &str) -> Value {
    let args = ["diagnose", "--no-log", "--format", "json", "--docker-host"];
    let told = run(&[&args[..], &[endpoint]].concat());
    serde_json::from_str(&told.out).unwrap()
}

/// Returns the container of that id in a report.
#[track_caller]
pub(crate) fn container<'a>(report: &'a Value, id: &str) -> &'a Value {
    let mut containers = report["containers"].as_array().unwrap().iter();
    containers
        .find(|container| container["id"] == id)
        .unwrap_or_else(|| panic!("{id} is not in {report:#}"))
}
