//! `clean` on real containers of a private daemon. Each test has a daemon of its own.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

/// What is recorded, and that nothing is removed where it can't be.
mod audit;
/// Daemons that hang, die or are interrupted in the middle.
mod broken;
/// What the user is asked and told.
mod dialogue;
/// A daemon that is played.
mod played;
/// Changes between the plan and the removal, at every moment in turn.
mod races;

use crate::support::{
    daemon::{Daemon, Pod, SLEEP, TRUE},
    json::{schema, validate},
    process::wait_until,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

/// The output as promised: nothing more, nothing less.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clean {
    schema: String,
    dry_run: bool,
    planned: Vec<Planned>,
    results: Vec<Resulting>,
    removed: usize,
    failed: usize,
    left_alone: Vec<LeftAlone>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    id: String,
    name: String,
    pod: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    kind: String,
    state: String,
    since: Option<String>,
    loses_logs: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Resulting {
    id: String,
    name: String,
    pod: Option<String>,
    namespace: Option<String>,
    state: String,
    outcome: String,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeftAlone {
    id: String,
    name: String,
    pod: Option<String>,
    namespace: Option<String>,
    listed_state: String,
    reason: String,
}

impl Clean {
    /// Returns what became of a container; none if it was not planned.
    fn outcome(&self, id: &str) -> Option<&str> {
        let found = self.results.iter().find(|it| it.id == id)?;
        Some(&found.outcome)
    }

    /// Returns the reason told for a container.
    #[track_caller]
    fn reason(&self, id: &str) -> &str {
        let found = self.results.iter().find(|it| it.id == id).unwrap();
        found.reason.as_deref().unwrap()
    }

    /// Returns the ids planned, in order.
    fn ids(&self) -> Vec<&str> {
        self.planned.iter().map(|it| it.id.as_str()).collect()
    }
}

/// Returns the program with `clean`, an empty environment and no terminal.
fn command(endpoint: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plegdoctor"));
    command
        .env_clear()
        .args(["clean", "--docker-host", endpoint])
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs it for text, and returns the exit code, standard output and standard error.
fn text(endpoint: &str, args: &[&str]) -> (i32, String, String) {
    parts(&command(endpoint, args).output().unwrap())
}

fn parts(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Runs it for JSON, and returns the exit code and what it says.
#[track_caller]
fn clean(endpoint: &str, args: &[&str]) -> (i32, Clean) {
    let output = command(endpoint, args)
        .args(["--format", "json"])
        .output()
        .unwrap();
    read(&output)
}

/// Reads the JSON, after an independent look whether it keeps to the schema.
#[track_caller]
fn read(output: &Output) -> (i32, Clean) {
    let (code, out, err) = parts(output);
    let value: Value = serde_json::from_str(&out).unwrap();
    validate(&schema("clean"), &value, "clean");
    let clean: Clean = serde_json::from_value(value).unwrap();
    assert_eq!(clean.schema, "plegdoctor.clean/1");
    // Before anything is removed the plan is shown, also to who reads JSON from standard output.
    if clean.dry_run || clean.planned.is_empty() {
        assert_eq!(err, "", "{out}");
    } else {
        assert!(err.starts_with("To remove: "), "{err}{out}");
    }
    let planned = clean.planned.iter().map(|it| (&it.id, &it.name, &it.pod));
    let results = clean.results.iter().map(|it| (&it.id, &it.name, &it.pod));
    assert!(planned.eq(results), "{out}");
    let count = |outcome: &str| {
        let ended = clean.results.iter().filter(|it| it.outcome == outcome);
        ended.count()
    };
    assert_eq!(
        (clean.removed, clean.failed),
        (count("removed"), count("failed"))
    );
    (code, clean)
}

/// Makes a pod whose sandbox has stopped, and its stopped container; returns container and sandbox.
fn stopped_pod(daemon: &Daemon, pod: &Pod) -> (String, String) {
    let sandbox = daemon.sandbox(pod);
    let app = daemon.pod_container(pod, "app", &sandbox, TRUE);
    daemon.start_container(&app);
    daemon.wait_for(&app);
    daemon.kill_container(&sandbox);
    (app, sandbox)
}

#[test]
fn a_dead_container_stays_with_its_reason_and_goes_once_the_obstacle_is_gone() {
    let daemon = Daemon::start();
    let running = daemon.running("kubelet");
    let dead = daemon.dead("stuck", &json!({}));
    let endpoint = daemon.endpoint();

    let (code, cleaned) = clean(&endpoint, &["--dead", "--yes"]);
    assert_eq!((code, cleaned.ids()), (1, vec![dead.as_str()]));
    assert_eq!(cleaned.planned[0].state, "dead");
    assert_eq!(cleaned.outcome(&dead), Some("failed"));
    let reason = cleaned.reason(&dead);
    assert!(
        reason.starts_with("the kernel forbids deleting /var/tmp/pd."),
        "{reason}"
    );
    assert!(
        reason.contains("obstacle; perhaps an immutable file")
            && reason.contains("operation not permitted)"),
        "{reason}"
    );
    let (code, out, _) = text(&endpoint, &["--dead", "--yes"]);
    assert_eq!(code, 1);
    assert!(out.contains("Removed 0 of 1 container; 1 failed."), "{out}");

    // After a restart the list says what inspect has said all along.
    daemon.restart_dockerd();
    assert_eq!(clean(&endpoint, &["--dead", "--yes"]).0, 1);

    daemon.undead();
    let (code, cleaned) = clean(&endpoint, &["--dead", "--yes"]);
    assert_eq!((code, cleaned.outcome(&dead)), (0, Some("removed")));
    assert!(!daemon.exists(&dead));
    let (code, cleaned) = clean(&endpoint, &["--dead", "--yes"]);
    assert_eq!((code, cleaned.planned.len()), (0, 0));
    // The daemon took it down with itself; nobody removed it.
    assert!(daemon.exists(&running));
}

#[test]
fn dead_is_found_though_the_list_says_removing_and_a_filter_would_miss_it() {
    let daemon = Daemon::start();
    let dead = daemon.dead("stuck", &json!({"app": "batch"}));
    let list = daemon.api("GET", "/containers/json?all=1", &Value::Null);
    // Docker from 28.2 on says "dead" in the list as well.
    let listed = &list.good()[0]["State"];
    assert!(listed == "removing" || listed == "dead", "{listed}");
    let (code, cleaned) = clean(&daemon.endpoint(), &["--dead", "--dry-run"]);
    assert_eq!((code, cleaned.ids()), (0, vec![dead.as_str()]));
    assert!(cleaned.dry_run);
    assert_eq!(cleaned.outcome(&dead), Some("planned"));
    let other = ["--dead", "--dry-run", "--filter", "label=app=web"];
    assert_eq!(clean(&daemon.endpoint(), &other).1.ids(), [""; 0]);
}

#[test]
fn stopped_pods_go_and_living_ones_keep_their_last_run() {
    let daemon = Daemon::start();
    let endpoint = daemon.endpoint();
    let (gone_app, gone_sandbox) = stopped_pod(&daemon, &Pod::new("jobs", "batch-1", 1));
    let living = Pod::new("default", "web-2", 2);
    let sandbox = daemon.sandbox(&living);
    let last_run = daemon.pod_container(&living, "app", &sandbox, TRUE);
    daemon.start_container(&last_run);
    daemon.wait_for(&last_run);
    let serving = daemon.pod_container(&living, "web", &sandbox, SLEEP);
    daemon.start_container(&serving);
    let never = daemon.pod_container(&living, "init", &sandbox, TRUE);
    let kubelet = daemon.exited("kubelet", &json!({}));
    let paused = daemon.running("paused");
    daemon
        .api("POST", &format!("/containers/{paused}/pause"), &Value::Null)
        .good();

    let (code, cleaned) = clean(&endpoint, &["--exited", "--created", "--dead", "--yes"]);
    assert_eq!(code, 0);
    assert_eq!(cleaned.ids(), [&gone_app, &gone_sandbox]);
    assert_eq!((cleaned.removed, cleaned.failed), (2, 0));
    let [app, pause] = &cleaned.planned[..] else {
        panic!("{cleaned:?}")
    };
    assert_eq!((app.kind.as_str(), app.loses_logs), ("container", true));
    assert_eq!((pause.kind.as_str(), pause.loses_logs), ("sandbox", false));
    assert_eq!(app.pod.as_deref(), Some("batch-1"));
    assert_eq!(app.namespace.as_deref(), Some("jobs"));
    assert_eq!(
        app.uid.as_deref(),
        Some("00000000-0000-4000-8000-000000000001")
    );
    assert!(app.since.is_some() && app.state == "exited");
    for id in [&sandbox, &last_run, &serving, &never, &kubelet, &paused] {
        assert!(daemon.exists(id));
    }

    let request = ["--exited", "--include-live-pods", "--yes"];
    let (code, cleaned) = clean(&endpoint, &request);
    assert_eq!((code, cleaned.ids()), (0, vec![last_run.as_str()]));
    let (code, cleaned) = clean(&endpoint, &["--exited", "--include-non-pods", "--yes"]);
    assert_eq!((code, cleaned.ids()), (0, vec![kubelet.as_str()]));
    for id in [&sandbox, &serving, &paused] {
        assert_eq!(daemon.inspect(id)["State"]["Running"], true);
    }
    assert_eq!(daemon.inspect(&paused)["State"]["Paused"], true);
}

#[test]
fn what_runs_is_paused_or_restarts_is_never_planned() {
    let daemon = Daemon::start();
    let running = daemon.running("running");
    let paused = daemon.running("paused");
    daemon
        .api("POST", &format!("/containers/{paused}/pause"), &Value::Null)
        .good();
    let made = daemon.api(
        "POST",
        "/containers/create?name=crashing",
        &json!({"Image": "private/busybox:1", "Entrypoint": ["/busybox", "false"],
            "HostConfig": {"NetworkMode": "none", "RestartPolicy": {"Name": "always"}}}),
    );
    let restarting = made.good()["Id"].as_str().unwrap().to_owned();
    daemon.start_container(&restarting);
    let state = || daemon.inspect(&restarting)["State"]["Status"].take();
    assert!(wait_until(Duration::from_secs(20), || state() == "restarting"));
    let all = [
        "--dead",
        "--exited",
        "--created",
        "--include-live-pods",
        "--include-non-pods",
        "--yes",
    ];
    for _ in 0..10 {
        let (code, cleaned) = clean(&daemon.endpoint(), &all);
        assert_eq!((code, cleaned.ids()), (0, vec![]));
    }
    for id in [&running, &paused, &restarting] {
        assert!(daemon.exists(id));
    }
}

#[test]
fn containers_that_never_started_go_when_they_are_old() {
    let daemon = Daemon::start();
    let pod = Pod::new("default", "web-2", 2);
    let sandbox = daemon.sandbox(&pod);
    let old = daemon.pod_container(&pod, "old", &sandbox, TRUE);
    let fresh = daemon.pod_container(&pod, "fresh", &sandbox, TRUE);
    // What Docker stored is all that it knows of the past.
    let config = daemon
        .socket()
        .with_file_name("data")
        .join(format!("containers/{old}/config.v2.json"));
    daemon.kill_dockerd();
    let mut stored: Value =
        serde_json::from_str(&std::fs::read_to_string(&config).unwrap()).unwrap();
    stored["Created"] = "2026-01-02T03:04:05Z".into();
    std::fs::write(&config, stored.to_string()).unwrap();
    daemon.restart_dockerd();

    let endpoint = daemon.endpoint();
    let young = ["--created", "--older-than", "10000d", "--dry-run"];
    assert_eq!(clean(&endpoint, &young).1.ids(), [""; 0]);
    let until = ["--created", "--filter", "until=2026-01-01", "--dry-run"];
    assert_eq!(clean(&endpoint, &until).1.ids(), [""; 0]);
    let (code, cleaned) = clean(&endpoint, &["--created", "--yes"]);
    assert_eq!((code, cleaned.ids()), (0, vec![old.as_str()]));
    assert_eq!(
        cleaned.planned[0].since.as_deref(),
        Some("2026-01-02T03:04:05Z")
    );
    assert!(!cleaned.planned[0].loses_logs);
    assert!(daemon.exists(&fresh) && !daemon.exists(&old));
}

#[test]
fn a_sandbox_stays_while_one_of_its_containers_cannot_be_removed() {
    let daemon = Daemon::start();
    let pod = Pod::new("jobs", "batch-1", 1);
    let sandbox = daemon.sandbox(&pod);
    let labels = json!({
        "io.kubernetes.docker.type": "container", "io.kubernetes.container.name": "job",
        "io.kubernetes.pod.name": "batch-1", "io.kubernetes.pod.namespace": "jobs",
        "io.kubernetes.pod.uid": pod.uid, "io.kubernetes.sandbox.id": sandbox,
    });
    let dead = daemon.dead("stuck", &labels);
    daemon.kill_container(&sandbox);
    let endpoint = daemon.endpoint();
    let (code, cleaned) = clean(&endpoint, &["--dead", "--exited", "--yes"]);
    assert_eq!(
        (code, cleaned.ids()),
        (1, vec![dead.as_str(), sandbox.as_str()])
    );
    assert_eq!(cleaned.outcome(&dead), Some("failed"));
    assert_eq!(cleaned.outcome(&sandbox), Some("planned"));
    assert!(cleaned.reason(&sandbox).contains(&dead[..12]));
    daemon.undead();
    let (code, cleaned) = clean(&endpoint, &["--dead", "--exited", "--yes"]);
    assert_eq!((code, cleaned.removed), (0, 2));
}

#[test]
fn volumes_stay() {
    let daemon = Daemon::start();
    let made = daemon.api(
        "POST",
        "/containers/create?name=db",
        &json!({"Image": "private/busybox:1", "Entrypoint": TRUE, "Volumes": {"/data": {}},
            "HostConfig": {"NetworkMode": "none"}}),
    );
    let id = made.good()["Id"].as_str().unwrap().to_owned();
    daemon.start_container(&id);
    daemon.wait_for(&id);
    let volumes = || {
        let listed = daemon.api("GET", "/volumes", &Value::Null).good();
        listed["Volumes"].as_array().unwrap().len()
    };
    assert_eq!(volumes(), 1);
    let (code, cleaned) = clean(
        &daemon.endpoint(),
        &["--exited", "--include-non-pods", "--yes"],
    );
    assert_eq!((code, cleaned.outcome(&id)), (0, Some("removed")));
    assert_eq!(volumes(), 1);
}

#[test]
fn five_hundred_exited_containers_go_in_one_run() {
    const COUNT: u32 = 500;
    let daemon = Daemon::start();
    daemon.many_exited(COUNT);
    let running = daemon.running("kubelet");
    let began = Instant::now();
    let (code, cleaned) = clean(&daemon.endpoint(), &["--exited", "--yes"]);
    assert_eq!((code, cleaned.removed, cleaned.failed), (0, 500, 0));
    // A hang would take longer by far; a busy machine does not.
    assert!(began.elapsed() < Duration::from_secs(300));
    let left = daemon.api("GET", "/containers/json?all=1", &Value::Null);
    let left = left.good();
    assert_eq!(left.as_array().unwrap().len(), 1);
    assert_eq!(left[0]["Id"], running.as_str());
}
