//! The record of what was removed, and what happens where it can't be kept.

use super::{clean, text};
use crate::support::{
    daemon::Daemon,
    json::{schema, validate},
    proxy::{Pass, Proxy},
};
use serde_json::{Value, json};
use std::{
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let schema = schema("audit");
    text.lines()
        .map(|line| {
            let value = serde_json::from_str(line).unwrap();
            validate(&schema, &value, "audit");
            value
        })
        .collect()
}

#[test]
fn each_removal_has_its_intent_before_it_and_its_result_after_it() {
    let daemon = Daemon::start();
    daemon.many_exited(5);
    let dead = daemon.dead("stuck", &json!({}));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    // What stands in the file at the moment of each removal.
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (looks, looked_at) = (Arc::clone(&seen), file.clone());
    let proxy = Proxy::start(daemon.socket(), move |request| {
        if request.line.starts_with("DELETE") {
            let text = std::fs::read_to_string(&looked_at).unwrap_or_default();
            looks.lock().unwrap().push((request.line.clone(), text));
        }
        Pass::On
    });
    let request = [
        "--exited",
        "--dead",
        "--yes",
        "--audit",
        file.to_str().unwrap(),
    ];
    let (code, cleaned) = clean(&proxy.endpoint(), &request);
    assert_eq!((code, cleaned.removed, cleaned.failed), (1, 5, 1));
    assert_eq!(seen.lock().unwrap().len(), 6);
    for (line, text) in seen.lock().unwrap().iter() {
        let id = line.split(['/', '?']).nth(2).unwrap();
        let intent = text
            .lines()
            .any(|it| it.contains(id) && it.contains(r#""event":"intent""#));
        assert!(intent, "{line}\n{text}");
    }
    let lines = lines(&file);
    assert_eq!(lines.len(), 12);
    for result in &cleaned.results {
        let mine: Vec<_> = lines
            .iter()
            .filter(|it| it["id"] == result.id.as_str())
            .collect();
        let [intent, end] = mine[..] else {
            panic!("{mine:?}")
        };
        assert_eq!(
            (&intent["event"], &intent["outcome"]),
            (&json!("intent"), &Value::Null)
        );
        assert_eq!(
            (&end["event"], &end["outcome"]),
            (&json!("result"), &json!(result.outcome))
        );
        assert_eq!(end["reason"], json!(result.reason));
        assert_eq!(end["pod"], json!(result.pod));
        assert_eq!(end["namespace"], json!(result.namespace));
        assert_eq!(end["state"], json!(result.state));
        assert!(intent["time"].as_str() <= end["time"].as_str());
    }
    assert!(cleaned.reason(&dead).contains("immutable"));

    // A second run goes on below.
    daemon.undead();
    assert_eq!(clean(&daemon.endpoint(), &request).0, 0);
    assert_eq!(self::lines(&file).len(), 14);
}

#[test]
fn where_the_audit_cannot_be_written_nothing_is_removed() {
    let daemon = Daemon::start();
    daemon.many_exited(12);
    let proxy = Proxy::start(daemon.socket(), |_| Pass::On);
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let began = Instant::now();
    for (path, words) in [
        ("/dev/full", "No space left"),
        (fifo.to_str().unwrap(), "Invalid argument"),
    ] {
        let request = ["--exited", "--yes", "--audit", path];
        let (code, cleaned) = clean(&proxy.endpoint(), &request);
        assert_eq!((code, cleaned.removed), (1, 0));
        assert!(cleaned.failed > 0);
        for it in &cleaned.results {
            let reason = it.reason.as_ref().unwrap();
            match it.outcome.as_str() {
                "failed" => assert!(reason.contains(words), "{reason}"),
                "planned" => assert!(reason.starts_with("not sent: the audit"), "{reason}"),
                other => panic!("{other}"),
            }
        }
    }
    for path in [dir.path().to_str().unwrap(), "/no/such/folder/audit"] {
        let (code, out, err) = text(&proxy.endpoint(), &["--exited", "--yes", "--audit", path]);
        assert_eq!((code, out.as_str()), (2, ""));
        let start = format!("plegdoctor: can't open the audit file {path}: ");
        assert!(err.starts_with(&start), "{err}");
    }
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(proxy.removals(), [""; 0]);
}

#[test]
fn a_dry_run_writes_no_audit() {
    let daemon = Daemon::start();
    daemon.many_exited(1);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("audit.jsonl");
    let request = ["--exited", "--dry-run", "--audit", file.to_str().unwrap()];
    assert_eq!(clean(&daemon.endpoint(), &request).0, 0);
    assert!(!file.exists());
}
