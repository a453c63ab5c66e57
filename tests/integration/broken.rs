//! `diagnose` as a whole on a real daemon: well, with a dead container, with a start that hangs, frozen, killed.

use crate::{
    json,
    support::{
        daemon::{Daemon, Pod, SLEEP},
        program::{Told, container, findings, run},
    },
};
use chrono::{DateTime, FixedOffset, TimeDelta};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};

/// Short, so that what hangs costs little; long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_millis(1500);
/// How much longer than two rounds of calls a run may take.
const SLACK: Duration = Duration::from_secs(2);

/// Diagnoses with the daemon, and reads the report strictly.
#[track_caller]
fn diagnose(daemon: &Daemon, log: &[&str]) -> (Told, Value) {
    let (endpoint, timeout) = (daemon.endpoint(), format!("{}ms", TIMEOUT.as_millis()));
    let common = [
        "diagnose",
        // Other tests break daemons on the same machine meanwhile.
        "--no-host",
        "--format",
        "json",
        "--docker-host",
        &endpoint,
        "--probe-timeout",
        &timeout,
        "--utc-offset",
        "+00:00",
    ];
    let told = run(&[&common, log].concat());
    assert!(told.took < TIMEOUT * 2 + SLACK, "{:?}", told.took);
    let report = told.report();
    json::strictly(&report);
    (told, report)
}

/// Fails unless the report is about exactly these findings.
#[track_caller]
fn expect(told: &Told, report: &Value, code: i32, verdict: &str, ids: &[&str]) {
    assert_eq!(
        (told.code, report["verdict"].as_str(), findings(report)),
        (code, Some(verdict), ids.to_vec()),
        "{report:#}"
    );
}

#[track_caller]
fn outcome<'a>(report: &'a Value, call: &str) -> &'a str {
    report["runtime"]["probes"][call]["outcome"]
        .as_str()
        .unwrap()
}

/// Returns the present by the daemon's clock.
fn now(daemon: &Daemon) -> DateTime<FixedOffset> {
    let told = daemon.api("GET", "/info", &Value::Null).good();
    let time = told["SystemTime"].as_str().unwrap();
    DateTime::parse_from_rfc3339(time)
        .unwrap()
        .to_utc()
        .fixed_offset()
}

/// Returns a line as klog writes it, so many seconds ago.
pub(crate) fn line(daemon: &Daemon, ago: i64, level: char, message: &str) -> String {
    let at = now(daemon) - TimeDelta::seconds(ago);
    format!(
        "{level}{}    2261 {message}\n",
        at.format("%m%d %H:%M:%S%.6f")
    )
}

fn ready(daemon: &Daemon, ago: i64) -> String {
    let message = "kubelet_node_status.go:531] Recording NodeReady event message for node worker-3";
    line(daemon, ago, 'I', message)
}

/// Writes a log beside the daemon, and returns its path.
fn log(daemon: &Daemon, lines: &[String]) -> String {
    let path = daemon.root().join("kubelet.log");
    fs::write(&path, lines.concat()).unwrap();
    path.display().to_string()
}

#[test]
fn a_daemon_is_found_well_then_partly_hung_then_hung_then_down() {
    let daemon = Daemon::start();
    let pod = Pod::new("default", "web-2", 2);
    let sandbox = daemon.sandbox(&pod);
    let etcd = daemon.running("etcd");

    // Log and daemon are well.
    let path = log(&daemon, &[ready(&daemon, 2)]);
    let (told, report) = diagnose(&daemon, &["--log", &path]);
    expect(&told, &report, 0, "healthy", &[]);
    assert_eq!(
        (&report["gaps"], &report["incidents"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(report["runtime"]["containers"], 2);
    let version = daemon.api("GET", "/version", &Value::Null).good();
    assert_eq!(report["runtime"]["version"], version["Version"]);
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 0, "healthy", &[]);

    // The kubelet runs as a container, as on Rancher's nodes.
    let stale = line(
        &daemon,
        1,
        'E',
        "kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s",
    );
    let say = format!(
        "echo '{}'; echo '{}' >&2",
        ready(&daemon, 200).trim_end(),
        stale.trim_end()
    );
    daemon.exited_with("kubelet", &["/busybox", "sh", "-c", &say], false);
    let (told, report) = diagnose(&daemon, &["--log-container", "kubelet"]);
    expect(&told, &report, 1, "problem", &["pleg-unexplained"]);
    let source = &report["log"]["sources"][0];
    assert_eq!(
        (&source["name"], &source["lines"]),
        (&json!("container kubelet"), &json!(2))
    );
    assert_eq!(report["log"]["events"]["pleg-stale"], 1);

    // Without containerd, dockerd answers only what it knows by itself.
    daemon.freeze_containerd();
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 1, "problem", &["hung-runtime"]);
    let first = &report["findings"][0];
    assert_eq!(
        (&first["subjects"][0]["name"], &first["active"]),
        (&json!("containerd"), &json!(true))
    );
    assert_eq!(first["confidence"], "suspected", "one source");
    assert!(
        first["explanation"]
            .as_str()
            .unwrap()
            .contains("containerd"),
        "{first:#}"
    );
    let outcomes = ["ping", "list", "version", "info"].map(|call| outcome(&report, call));
    assert_eq!(outcomes, ["answered", "answered", "timed_out", "timed_out"]);
    assert_eq!(report["runtime"]["containers"], 3);
    daemon.thaw_containerd();

    // Stopped, dockerd takes connections and says nothing.
    daemon.freeze_dockerd();
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 1, "problem", &["hung-runtime"]);
    assert_eq!(report["findings"][0]["subjects"][0]["name"], "dockerd");
    for call in ["ping", "list", "version", "info"] {
        assert_eq!(outcome(&report, call), "timed_out", "{call}");
    }
    daemon.thaw_dockerd();
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 0, "healthy", &[]);
    for id in [&sandbox, &etcd] {
        assert_eq!(
            daemon.inspect(id)["State"]["Running"],
            true,
            "looking harms nothing"
        );
    }

    // Killed, it leaves its socket behind.
    daemon.kill_dockerd();
    assert!(daemon.socket().exists());
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 1, "problem", &["runtime-down"]);
    assert_eq!(outcome(&report, "ping"), "refused");
    let first = &report["findings"][0];
    assert_eq!(
        (&first["severity"], &first["confidence"]),
        (&json!("critical"), &json!("suspected"))
    );
    // The log that was read before says nothing of it: the daemon does.
    let (told, report) = diagnose(&daemon, &["--log", &path]);
    expect(&told, &report, 1, "problem", &["runtime-down"]);
    daemon.restart_dockerd();
}

#[test]
fn a_dead_container_is_named_with_its_states_and_reason_until_it_is_gone() {
    let daemon = Daemon::start();
    let endpoint = daemon.endpoint();
    let dead = daemon.dead("stuck", &json!({}));
    let clean = || run(&["clean", "--dead", "--yes", "--docker-host", &endpoint]);

    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 1, "problem", &["dead-container"]);
    let finding = &report["findings"][0];
    assert_eq!(finding["subjects"][0]["id"], dead.as_str());
    assert_eq!(
        (&finding["severity"], &finding["active"]),
        (&json!("warning"), &json!(true))
    );
    let seen = container(&report, &dead);
    // Docker from 28.2 on says "dead" in the list as well.
    let listed = &seen["listed_state"];
    assert!(listed == "removing" || listed == "dead", "{listed}");
    assert_eq!(seen["inspected_state"], "dead");
    let error = seen["error"].as_str().unwrap();
    assert!(error.contains("operation not permitted"), "{error}");
    let said = finding["explanation"].as_str().unwrap();
    assert!(said.contains("operation not permitted"), "{said}");
    let remedies = finding["remedies"].to_string();
    assert!(remedies.contains("plegdoctor clean --dead"), "{remedies}");
    assert_eq!(finding["confidence"], "suspected", "Docker's word alone");

    // The file system shows it as well; what other tests break meanwhile is seen there, too.
    let told = run(&[
        "diagnose",
        "--no-log",
        "--format",
        "json",
        "--docker-host",
        &endpoint,
    ]);
    let seen: Value = serde_json::from_str(&told.out).unwrap();
    let mut findings = seen["findings"].as_array().unwrap().iter();
    let finding = findings.find(|it| it["id"] == "dead-container").unwrap();
    assert_eq!(finding["confidence"], "confirmed", "{finding}");
    let layers = &seen["host"]["layers_left"];
    assert_eq!(layers[0]["names"], json!(["diff"]), "{layers}");
    assert_eq!(layers[0]["half_removed"], true, "{layers}");
    assert_eq!(report["incidents"], json!([]), "no cause of a lag");

    let told = clean();
    assert_eq!((told.code, told.err.as_str()), (1, ""), "{told:?}");
    assert!(told.out.contains("an immutable file"), "{told:?}");

    daemon.restart_dockerd();
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 1, "problem", &["dead-container"]);
    let seen = container(&report, &dead);
    assert_eq!(
        (&seen["listed_state"], &seen["inspected_state"]),
        (&json!("dead"), &json!("dead"))
    );
    assert_eq!(clean().code, 1);

    daemon.undead();
    let told = clean();
    assert_eq!((told.code, told.err.as_str()), (0, ""), "{told:?}");
    assert!(!daemon.exists(&dead));
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 0, "healthy", &[]);
}

#[test]
fn a_start_that_hangs_is_suspected_then_confirmed_then_over() {
    let daemon = Daemon::start();
    let pod = Pod::new("prod", "payments-db-node-1", 1);
    let sandbox = daemon.sandbox(&pod);
    let hung = daemon.pod_container(&pod, "db", &sandbox, SLEEP);
    let other = daemon.exited("etcd", &json!({}));
    daemon.hang_start(&hung);
    let calm = ready(&daemon, 300);

    // An ordinary start holds the lock for a while, too.
    let path = log(&daemon, std::slice::from_ref(&calm));
    let (told, report) = diagnose(&daemon, &["--log", &path]);
    expect(&told, &report, 1, "problem", &["hung-container"]);
    let first = &report["findings"][0];
    assert_eq!(
        (&first["severity"], &first["confidence"]),
        (&json!("warning"), &json!("suspected"))
    );
    let subject = &first["subjects"][0];
    assert_eq!(
        (&subject["kind"], &subject["id"]),
        (&json!("container"), &json!(hung))
    );
    assert_eq!(
        (&subject["namespace"], &subject["pod"]),
        (&json!("prod"), &json!(pod.name))
    );
    assert_eq!(container(&report, &hung)["probe"]["outcome"], "timed_out");
    assert_eq!(container(&report, &hung)["listed_state"], "created");

    // The kubelet's calls for it time out as well.
    let deadline = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
    let status = format!(
        "remote_runtime.go:332] ContainerStatus \"{hung}\" from runtime service failed: {deadline}"
    );
    let Pod {
        name,
        namespace,
        uid,
    } = &pod;
    let of_pod = format!(
        "kuberuntime_manager.go:980] getPodContainerStatuses for pod \"{name}_{namespace}({uid})\" failed: {deadline}"
    );
    let mut lines = vec![
        calm,
        line(&daemon, 20, 'E', &status),
        line(&daemon, 20, 'E', &of_pod),
    ];
    let path = log(&daemon, &lines);
    let (told, report) = diagnose(&daemon, &["--log", &path]);
    expect(&told, &report, 1, "problem", &["hung-container"]);
    let first = &report["findings"][0];
    assert_eq!(
        (&first["severity"], &first["confidence"]),
        (&json!("critical"), &json!("confirmed"))
    );
    assert_eq!(first["subjects"][0]["id"], hung.as_str());
    let cited: Vec<_> = first["citations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["line"])
        .collect();
    assert!(cited.contains(&&json!(2)), "{first:#}");
    assert!(cited.contains(&&Value::Null), "and the inspect: {first:#}");
    assert_eq!(report["gaps"], json!([]), "all others could be inspected");
    for container in report["containers"].as_array().unwrap() {
        let expected = if container["id"] == hung.as_str() {
            "timed_out"
        } else {
            "answered"
        };
        assert_eq!(container["probe"]["outcome"], expected, "{container:#}");
    }
    for call in ["ping", "list", "version", "info"] {
        assert_eq!(outcome(&report, call), "answered", "{call}");
    }
    assert_eq!(daemon.inspect(&other)["State"]["Status"], "exited");

    daemon.unhang();
    daemon.wait_until_running(&hung);
    lines.push(ready(&daemon, 1));
    let path = log(&daemon, &lines);
    let (told, report) = diagnose(&daemon, &["--log", &path]);
    expect(&told, &report, 0, "recovered", &["hung-container"]);
    assert_eq!(report["findings"][0]["active"], false);
    assert_eq!(report["findings"][0]["remedies"], json!([]));
}

#[test]
fn five_hundred_stopped_containers_that_answer_at_once_are_no_finding() {
    let daemon = Daemon::start();
    daemon.pile(500);
    let started = Instant::now();
    let (told, report) = diagnose(&daemon, &["--no-log"]);
    expect(&told, &report, 0, "healthy", &[]);
    assert_eq!(report["runtime"]["containers"], 500);
    assert!(started.elapsed() < Duration::from_secs(15));
}
