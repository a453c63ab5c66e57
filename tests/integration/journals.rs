//! Journals copied from another machine, read by the journalctl that this one has. Other tests play one.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Unpacks the journal of `worker-9` as a machine would have it. Returns the folder, and the file in it.
fn journal() -> (tempfile::TempDir, PathBuf) {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals/system.journal.zst");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("system.journal");
    let bytes = zstd::stream::decode_all(fs::File::open(packed).unwrap()).unwrap();
    fs::write(&file, bytes).unwrap();
    (dir, file)
}

/// Returns the exit code, the report, and what else was said.
fn diagnose(options: &[&str]) -> (i32, Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .args([
            "diagnose",
            "--no-docker",
            "--no-host",
            "--now",
            "2026-11-30T12:00:00Z",
        ])
        .args(["--format", "json"])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (
        output.status.code().unwrap(),
        serde_json::from_slice(&output.stdout).unwrap_or_default(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn gaps(report: &Value) -> Vec<&str> {
    let gaps = report["gaps"].as_array().unwrap();
    gaps.iter()
        .map(|gap| gap["why"].as_str().unwrap())
        .collect()
}

#[test]
fn a_journals_file_and_its_folder_are_read_alike() {
    let (dir, file) = journal();
    for from in [dir.path(), &file] {
        let (code, report, words) = diagnose(&["--journal-from", from.to_str().unwrap()]);
        assert_eq!(code, 1, "{words}{report:#}");
        let [source] = &report["log"]["sources"].as_array().unwrap()[..] else {
            panic!("{report:#}");
        };
        let name = format!("journal of kubelet.service in {}", from.display());
        assert_eq!(source["name"], name);
        assert_eq!(source["lines"], 14);
        assert_eq!(
            gaps(&report),
            ["Suppressed 124 messages from kubelet.service"]
        );
        let found = report["findings"].to_string();
        assert!(
            found.contains("pleg was last seen active 6m4.2s ago"),
            "{found}"
        );
    }
}

#[test]
fn a_journal_that_begins_too_late_is_a_gap() {
    let (_dir, file) = journal();
    let from = ["--journal-from", file.to_str().unwrap(), "--since"];
    let told = |since: &[&str]| {
        let (_, report, _) = diagnose(&[&from, since].concat());
        gaps(&report).join("; ")
    };
    assert_eq!(
        told(&["2026-11-30T08:00:00Z"]),
        "Suppressed 124 messages from kubelet.service; the journal begins at 2026-11-30 09:00:00 +00:00: earlier entries are gone (rotated away, or not kept over a restart)"
    );
    assert_eq!(
        told(&["2026-11-30T09:10:00Z"]),
        "Suppressed 124 messages from kubelet.service"
    );
    assert_eq!(told(&["2026-11-30T11:55:00Z"]), "");
}

#[test]
fn a_unit_that_a_journal_does_not_have_is_an_error_and_so_is_a_journal_that_is_not_there() {
    let (dir, file) = journal();
    let (code, _, words) = diagnose(&["--journal=k3s", "--journal-from", file.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(
        words.contains("k3s.service in ") && words.contains("it has no entries"),
        "{words}"
    );
    let nothing = dir.path().join("nothing.journal");
    let (code, _, words) = diagnose(&["--journal-from", nothing.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(words.contains("nothing.journal"), "{words}");
}

#[test]
fn a_journal_given_for_a_log_is_told_how_to_be_read() {
    let (_dir, file) = journal();
    let (code, _, words) = diagnose(&["--log", file.to_str().unwrap()]);
    assert_eq!(code, 2);
    let cure = format!(
        "it is a journald file: name it with --journal-from={}",
        file.display()
    );
    assert!(words.contains(&cure), "{words}");
}
