//! `diagnose --fix` on real daemons that are broken: what it does, what it shows for it, and what it leaves alone.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

/// Daemons that are stopped, and who holds them.
mod daemons;
/// What the user is asked and told on a terminal.
mod dialogue;
/// A mount that another mount namespace keeps.
mod mounts;
/// One process that keeps a container from answering.
mod processes;
/// Containers that can't be removed.
mod removals;
/// What is restarted, and what is not.
mod restarts;

use crate::{
    json,
    support::{
        daemon::Daemon,
        json::{schema, validate},
        program::{Told, plegdoctor, told},
    },
};
use serde_json::Value;
use std::{fs, path::PathBuf, process::Command};
use tempfile::TempDir;

/// A run's folder: where it is run, and leaves what it saves.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    /// Returns the arguments of `diagnose --fix` for a daemon, with a short wait where one is due.
    fn arguments(daemon: &Daemon, more: &[&str]) -> Vec<String> {
        let endpoint = daemon.endpoint();
        let mut words = vec!["diagnose", "--fix", "--no-log", "--probe-timeout", "2s"];
        // One that runs on this machine is not this daemon's.
        words.push("--no-kubelet");
        words.extend(["--settle", "2s", "--docker-host", &endpoint]);
        let has = |option: &str| more.contains(&option);
        if !has("--confirm-after") {
            words.extend(["--confirm-after", "2s"]);
        }
        words.extend(more);
        words.into_iter().map(str::to_owned).collect()
    }

    fn command(&self, daemon: &Daemon, more: &[&str]) -> Command {
        let mut command = plegdoctor(&Self::arguments(daemon, more));
        command.current_dir(self.folder.path());
        command
    }

    /// Runs it for people.
    fn text(&self, daemon: &Daemon, more: &[&str]) -> Told {
        told(&mut self.command(daemon, more))
    }

    /// Runs it for scripts; returns its exit code and its report, read strictly.
    #[track_caller]
    fn json(&self, daemon: &Daemon, more: &[&str]) -> (i32, Value) {
        let more = [more, &["--format", "json"]].concat();
        let told = self.text(daemon, &more);
        let report: Value = serde_json::from_str(&told.out).unwrap_or_else(|_| panic!("{told:?}"));
        validate(&schema("report"), &report, "fix");
        json::strictly(&report);
        (told.code, report)
    }

    /// Returns the lines of the audit, each valid by its schema; none if there is no file.
    #[track_caller]
    fn audit(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("plegdoctor-audit.jsonl"));
        let schema = schema("audit");
        text.unwrap_or_default()
            .lines()
            .map(|line| {
                let value = serde_json::from_str(line).unwrap();
                validate(&schema, &value, "audit");
                value
            })
            .collect()
    }

    /// Returns the files with evidence.
    fn evidence(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder.path()).unwrap().flatten();
        let mut found: Vec<_> = files.map(|entry| entry.path()).collect();
        // While it is being written it has another name.
        let whole = |name: &str| name.starts_with("plegdoctor-") && name.ends_with(".tar.gz");
        found.retain(|path| whole(path.file_name().unwrap().to_str().unwrap()));
        found
    }

    /// Fails if the run left anything.
    #[track_caller]
    fn is_empty(&self) {
        let left: Vec<_> = fs::read_dir(self.folder.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Returns the outcomes of a report's actions with what they do, in order.
fn outcomes(report: &Value) -> Vec<(&str, &str)> {
    let actions = report["actions"].as_array().unwrap();
    let word = |value: &'_ Value| -> &'static str { value.as_str().unwrap().to_owned().leak() };
    actions
        .iter()
        .map(|action| (word(&action["what"]), word(&action["outcome"])))
        .collect()
}

/// Returns whether there is such a finding that holds now.
fn has(report: &Value, id: &str) -> bool {
    let findings = report["findings"].as_array().unwrap();
    let found = |finding: &Value| finding["id"] == id && finding["active"] == true;
    findings.iter().any(found)
}

/// Returns all containers as `docker ps -a` shows them, but for what changes with time.
fn containers(daemon: &Daemon) -> Vec<(String, String)> {
    let listed = daemon
        .api("GET", "/containers/json?all=1", &Value::Null)
        .good();
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let mut all: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (word(&one["Id"]), word(&one["State"])))
        .collect();
    all.sort();
    all
}
