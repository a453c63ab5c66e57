//! Stopped daemons go on; one that a debugger holds is the debugger's.

use super::{Place, has, outcomes};
use crate::support::{
    daemon::Daemon,
    process::{self, wait_until},
};
use serde_json::json;
use std::{
    fs,
    process::{Command, Stdio},
    time::Duration,
};

const ALL: [&str; 3] = ["--yes", "--max-risk", "disruptive"];

fn pid(daemon: &Daemon, file: &str) -> u32 {
    let text = fs::read_to_string(daemon.root().join(file)).unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn stopped_daemons_go_on_and_answer() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let place = Place::new();

    daemon.freeze_dockerd();
    let (code, report) = place.json(&daemon, &ALL);
    assert_eq!(
        (code, outcomes(&report)),
        (0, vec![("continue-daemon", "done")]),
        "{report:#}"
    );
    let action = &report["actions"][0];
    assert_eq!(action["target"]["pid"], pid(&daemon, "docker.pid"));
    let proof = action["proof"].as_str().unwrap();
    assert!(proof.starts_with("ping answered "), "{proof}");
    // The log knows nothing of a trouble that was so short.
    assert_eq!(report["verdict"], "recovered");
    let summary = report["summary"].as_str().unwrap();
    assert!(
        summary.starts_with("Recovered at ") && summary.contains(". Previously: dockerd"),
        "{summary}"
    );
    assert!(!has(&report, "frozen-daemon") && !has(&report, "hung-runtime"));

    daemon.freeze_containerd();
    let (code, report) = place.json(&daemon, &[&ALL[..], &["--no-collect"]].concat());
    assert_eq!(
        (code, outcomes(&report)),
        (0, vec![("continue-daemon", "done")]),
        "{report:#}"
    );
    let containerd = pid(&daemon, "x/containerd/containerd.pid");
    assert_eq!(report["actions"][0]["target"]["pid"], containerd);

    // A second audit's lines go below the first's.
    let audit = place.audit();
    let told: Vec<_> = audit
        .iter()
        .map(|line| (&line["event"], &line["outcome"]))
        .collect();
    let (intent, done) = (
        (&json!("intent"), &json!(null)),
        (&json!("result"), &json!("done")),
    );
    assert_eq!(told, [intent, done, intent, done]);
    assert_eq!(place.evidence().len(), 1);
}

#[test]
fn a_daemon_that_a_debugger_holds_is_not_touched() {
    let daemon = Daemon::start();
    let place = Place::new();
    let dockerd = pid(&daemon, "docker.pid");
    let status = || fs::read_to_string(format!("/proc/{dockerd}/status")).unwrap();
    let mut tracer = Command::new("strace")
        .args([
            "-qq",
            "-e",
            "trace=none",
            "-e",
            "signal=none",
            "-p",
            &dockerd.to_string(),
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let traced = || status().contains(&format!("TracerPid:\t{}\n", tracer.id()));
    assert!(wait_until(Duration::from_secs(10), traced));
    // Stopped by a signal while it is traced.
    process::signal(dockerd, "STOP");
    let stopped = || {
        ["State:\tt", "State:\tT"]
            .iter()
            .any(|state| status().contains(state))
    };
    assert!(wait_until(Duration::from_secs(10), stopped));

    let (code, report) = place.json(&daemon, &ALL);
    let still = stopped();
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    process::signal(dockerd, "CONT");
    assert!(still);
    assert_eq!((code, outcomes(&report)), (1, vec![]), "{report:#}");
    assert!(has(&report, "frozen-daemon"), "{report:#}");
    place.is_empty();
}
