//! The host, looked at while a real Docker daemon is broken: who holds it up is named.

use crate::support::{
    daemon::{Daemon, SLEEP},
    fuse::Fuse,
    json,
    process::{self, own_folder, wait_until},
};
use serde_json::{Value, json};
use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

/// The whole program's time: each call's, the host's, and a busy machine's.
pub(crate) const IN_TIME: Duration = Duration::from_secs(8);

/// Runs the program against a daemon and the machine; returns its report, which must come in time and be valid.
#[track_caller]
pub(crate) fn diagnose(daemon: &Daemon) -> Value {
    let started = Instant::now();
    let run = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .args([
            "diagnose",
            "--no-log",
            "--probe-timeout",
            "2s",
            "--format",
            "json",
        ])
        .args(["--docker-host", &daemon.endpoint()])
        .env_clear()
        .output()
        .unwrap();
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
    let report = serde_json::from_slice(&run.stdout).unwrap();
    json::validate(&json::schema("report"), &report, "diagnose");
    report
}

#[track_caller]
pub(crate) fn finding<'a>(report: &'a Value, id: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["id"] == id);
    found.unwrap_or_else(|| panic!("no {id} in {findings:#?}"))
}

pub(crate) fn commands(finding: &Value) -> Vec<&str> {
    let remedies = finding["remedies"].as_array().unwrap();
    remedies
        .iter()
        .map(|remedy| remedy["command"].as_str().unwrap())
        .collect()
}

#[test]
fn a_hung_start_names_the_wrapper_that_hangs_and_ending_it_heals() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let hung = daemon.create("db", &json!({}), SLEEP);
    daemon.hang_start(&hung);
    let pid = daemon.hung()[0];

    let report = diagnose(&daemon);
    let found = finding(&report, "hung-container");
    assert_eq!(found["subjects"][0]["id"], hung.as_str());
    assert_eq!(found["subjects"][1]["kind"], "process");
    assert_eq!(found["subjects"][1]["pid"], pid);
    assert!(
        commands(found).contains(&format!("kill {pid}").as_str()),
        "{found:#}"
    );

    process::signal(pid, "TERM");
    let answers = || {
        let report = diagnose(&daemon);
        let findings = report["findings"].as_array().unwrap();
        !findings
            .iter()
            .any(|finding| finding["id"] == "hung-container")
    };
    assert!(
        wait_until(Duration::from_secs(30), answers),
        "the container must answer again"
    );
}

#[test]
fn stopped_daemons_are_named_by_their_numbers_and_healthy_ones_are_not() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let pid = |name: &str| -> u32 {
        let file = daemon.root().join(name);
        fs::read_to_string(file).unwrap().trim().parse().unwrap()
    };
    let frozen = |report: &Value| -> Vec<u64> {
        let findings = report["findings"].as_array().unwrap().iter();
        findings
            .filter(|finding| finding["id"] == "frozen-daemon")
            .map(|finding| finding["subjects"][0]["pid"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(frozen(&diagnose(&daemon)), [0_u64; 0]);

    daemon.freeze_containerd();
    let report = diagnose(&daemon);
    let containerd = pid("x/containerd/containerd.pid");
    assert_eq!(frozen(&report), [u64::from(containerd)]);
    assert_eq!(report["findings"][0]["id"], "frozen-daemon");
    assert_eq!(report["findings"][0]["confidence"], "confirmed");
    daemon.thaw_containerd();

    daemon.freeze_dockerd();
    let report = diagnose(&daemon);
    let dockerd = pid("docker.pid");
    assert_eq!(frozen(&report), [u64::from(dockerd)]);
    let cont = format!("kill -CONT {dockerd}");
    assert!(
        commands(&report["findings"][0]).contains(&cont.as_str()),
        "{report:#}"
    );
    daemon.thaw_dockerd();

    assert_eq!(frozen(&diagnose(&daemon)), [0_u64; 0]);
}

/// A process's `stat`.
fn stat(pid: u32, comm: &str) -> String {
    format!("{pid} ({comm}) S 1 1 1 0 -1 4194560 1 1 0 0 1 1 0 0 20 0 1 0 5 1 1 1\n")
}

#[test]
fn a_process_that_hangs_whoever_reads_its_command_line_hides_no_other_and_costs_no_time() {
    let here = own_folder();
    let at = |path: &str| here.path().join(path);
    for folder in ["served", "mounted", "proc/1", "proc/7", "proc/8", "proc/9"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    let put = |path: &str, text: &str| fs::write(at(path), text).unwrap();
    put("proc/uptime", "500.00 900.00\n");
    put("proc/1/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
    // As in the kernel's own folder: what is below may hang.
    std::os::unix::fs::symlink("1", at("proc/self")).unwrap();
    for (pid, comm) in [(7, "dockerd"), (8, "containerd"), (9, "kubelet")] {
        put(&format!("proc/{pid}/stat"), &stat(pid, comm));
        put(
            &format!("proc/{pid}/cmdline"),
            &format!("/usr/bin/{comm}\0--x\0"),
        );
    }
    put("served/cmdline", "containerd\0");
    fs::remove_file(at("proc/8/cmdline")).unwrap();
    std::os::unix::fs::symlink(at("mounted/cmdline"), at("proc/8/cmdline")).unwrap();
    let disk = Fuse::mount(&at("served"), &at("mounted"));
    disk.freeze();

    let started = Instant::now();
    let run = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .args([
            "diagnose",
            "--no-log",
            "--no-docker",
            "--format",
            "json",
            "--host-root",
        ])
        .arg(here.path())
        .env_clear()
        .output();
    let took = started.elapsed();
    drop(disk);

    let report: Value = serde_json::from_slice(&run.unwrap().stdout).unwrap();
    assert!(took < IN_TIME, "{took:?}");
    let commands: Vec<_> = report["host"]["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|process| {
            (
                process["role"].as_str().unwrap(),
                process["command"][0].as_str(),
            )
        })
        .collect();
    assert_eq!(
        commands,
        [
            ("dockerd", Some("/usr/bin/dockerd")),
            ("containerd", None),
            ("kubelet", Some("/usr/bin/kubelet")),
        ]
    );
    let gaps = report["gaps"].to_string();
    assert!(gaps.contains("the command line of 1 process"), "{gaps}");
    assert!(
        gaps.contains("locked blocks every reader of its command line): 8"),
        "{gaps}"
    );
}

#[test]
fn a_start_that_waits_for_a_dead_file_system_accuses_its_server_and_names_the_thread() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let uid = "00000000-0000-4000-8000-000000000007";
    let (served, volume) = (
        daemon.root().join("served"),
        daemon
            .root()
            .join(format!("kubelet/pods/{uid}/volumes/x/data")),
    );
    fs::create_dir_all(&served).unwrap();
    fs::create_dir_all(&volume).unwrap();
    let disk = Fuse::mount(&served, &volume);
    disk.freeze();

    let stuck = daemon.create_with_bind("db", &format!("{}:/data", volume.display()), SLEEP);
    daemon.start_without_waiting(&stuck);
    let asleep = || {
        let report = diagnose(&daemon);
        let findings = report["findings"].as_array().unwrap();
        findings
            .iter()
            .any(|finding| finding["id"] == "network-storage")
    };
    assert!(wait_until(Duration::from_secs(20), asleep));
    let report = diagnose(&daemon);
    let found = &report["findings"][0];
    assert_eq!(found["id"], "network-storage", "{found:#}");
    assert_eq!(found["confidence"], "confirmed");
    let subjects = found["subjects"].as_array().unwrap();
    let has = |kind: &str, key: &str, value: Value| {
        subjects
            .iter()
            .any(|subject| subject["kind"] == kind && subject[key] == value)
    };
    assert!(has("mount", "uid", uid.into()), "{subjects:#?}");
    assert!(has("process", "name", "dockerd".into()), "{subjects:#?}");
    let hung = finding(&report, "hung-container");
    assert_eq!(hung["subjects"][0]["id"], stuck.as_str());
    assert!(
        !commands(hung)
            .iter()
            .any(|command| command.contains("kill")),
        "{hung:#}"
    );

    disk.thaw();
    daemon.wait_until_running(&stuck);
}
