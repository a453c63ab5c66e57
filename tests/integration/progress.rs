//! How far reading a log is: shown on a terminal, to whom it takes longer than a second, and nowhere else.

use crate::{
    cli::{files, log_of, stale, text},
    support::{
        process::wait_until,
        program::{plegdoctor, told},
    },
};
use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    sync::mpsc::channel,
    thread::{self, JoinHandle, sleep},
    time::Duration,
};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_plegdoctor");
const SHOWN: &str = "reading the log: ";
const DIAGNOSE: &str = "diagnose --no-docker --no-host --now 2026-11-30T12:00:00Z --log";

/// Returns a command that runs the line on a terminal of its own.
fn terminal(line: &str) -> Command {
    let mut command = Command::new("script");
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("TERM", "xterm")
        .args(["-qec", line, "/dev/null"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// Returns all that is shown on a terminal.
fn shown(line: &str) -> String {
    String::from_utf8(terminal(line).output().unwrap().stdout).unwrap()
}

/// Returns a pipe in a folder of its own; who opens it gets some lines at once and the end after seconds.
fn slow() -> (TempDir, PathBuf, JoinHandle<()>) {
    let dir = files(&[]);
    let path = dir.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    let to = path.clone();
    let writing = thread::spawn(move || {
        let mut pipe = File::options().write(true).open(to).unwrap();
        pipe.write_all(stale("11:59:50").repeat(1000).as_bytes())
            .unwrap();
        sleep(Duration::from_millis(2500));
    });
    (dir, path, writing)
}

#[test]
fn of_a_file_it_tells_bytes_speed_and_time_left() {
    let dir = files(&[]);
    let log = dir.path().join("kubelet.log");
    // Without any block on the disk, and more than is read in seconds.
    File::create(&log).unwrap().set_len(64 << 30).unwrap();
    let mut child = terminal(&format!("{PROGRAM} {DIAGNOSE} {}", log.display()))
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let (to, parts) = channel();
    thread::spawn(move || {
        let mut part = [0; 4096];
        while let Ok(read @ 1..) = out.read(&mut part) {
            if to.send(part[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut seen = Vec::new();
    let told = wait_until(Duration::from_secs(60), || {
        seen.extend(parts.try_iter().flatten());
        let seen = String::from_utf8_lossy(&seen);
        let words = seen.rsplit(SHOWN).next().unwrap();
        words.contains(" of 64.00 GiB, ") && words.contains("iB/s, ") && words.contains(" left")
    });
    // The terminal goes with its program, and the program with its terminal.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(told, "{}", String::from_utf8_lossy(&seen));
}

#[test]
fn of_a_pipe_it_tells_bytes_and_is_gone_before_the_report() {
    let (_dir, pipe, writing) = slow();
    let shown = shown(&format!("{PROGRAM} {DIAGNOSE} {}", pipe.display()));
    writing.join().unwrap();
    let last = shown.rfind(SHOWN).unwrap();
    let cleared = last + shown[last..].find("\x1b[2K").unwrap();
    let words = &shown[last..cleared];
    assert!(
        words.contains("KiB/s") && !words.contains(" of "),
        "{shown:?}"
    );
    let report = shown.find("NOT READY").unwrap();
    assert!(last < cleared && cleared < report, "{shown:?}");
}

#[test]
fn collect_tells_it_beside_what_else_it_does() {
    let (dir, pipe, writing) = slow();
    let saved = dir.path().join("saved.tar.gz");
    let shown = shown(&format!(
        "{PROGRAM} collect --no-docker --no-host -o {} --log {}",
        saved.display(),
        pipe.display()
    ));
    writing.join().unwrap();
    assert!(
        shown.contains(SHOWN) && shown.contains("KiB/s"),
        "{shown:?}"
    );
    assert!(saved.exists());
}

#[test]
fn events_show_it_only_where_they_themselves_do_not() {
    let (dir, pipe, writing) = slow();
    let out = dir.path().join("out");
    let beside = shown(&format!(
        "{PROGRAM} events --log {} >{}",
        pipe.display(),
        out.display()
    ));
    writing.join().unwrap();
    assert!(beside.contains(SHOWN), "{beside:?}");
    let given = fs::read_to_string(out).unwrap();
    assert_eq!(
        given
            .lines()
            .filter(|line| line.starts_with("{\"schema\":"))
            .count(),
        2000
    );
    assert_eq!(given.lines().count(), 2000);

    let (_dir, pipe, writing) = slow();
    let among = shown(&format!("{PROGRAM} events --log {}", pipe.display()));
    writing.join().unwrap();
    assert!(among.contains("pleg-stale") && !among.contains(SHOWN));
}

#[test]
fn a_pipe_for_standard_error_and_a_quick_log_see_nothing_of_it() {
    let (_dir, pipe, writing) = slow();
    let args: Vec<&str> = DIAGNOSE.split(' ').collect();
    let told = told(&mut plegdoctor(&[&args[..], &[text(&pipe)]].concat()));
    writing.join().unwrap();
    assert_eq!((told.code, told.err.as_str()), (1, ""));
    assert!(told.took > Duration::from_secs(2));

    let log = log_of("sandbox-flaps");
    let quick = shown(&format!("{PROGRAM} {DIAGNOSE} {}", log.display()));
    assert!(
        quick.contains("hung-container") && !quick.contains(SHOWN),
        "{quick:?}"
    );
}
