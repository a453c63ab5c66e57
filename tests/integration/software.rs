//! The machine's programs, asked for real: their versions, and systemd's bus.

use crate::support::{daemon::Daemon, json, process::wait_until};
use serde_json::Value;
use std::{
    fs,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// The whole program's time: what is asked, and a busy machine's.
const IN_TIME: Duration = Duration::from_secs(15);

fn plegdoctor() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plegdoctor"));
    command
        .args(["diagnose", "--no-log", "--format", "json"])
        .env_clear();
    command
}

#[track_caller]
fn report(command: &mut Command) -> Value {
    let started = Instant::now();
    let run = command.output().unwrap();
    assert!(started.elapsed() < IN_TIME, "{:?}", started.elapsed());
    let told = String::from_utf8_lossy(&run.stderr);
    let report =
        serde_json::from_slice(&run.stdout).unwrap_or_else(|error| panic!("{error}: {told}"));
    json::validate(&json::schema("report"), &report, "diagnose");
    report
}

/// Returns what comes after `words` in what a program prints.
fn printed(program: &str, words: &str) -> String {
    let run = Command::new(program).arg("--version").output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let rest = &text[text.find(words).unwrap() + words.len()..];
    rest.split([' ', ',', '\n']).next().unwrap().to_owned()
}

/// Writes a program that leaves a mark if anybody runs it.
fn trap(folder: &Path, name: &str) {
    let program = folder.join(name);
    let mark = folder.join("mark");
    fs::write(
        &program,
        format!("#!/bin/sh\necho {name} >> {}\nsleep 97\n", mark.display()),
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn docker_and_its_programs_tell_their_versions_and_what_path_offers_is_not_run() {
    let daemon = Daemon::start();
    let here = tempfile::tempdir().unwrap();
    for name in [
        "dockerd",
        "containerd",
        "runc",
        "kubelet",
        "systemctl",
        "busctl",
    ] {
        trap(here.path(), name);
    }
    let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", here.path().display());
    let asked = ["--docker-host", &daemon.endpoint()];
    let report = report(plegdoctor().args(asked).env("PATH", path));
    let versions = &report["host"]["versions"];
    assert_eq!(versions["dockerd"], printed("dockerd", "Docker version "));
    assert_eq!(
        versions["containerd"],
        printed("containerd", "containerd/containerd ")
    );
    assert_eq!(versions["runc"], printed("runc", "runc version "));
    assert!(
        !here.path().join("mark").exists(),
        "{:?}",
        fs::read_to_string(here.path().join("mark"))
    );
}

/// Runs it where systemd seems to run, and the system's bus is this socket: in a mount namespace of its own.
fn with_bus(socket: &Path) -> Command {
    let script = "mount -t tmpfs none /run && mkdir -p /run/systemd/system /run/dbus && ln -s \"$0\" /run/dbus/system_bus_socket && exec \"$@\"";
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "private",
            "/bin/sh",
            "-c",
            script,
        ])
        .arg(socket)
        .arg(env!("CARGO_BIN_EXE_plegdoctor"))
        .args(["diagnose", "--no-log", "--no-docker", "--format", "json"]);
    command
}

/// Returns the processes whose command line holds that word.
fn running(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let words = entries.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    words.filter(|words| words.contains(word)).collect()
}

#[test]
fn a_bus_that_never_answers_is_told_in_time_and_who_asked_it_is_gone() {
    let here = tempfile::tempdir().unwrap();
    let socket = here.path().join("bus");
    // It takes connections and reads nothing.
    let _listener = UnixListener::bind(&socket).unwrap();
    let report = report(&mut with_bus(&socket));
    assert_eq!(
        report["host"]["systemd"]["outcome"], "timed_out",
        "{:#}",
        report["host"]["systemd"]
    );
    let findings = report["findings"].as_array().unwrap();
    let ids: Vec<_> = findings
        .iter()
        .filter_map(|finding| finding["id"].as_str())
        .collect();
    assert!(ids.contains(&"systemd-unresponsive"), "{ids:?}");
    assert_eq!(
        report["host"]["versions"]["systemd"].as_str().unwrap(),
        systemd()
    );
    let gone = || running("org.freedesktop.systemd1.Manager").is_empty();
    assert!(wait_until(Duration::from_secs(10), gone));
}

/// Returns systemd's version, as the distribution calls it.
fn systemd() -> String {
    let run = Command::new("systemctl").arg("--version").output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let (_, rest) = text.lines().next().unwrap().split_once('(').unwrap();
    rest.trim_end_matches(')').to_owned()
}

#[test]
fn a_bus_that_refuses_is_a_gap_and_one_that_is_not_there_a_note() {
    let here = tempfile::tempdir().unwrap();
    let socket = here.path().join("bus");
    let none = report(&mut with_bus(&socket));
    let says = |list: &Value| list.to_string().contains("D-Bus");
    assert!(
        says(&none["notes"]) && !says(&none["gaps"]),
        "{:#}",
        none["notes"]
    );
    drop(UnixListener::bind(&socket).unwrap());
    let refused = report(&mut with_bus(&socket));
    assert!(
        says(&refused["gaps"]) && !says(&refused["notes"]),
        "{:#}",
        refused["gaps"]
    );
    let all = [&none, &refused].map(|report| report["findings"].to_string());
    assert!(
        all.iter()
            .all(|found| !found.contains("systemd-unresponsive"))
    );
}

#[test]
fn a_program_that_others_than_root_may_write_is_not_become() {
    let here = tempfile::tempdir().unwrap();
    trap(here.path(), "dockerd");
    let program = here.path().join("dockerd");
    let run = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .args(["read", "program", "--"])
        .arg(&program)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(!here.path().join("mark").exists());
    let become_it = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .args(["read", "program", "--", "/bin/sh", "-c", "echo $0"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&become_it.stdout), "/bin/sh\n");
}
