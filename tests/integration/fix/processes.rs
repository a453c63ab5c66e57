//! A start that hangs in the OCI runtime: its one process is ended, or nothing is.

use super::{Place, containers, has, outcomes};
use crate::{
    broken::line,
    support::{
        daemon::{Daemon, SLEEP},
        process::{self, wait_until},
        program::{plegdoctor, told},
    },
};
use chrono::{DateTime, TimeDelta};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::Write as _,
    process::Child,
    thread,
    time::Duration,
};

/// A daemon with one container that runs and one whose start hangs; returns the ids and the process that hangs.
fn hung(daemon: &Daemon) -> (String, String, u32) {
    let etcd = daemon.running("etcd");
    let db = daemon.create("db", &json!({}), SLEEP);
    daemon.hang_start(&db);
    let mut hung = fs::read_dir(daemon.root().join("hung")).unwrap().flatten();
    let pid = hung.next().unwrap().file_name();
    (etcd, db, pid.to_str().unwrap().parse().unwrap())
}

fn is_there(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Starts a run that waits for whether the inspect is answered: it has saved the evidence by then.
fn waiting(place: &Place, daemon: &Daemon) -> Child {
    let wait = [
        "--yes",
        "--max-risk",
        "disruptive",
        "--confirm-after",
        "99s",
    ];
    let args = [&wait[..], &["--format", "json"]].concat();
    let child = place.command(daemon, &args).spawn().unwrap();
    let saved = || !place.evidence().is_empty();
    assert!(wait_until(Duration::from_secs(30), saved));
    thread::sleep(Duration::from_secs(1));
    child
}

#[test]
fn the_one_process_is_ended_the_open_inspect_answers_and_nothing_else_differs() {
    let daemon = Daemon::start();
    let (etcd, db, pid) = hung(&daemon);
    let before = containers(&daemon);
    let place = Place::new();
    let (code, report) = place.json(&daemon, &["--yes", "--max-risk", "disruptive"]);

    assert!(!is_there(pid));
    assert!(!has(&report, "hung-container"), "{report:#}");
    assert_eq!(outcomes(&report), [("end-process", "done")], "{report:#}");
    assert_eq!(code, 0, "{report:#}");
    let action = &report["actions"][0];
    let target = &action["target"];
    assert_eq!(
        (&target["pid"], &target["container"]),
        (&json!(pid), &json!(db))
    );
    assert_eq!(
        (&action["finding"], &action["risk"], &action["asked"]),
        (
            &json!("hung-container"),
            &json!("disruptive"),
            &json!("option")
        )
    );
    let proof = action["proof"].as_str().unwrap();
    assert!(
        proof.starts_with(&format!("inspect of {} answered ", &db[..12])),
        "{proof}"
    );
    assert!(proof.ends_with(" after the kill"), "{proof}");
    let seen = action["before"].as_str().unwrap();
    assert!(seen.contains("unanswered for 2"), "{seen}");

    let state = |id: &str| daemon.inspect(id)["State"]["Status"].clone();
    assert_eq!(
        (state(&etcd), state(&db)),
        (json!("running"), json!("created"))
    );
    assert_eq!(containers(&daemon), before, "nobody else was touched");

    let audit = place.audit();
    let events: Vec<_> = audit.iter().map(|line| &line["event"]).collect();
    assert_eq!(events, ["intent", "result"]);
    for line in &audit {
        assert_eq!(
            (&line["action"], &line["pid"]),
            (&json!("end-process"), &json!(pid))
        );
        assert_eq!(line["id"], db.as_str());
    }
    assert_eq!(
        (&audit[1]["outcome"], &audit[1]["proof"]),
        (&json!("done"), &json!(proof))
    );
    // The evidence is from before: it shows the hang.
    let [evidence] = &place.evidence()[..] else {
        panic!("{:?}", place.evidence())
    };
    let replayed = told(plegdoctor(&["diagnose", "--format", "json", "--capture"]).arg(evidence));
    assert!(has(&replayed.report(), "hung-container"), "{replayed:?}");
}

#[test]
fn what_only_looks_or_may_not_cost_that_much_ends_nothing() {
    let daemon = Daemon::start();
    let (_, _, pid) = hung(&daemon);
    let place = Place::new();
    let (code, report) = place.json(&daemon, &["--yes"]);
    assert_eq!(
        (code, outcomes(&report)),
        (1, vec![("end-process", "above_risk")])
    );

    let (code, report) = place.json(&daemon, &["--dry-run"]);
    assert_eq!(
        (code, outcomes(&report)),
        (1, vec![("end-process", "planned")])
    );

    let told = place.text(&daemon, &["--dry-run", "--max-risk", "safe"]);
    assert_eq!((told.code, told.err.as_str()), (1, ""));
    assert!(
        told.out.contains("not done: above --max-risk"),
        "{}",
        told.out
    );

    // Nobody to ask.
    let told = place.text(&daemon, &[]);
    assert_eq!(told.code, 2, "{told:?}");
    assert!(
        told.err
            .starts_with("plegdoctor: nothing was changed: no terminal"),
        "{told:?}"
    );
    assert!(
        told.err.contains("--yes") && told.err.contains("--dry-run"),
        "{told:?}"
    );

    assert!(is_there(pid));
    place.is_empty();
}

#[test]
fn a_hang_that_ends_by_itself_while_the_inspect_is_open_costs_nobody_anything() {
    let daemon = Daemon::start();
    let (_, db, pid) = hung(&daemon);
    let place = Place::new();
    let child = waiting(&place, &daemon);
    assert!(is_there(pid));
    daemon.unhang();
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let code = output.status.code().unwrap();
    assert_eq!(
        (code, outcomes(&report)),
        (0, vec![("end-process", "not_needed")])
    );
    let why = report["actions"][0]["reason"].as_str().unwrap();
    assert!(why.contains("without help"), "{why}");
    assert!(place.audit().is_empty(), "nothing was about to be done");
    daemon.wait_until_running(&db);
}

#[test]
fn an_interrupt_while_the_inspect_is_open_ends_the_run_and_nothing_else() {
    let daemon = Daemon::start();
    let (_, _, pid) = hung(&daemon);
    let place = Place::new();
    let child = waiting(&place, &daemon);
    process::signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcomes(&report), [("end-process", "interrupted")]);
    assert!(
        report["notes"].to_string().contains("interrupted"),
        "{report:#}"
    );
    assert!(is_there(pid));
    assert!(place.audit().is_empty());
}

#[test]
fn where_evidence_or_audit_cannot_be_written_nothing_is_done() {
    let daemon = Daemon::start();
    let (_, _, pid) = hung(&daemon);
    let place = Place::new();
    let all = ["--yes", "--max-risk", "disruptive"];
    for (more, words) in [
        (
            &["--collect-to", "/no/such/folder/evidence"][..],
            "evidence can't be saved",
        ),
        (
            &["--no-collect", "--audit", "/no/such/folder/audit"],
            "can't open the audit file",
        ),
    ] {
        let told = place.text(&daemon, &[&all[..], more].concat());
        assert_eq!(told.code, 2, "{told:?}");
        assert!(
            told.err.starts_with("plegdoctor: nothing was changed"),
            "{told:?}"
        );
        assert!(told.err.contains(words), "{told:?}");
    }
    // It can be opened, and not written.
    let full = [&all[..], &["--no-collect", "--audit", "/dev/full"]].concat();
    let (code, report) = place.json(&daemon, &full);
    assert_eq!(
        (code, outcomes(&report)),
        (1, vec![("end-process", "failed")])
    );
    assert!(is_there(pid));
    place.is_empty();
}

#[test]
fn a_kubelet_that_is_well_again_after_the_kill_is_told_with_the_proof() {
    let daemon = Daemon::start();
    let (_, db, pid) = hung(&daemon);
    let place = Place::new();
    let log = daemon.root().join("kubelet.log");
    let append = |text: &str| {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    append(&line(
        &daemon,
        1,
        'E',
        &format!(
            "remote_runtime.go:332] ContainerStatus \"{db}\" from runtime service failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded"
        ),
    ));
    append(&line(
        &daemon,
        0,
        'I',
        "setters.go:577] Node became not ready: {Type:Ready Status:False Reason:KubeletNotReady Message:PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s}",
    ));
    let endpoint = daemon.endpoint();
    let mut command = plegdoctor(&[
        "diagnose",
        "--fix",
        "--yes",
        "--max-risk",
        "disruptive",
        "--confirm-after",
        "2s",
        "--no-kubelet",
        "--probe-timeout",
        "2s",
        "--utc-offset",
        "+00:00",
        "--format",
        "json",
        "--docker-host",
        &endpoint,
        "--log",
    ]);
    command.arg(&log).current_dir(place.folder.path());
    let child = command.spawn().unwrap();
    assert!(wait_until(Duration::from_secs(30), || !is_there(pid)));
    // Well after the first look that follows: what is still told as NotReady is looked at again.
    thread::sleep(Duration::from_secs(3));
    append(&line(
        &daemon,
        0,
        'I',
        "kubelet_node_status.go:531] Recording NodeReady event message for node worker-3",
    ));
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{report:#}");
    assert_eq!(outcomes(&report), [("end-process", "done")]);
    let proof = report["actions"][0]["proof"].as_str().unwrap();
    let relist = "; the kubelet's log shows the relist active ";
    assert!(
        proof.contains(" after the kill") && proof.contains(relist),
        "{proof}"
    );
}

#[test]
fn several_hung_containers_are_waited_for_at_the_same_time() {
    let daemon = Daemon::start();
    let etcd = daemon.running("etcd");
    let all: Vec<_> = (1..=4)
        .map(|number| daemon.create(&format!("db-{number}"), &json!({}), SLEEP))
        .collect();
    for id in &all {
        daemon.hang_start(id);
    }
    let place = Place::new();
    let wait = ["--confirm-after", "6s"];
    let (code, report) = place.json(
        &daemon,
        &[&["--yes", "--max-risk", "disruptive"][..], &wait].concat(),
    );
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(outcomes(&report), [("end-process", "done"); 4]);
    let time = |action: &Value, key: &str| {
        DateTime::parse_from_rfc3339(action[key].as_str().unwrap()).unwrap()
    };
    // The first has waited for all.
    for action in &report["actions"].as_array().unwrap()[1..] {
        let waited = time(action, "acted") - time(action, "started");
        assert!(waited < TimeDelta::seconds(6), "{waited}");
    }
    for id in &all {
        assert_eq!(daemon.inspect(id)["State"]["Status"], "created");
    }
    assert_eq!(daemon.inspect(&etcd)["State"]["Status"], "running");
}

#[test]
fn a_closed_pipe_does_not_pass_for_a_node_that_was_healed() {
    let daemon = Daemon::start();
    let (_, _, pid) = hung(&daemon);
    let place = Place::new();
    let mut command = place.command(&daemon, &["--yes", "--max-risk", "disruptive"]);
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(is_there(pid));
    place.is_empty();
}
