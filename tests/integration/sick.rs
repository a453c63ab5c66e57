//! Ways in which an OCI runtime or a process hangs, each on a real daemon or kernel: the first finding is right, and
//! comes in time.

use crate::{
    host::{IN_TIME, commands, diagnose, finding},
    support::{
        daemon::{Daemon, SLEEP},
        fuse::Fuse,
        process::{own_folder, wait_until},
    },
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Returns the report once its first finding is `hung-container`: it is, as soon as the daemon waits.
#[track_caller]
fn hung(daemon: &Daemon, id: &str) -> Value {
    let mut report = Value::Null;
    let told = || {
        report = diagnose(daemon);
        report["findings"][0]["id"] == "hung-container"
    };
    assert!(wait_until(Duration::from_secs(20), told), "{report:#}");
    let found = finding(&report, "hung-container");
    assert_eq!(found["subjects"][0]["id"], id, "{found:#}");
    report
}

/// Checks that the one process that hangs is named with what it was called for, and nothing else is to be killed.
#[track_caller]
fn accused(daemon: &Daemon, report: &Value, action: &str) {
    let found = finding(report, "hung-container");
    let pid = daemon.hung()[0];
    assert_eq!(found["subjects"][1]["pid"], pid, "{found:#}");
    let kills: Vec<_> = commands(found)
        .into_iter()
        .filter(|command| command.contains("kill "))
        .collect();
    assert_eq!(kills, [format!("kill {pid}")], "{found:#}");
    let processes = report["host"]["processes"].as_array().unwrap();
    let process = processes.iter().find(|process| process["pid"] == pid);
    assert_eq!(process.unwrap()["oci_command"], action, "{processes:#?}");
}

#[test]
fn a_hang_between_create_and_start_accuses_the_runtime_that_starts() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let id = daemon.create("db", &json!({}), SLEEP);
    daemon.hang(
        &format!("start {id}"),
        &format!("/containers/{id}/start"),
        "",
    );
    let report = hung(&daemon, &id);
    accused(&daemon, &report, "start");
    daemon.unhang();
    daemon.wait_until_running(&id);
}

#[test]
fn a_kill_that_hangs_accuses_the_runtime_that_kills() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let id = daemon.running("db");
    daemon.hang(
        &format!("kill {id}"),
        &format!("/containers/{id}/stop?t=1"),
        "",
    );
    let report = hung(&daemon, &id);
    accused(&daemon, &report, "kill");
    daemon.unhang();
    daemon.wait_for(&id);
}

#[test]
fn an_exec_that_hangs_accuses_the_runtime_that_executes() {
    let daemon = Daemon::start();
    daemon.running("etcd");
    let id = daemon.running("db");
    let made = daemon.api(
        "POST",
        &format!("/containers/{id}/exec"),
        &json!({"Cmd": ["/busybox", "true"]}),
    );
    let exec = made.good()["Id"].as_str().unwrap().to_owned();
    daemon.hang("exec --process", &format!("/exec/{exec}/start"), "{}");
    let report = hung(&daemon, &id);
    accused(&daemon, &report, "exec");
    daemon.unhang();
}

/// A process that hangs whoever reads its command line, until its file system's server goes on.
struct Stuck {
    process: Child,
    disk: Fuse,
    _here: tempfile::TempDir,
}

impl Stuck {
    /// Starts it under that name.
    fn start(name: &str) -> Self {
        let here = own_folder();
        let (served, mounted) = (here.path().join("served"), here.path().join("mounted"));
        fs::create_dir(&served).unwrap();
        fs::create_dir(&mounted).unwrap();
        fs::write(served.join("file"), [0; 4096]).unwrap();
        let program = here.path().join(name);
        let source = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/integration/support/stuck.c"
        );
        run(Command::new("cc")
            .args(["-pthread", "-o"])
            .args([&program, Path::new(source)]));
        let disk = Fuse::mount(&served, &mounted);
        let mut process = Command::new(&program)
            .arg(mounted.join("file"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut word = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut word).unwrap();
        assert_eq!(word, "dirty\n");
        disk.freeze();
        process.stdin.take().unwrap().write_all(b"\n").unwrap();
        let stuck = Self {
            process,
            disk,
            _here: here,
        };
        assert!(
            wait_until(Duration::from_secs(10), || stuck.asleep() == 2),
            "two threads must hang"
        );
        stuck
    }

    /// Returns how many of its threads sleep where no signal reaches them.
    fn asleep(&self) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let stat = |task: fs::DirEntry| fs::read_to_string(task.path().join("stat")).unwrap();
        let stats = tasks.flatten().map(stat);
        stats.filter(|stat| stat.contains(") D ")).count()
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        // Its threads wait for the server; it ends once that goes on.
        self.disk.thaw();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[track_caller]
fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

#[test]
fn a_process_stuck_with_its_memory_locked_costs_its_words_and_nothing_else() {
    let stuck = Stuck::start("dockerd");
    let pid = stuck.process.id();
    // The premise: who reads its words hangs.
    let mut reader = Command::new("cat")
        .arg(format!("/proc/{pid}/cmdline"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    assert!(
        !wait_until(Duration::from_millis(500), || {
            reader.try_wait().unwrap().is_some()
        }),
        "reading the command line must hang"
    );

    let started = Instant::now();
    let run = Command::new(env!("CARGO_BIN_EXE_plegdoctor"))
        .args(["diagnose", "--no-log", "--no-docker", "--format", "json"])
        .env_clear()
        .output()
        .unwrap();
    let took = started.elapsed();
    drop(stuck);
    reader.wait().unwrap();

    assert!(took < IN_TIME, "{took:?}");
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    let gaps = report["gaps"].as_array().unwrap();
    let told = |gap: &Value| gap["why"].as_str().unwrap().contains(&pid.to_string());
    assert!(gaps.iter().any(told), "{gaps:#?}");
    let processes = report["host"]["processes"].as_array().unwrap();
    let own = processes.iter().find(|process| process["pid"] == pid);
    let own = own.unwrap();
    assert_eq!(own["role"], "dockerd", "{own:#}");
    assert_eq!(own["command"], Value::Null, "{own:#}");
    assert_eq!(own["threads"]["uninterruptible"], 2, "{own:#}");
}
