//! Docker's files, read while a real daemon is killed, stopped, or its disk does not answer.

use crate::support::{
    daemon::{Daemon, Pod, SLEEP},
    fuse::Fuse,
    process::{self, own_folder, wait_until},
    program::{Told, container, findings, run},
};
use serde_json::{Value, json};
use std::{fs, os::unix::net::UnixListener, path::Path, time::Duration};

/// The whole program's time: each call's, the host's, the disk's, and a busy machine's.
const IN_TIME: Duration = Duration::from_secs(9);

/// Diagnoses; the report must come in time and keep to its schema.
#[track_caller]
fn diagnose(endpoint: &str, more: &[&str]) -> (Told, Value) {
    let common = [
        "diagnose",
        "--probe-timeout",
        "1500ms",
        "--format",
        "json",
        "--docker-host",
        endpoint,
    ];
    let told = run(&[&common, more].concat());
    assert!(told.took < IN_TIME, "{:?}", told.took);
    let report = told.report();
    crate::json::strictly(&report);
    (told, report)
}

#[track_caller]
fn finding<'a>(report: &'a Value, id: &str) -> &'a Value {
    let all = report["findings"].as_array().unwrap();
    let found = all.iter().find(|finding| finding["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {all:#?}"))
}

fn data(daemon: &Daemon) -> String {
    daemon.root().join("data").display().to_string()
}

#[test]
fn of_a_killed_daemon_its_files_name_containers_pods_and_errors_and_what_is_stale_is_told() {
    let daemon = Daemon::start();
    let pod = Pod::new("default", "web-2", 2);
    let sandbox = daemon.sandbox(&pod);
    let app = daemon.pod_container(&pod, "app", &sandbox, SLEEP);
    daemon.start_container(&app);
    let dead = daemon.dead("stuck", &json!({}));
    // Docker writes down why a removal failed with the next try.
    let again = daemon.api("DELETE", &format!("/containers/{dead}"), &Value::Null);
    assert_ne!(again.status, 204);
    let pid = daemon.inspect(&app)["State"]["Pid"].as_u64().unwrap();
    daemon.kill_dockerd();

    let root = data(&daemon);
    let args = ["--no-log", "--docker-root", &root];
    let (told, report) = diagnose(&daemon.endpoint(), &args);
    assert_eq!(told.code, 1);
    assert_eq!(findings(&report)[0], "runtime-down");
    let down = finding(&report, "runtime-down");
    let said = down["explanation"].as_str().unwrap();
    assert!(
        said.contains("2 of them running: all of these have their processes"),
        "{said}"
    );
    assert_eq!(
        down["confidence"], "suspected",
        "its files are its own word"
    );
    let found = finding(&report, "dead-container");
    assert_eq!(found["confidence"], "suspected");
    assert_eq!(found["subjects"][0]["id"], dead.as_str());
    let said = found["explanation"].as_str().unwrap();
    assert!(said.contains("operation not permitted"), "{said}");
    assert_eq!(report["runtime"]["containers"], 0, "none is listed");
    assert_eq!(report["runtime"]["disk"]["containers"], 3);
    for (id, kind) in [(&sandbox, "sandbox"), (&app, "container")] {
        let seen = container(&report, id);
        assert_eq!(
            (&seen["kind"], &seen["namespace"], &seen["pod"]),
            (&json!(kind), &json!("default"), &json!("web-2"))
        );
        assert_eq!(seen["probe"]["outcome"], "not_probed");
        assert_eq!(seen["inspected_state"], Value::Null, "nobody inspected it");
        assert_eq!(
            (&seen["disk"]["state"], &seen["disk"]["process"]),
            (&json!("running"), &json!("there"))
        );
    }
    assert_eq!(container(&report, &dead)["disk"]["state"], "dead");

    process::signal(u32::try_from(pid).unwrap(), "KILL");
    let stale = || {
        let (_, report) = diagnose(&daemon.endpoint(), &args);
        container(&report, &app)["disk"]["process"] == "gone"
    };
    assert!(wait_until(Duration::from_secs(20), stale));
    let text = run(&[
        &["diagnose", "--docker-host", &daemon.endpoint()],
        &args[..],
    ]
    .concat());
    assert!(text.out.contains("running, process gone"), "{}", text.out);
    assert!(text.out.contains("may be stale"), "{}", text.out);

    // Another than the usual Docker does not keep its files where the usual one does.
    let (_, report) = diagnose(&daemon.endpoint(), &["--no-log"]);
    assert_eq!(report["runtime"]["disk"], Value::Null);
    assert!(report["notes"].to_string().contains("--docker-root"));
    daemon.restart_dockerd();
}

#[test]
fn a_stopped_daemons_files_are_found_by_its_command_line() {
    let daemon = Daemon::start();
    let pod = Pod::new("prod", "db", 7);
    let sandbox = daemon.sandbox(&pod);
    let (_, report) = diagnose(&daemon.endpoint(), &["--no-log"]);
    assert_eq!(report["runtime"]["disk"], Value::Null, "it answers");
    daemon.freeze_dockerd();

    let (told, report) = diagnose(&daemon.endpoint(), &["--no-log"]);
    assert_eq!((told.code, findings(&report)[0]), (1, "frozen-daemon"));
    assert_eq!(report["runtime"]["disk"]["root"], data(&daemon).as_str());
    let seen = container(&report, &sandbox);
    assert_eq!(
        (&seen["pod"], &seen["disk"]["process"]),
        (&json!("db"), &json!("there"))
    );

    let (_, report) = diagnose(&daemon.endpoint(), &["--no-log", "--no-docker-files"]);
    assert_eq!(report["runtime"]["disk"], Value::Null);
    daemon.thaw_dockerd();
}

#[test]
fn a_hung_containers_bind_names_the_share_among_several() {
    let daemon = Daemon::start();
    let (served, share, other) = (
        daemon.root().join("served"),
        daemon.root().join("share"),
        daemon.root().join("other"),
    );
    for folder in [&served.join("data"), &share, &other] {
        fs::create_dir_all(folder).unwrap();
    }
    let hangs = Fuse::mount(&served, &share);
    let _answers = Fuse::mount(&served, &other);
    hangs.freeze();
    let bind = format!("{}/data:/data", share.display());
    let stuck = daemon.create_with_bind("db", &bind, SLEEP);
    daemon.start_without_waiting(&stuck);
    let is_found = || {
        let (_, report) = diagnose(&daemon.endpoint(), &["--no-log"]);
        findings(&report).contains(&"network-storage")
    };
    assert!(wait_until(Duration::from_secs(20), is_found));

    let (_, report) = diagnose(&daemon.endpoint(), &["--no-log"]);
    let found = finding(&report, "network-storage");
    let mounts: Vec<_> = found["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|subject| subject["kind"] == "mount")
        .map(|subject| subject["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(mounts, [share.display().to_string()], "{found:#}");
    let said = found["explanation"].as_str().unwrap();
    assert!(
        said.contains(&format!("{}/data of the host mounted", share.display())),
        "{said}"
    );
    let hung = finding(&report, "hung-container");
    let said = hung["explanation"].as_str().unwrap();
    assert!(said.contains("By Docker's files"), "{said}");

    hangs.thaw();
    daemon.wait_until_running(&stuck);
}

/// A socket at which nobody listens any more.
fn left_behind(folder: &Path) -> String {
    let socket = folder.join("docker.sock");
    drop(UnixListener::bind(&socket).unwrap());
    format!("unix://{}", socket.display())
}

#[test]
fn a_data_root_on_a_dead_disk_is_a_gap_in_time_and_nothing_is_left_behind() {
    let here = own_folder();
    let (served, root) = (here.path().join("served"), here.path().join("root"));
    fs::create_dir_all(served.join("containers")).unwrap();
    fs::create_dir_all(&root).unwrap();
    let disk = Fuse::mount(&served, &root);
    disk.freeze();

    let named = root.display().to_string();
    let (told, report) = diagnose(
        &left_behind(here.path()),
        &["--no-log", "--docker-root", &named],
    );
    let alone = || process::of(&root) == [disk.server()];
    let left = wait_until(Duration::from_secs(5), alone);
    drop(disk);

    assert_eq!((told.code, findings(&report)), (1, vec!["runtime-down"]));
    let gaps = report["gaps"].to_string();
    assert!(
        gaps.contains(&format!("Docker's files in {named}")),
        "{gaps}"
    );
    assert!(left, "a child of the program is left");
}

#[test]
fn the_log_of_a_kubelet_in_a_container_is_read_from_its_file_while_docker_is_dead() {
    let daemon = Daemon::start();
    let now = chrono::DateTime::parse_from_rfc3339(
        daemon.api("GET", "/info", &Value::Null).good()["SystemTime"]
            .as_str()
            .unwrap(),
    )
    .unwrap()
    .to_utc();
    let line = |message: &str| format!("E{}    2261 {message}", now.format("%m%d %H:%M:%S%.6f"));
    let refused = line(
        "remote_runtime.go:116] ListPodSandbox with filter nil from runtime service failed: rpc error: code = Unknown desc = Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
    );
    let say = format!("echo '{refused}' >&2");
    let id = daemon.exited_with("kubelet", &["/busybox", "sh", "-c", &say], false);
    daemon.kill_dockerd();

    let root = data(&daemon);
    let common = [
        "--docker-root",
        &root,
        "--utc-offset",
        "+00:00",
        "--no-host",
    ];
    for named in [&["--log-container", "kubelet"][..], &[]] {
        // A journal of this machine's would be picked first.
        let (told, report) = diagnose(&daemon.endpoint(), &[&common, named].concat());
        let down = finding(&report, "runtime-down");
        assert_eq!((told.code, &down["confidence"]), (1, &json!("confirmed")));
        let source = &report["log"]["sources"][0];
        assert_eq!(
            (&source["name"], &source["lines"]),
            (&json!("container kubelet"), &json!(1))
        );
        let file = format!("{root}/containers/{id}/{id}-json.log");
        assert!(
            report["notes"].to_string().contains(&file),
            "{}",
            report["notes"]
        );
    }
    let told = run(&[
        "diagnose",
        "--docker-host",
        &daemon.endpoint(),
        "--docker-root",
        &root,
        "--log-container",
        "kubelet2",
        "--no-host",
    ]);
    told.refused(&["container kubelet2", "Docker does not listen"]);
    daemon.restart_dockerd();
}

#[test]
fn the_log_of_a_kubelet_in_a_container_is_found_by_a_stopped_daemons_command_line_unless_its_driver_keeps_no_file()
 {
    let daemon = Daemon::start();
    let id = daemon.exited_with("kubelet", &["/busybox", "echo", "hello"], false);
    let wanted = json!({
        "Image": "private/busybox:1", "Entrypoint": ["/busybox", "echo", "hello"],
        "HostConfig": {"NetworkMode": "none", "LogConfig": {"Type": "local"}},
    });
    let path = "/containers/create?name=kubelet-local";
    daemon.api("POST", path, &wanted).good();
    daemon.freeze_dockerd();

    let endpoint = daemon.endpoint();
    let (_, report) = diagnose(&endpoint, &["--log-container", "kubelet"]);
    let source = &report["log"]["sources"][0];
    assert_eq!(source["lines"], 1, "{report:#}");
    let notes = report["notes"].to_string();
    let file = format!("{}/containers/{id}/{id}-json.log", data(&daemon));
    assert!(notes.contains(&file), "{notes}");
    assert!(notes.contains("Docker did not answer"), "{notes}");

    let args = ["--probe-timeout", "1500ms", "--docker-host", &endpoint];
    let named = ["diagnose", "--log-container", "kubelet-local"];
    let told = run(&[&named[..], &args].concat());
    told.refused(&["container kubelet-local", "its log driver is local"]);
    daemon.thaw_dockerd();
}
