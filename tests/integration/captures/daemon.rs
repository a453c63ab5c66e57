//! Captures of a real daemon, broken and whole.

use crate::support::{
    daemon::{Daemon, IMAGE, SLEEP},
    program,
};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read as _,
    path::Path,
    time::Duration,
};
use tempfile::TempDir;

/// Returns the files of an archive, below its one folder.
fn unpacked(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(path).unwrap()));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        assert_eq!(entry.header().mode().unwrap(), 0o600);
        let name = entry.path().unwrap().display().to_string();
        let (_, name) = name.split_once('/').unwrap();
        let (name, mut bytes) = (name.to_owned(), Vec::new());
        entry.read_to_end(&mut bytes).unwrap();
        files.insert(name, bytes);
    }
    files
}

#[test]
fn what_was_judged_of_a_hung_container_is_judged_the_same_elsewhere_byte_by_byte() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let hung = daemon.create("db", &json!({}), SLEEP);
    daemon.hang_start(&hung);
    let here = TempDir::new().unwrap();
    for format in ["text", "json"] {
        let saved = here.path().join(format!("{format}.tar.gz"));
        let saved = saved.to_str().unwrap();
        let endpoint = daemon.endpoint();
        let live = program::run(&[
            "diagnose",
            "--no-log",
            "--probe-timeout",
            "2s",
            "--docker-host",
            &endpoint,
            "--format",
            format,
            "--save",
            saved,
        ]);
        assert_eq!(live.code, 1, "{live:?}");
        assert!(live.out.contains(&hung[..12]), "{live:?}");
        let replayed = program::run(&["diagnose", "--format", format, "--capture", saved]);
        assert_eq!(replayed.out, live.out);
        assert_eq!(replayed.code, live.code);
    }
    daemon.unhang();
}

#[test]
fn a_collected_archive_holds_all_but_the_workloads_secrets() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let body = json!({
        "Image": IMAGE, "HostConfig": {"NetworkMode": "none"}, "StopSignal": "SIGKILL",
        "Entrypoint": ["/busybox", "sh"],
        "Cmd": ["-c", "/busybox sleep 100000; : SECRET_IN_COMMAND"],
        "Env": ["SECRET=SECRET_IN_ENVIRONMENT"],
        "Labels": {"mine": "SECRET_IN_LABEL", "io.kubernetes.pod.name": "web-2"},
    });
    let made = daemon
        .api("POST", "/containers/create?name=db", &body)
        .good();
    let id = made["Id"].as_str().unwrap().to_owned();
    daemon.start_container(&id);
    let here = TempDir::new().unwrap();
    let collect = |name: &str, more: &[&str]| {
        let path = here.path().join(name);
        let endpoint = daemon.endpoint();
        let mut words = vec!["collect", "--no-log", "--docker-host", &endpoint, "-o"];
        words.push(path.to_str().unwrap());
        words.extend(more);
        let told = program::run(&words);
        assert!(told.took < Duration::from_secs(30), "{told:?}");
        assert!(told.code < 2, "{told:?}");
        unpacked(&path)
    };
    let files = collect("reserved.tar.gz", &[]);
    for (name, bytes) in &files {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("SECRET_IN"), "{name}: {text}");
    }
    let manifest: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    assert_eq!(manifest["schema"], "plegdoctor.capture/1");
    let parts: Vec<_> = manifest["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["name"].as_str().unwrap())
        .collect();
    assert!(
        parts.contains(&"docker") && parts.contains(&"host"),
        "{parts:?}"
    );
    let inspect = format!("docker/inspect-{}.json", &id[..12]);
    for name in [
        "docker/index",
        "docker/containers.json",
        "docker/info.json",
        // Though nothing hangs.
        "docker/stacks.txt",
        &inspect,
        "host/proc/uptime",
        "host/proc/1/mountinfo",
        "host/proc/meminfo",
    ] {
        assert!(files.contains_key(name), "{name}");
    }
    let stacks = String::from_utf8_lossy(&files["docker/stacks.txt"]);
    assert!(stacks.starts_with("goroutine "), "{stacks}");
    // Asked for, they are there.
    let files = collect("all.tar.gz", &["--with-workloads"]);
    let inspected = String::from_utf8_lossy(&files[&inspect]);
    for secret in ["ENVIRONMENT", "COMMAND", "LABEL"] {
        let secret = format!("SECRET_IN_{secret}");
        assert!(inspected.contains(&secret), "{secret}: {inspected}");
    }
}

#[test]
fn of_a_daemon_that_answers_nothing_the_rest_is_saved_in_time() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    daemon.freeze_dockerd();
    let here = TempDir::new().unwrap();
    let path = here.path().join("x.tar.gz");
    let told = program::run(&[
        "collect",
        "--no-log",
        "--probe-timeout",
        "2s",
        "--docker-host",
        &daemon.endpoint(),
        "-o",
        path.to_str().unwrap(),
    ]);
    assert!(told.took < Duration::from_secs(15), "{told:?}");
    daemon.thaw_dockerd();
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.out.contains("ping: no answer in time"), "{told:?}");
    let report = program::run(&[
        "diagnose",
        "--format",
        "json",
        "--capture",
        path.to_str().unwrap(),
    ])
    .report();
    assert_eq!(report["findings"][0]["id"], "frozen-daemon");
    // Again by that name: refused before anything is asked.
    let again = program::run(&[
        "collect",
        "--no-log",
        "--no-docker",
        "-o",
        path.to_str().unwrap(),
    ]);
    again.refused(&["already exists"]);
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 1);
}
