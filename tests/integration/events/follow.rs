//! A log that is written to, rotated and truncated while it is read; a journal; and every way in which it ends.

use super::{events, files, ids, plegdoctor, stale, text};
use crate::support::{
    process::{signal, wait_until},
    program::run,
};
use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

/// How long a busy machine may need for what takes a second.
const IN_TIME: Duration = Duration::from_secs(20);

/// A run that goes on, and the lines that it prints.
struct Running {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

/// Returns the lines that come.
pub(super) fn lines(from: impl io::Read + Send + 'static) -> Receiver<String> {
    let (to, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            if to.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    lines
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        Self {
            out: lines(child.stdout.take().unwrap()),
            err: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    fn of(path: &Path) -> Self {
        let args = ["events", "--follow", "--log", text(path)];
        Self::start(&mut plegdoctor(&[&args[..], &super::NOW].concat()))
    }

    /// Returns the minute and line of the next line's events: a stale line gives two.
    #[track_caller]
    fn next(&self) -> (String, u64) {
        let two: Vec<String> = (0..2)
            .map(|_| self.out.recv_timeout(IN_TIME).unwrap())
            .collect();
        let given = events(&format!("{}\n{}\n", two[0], two[1]));
        assert_eq!(ids(&given), ["skip-sync", "pleg-stale"]);
        let time = given[1]["time"].as_str().unwrap();
        (
            time[14..16].to_owned(),
            given[1]["line"].as_u64().unwrap_or_default(),
        )
    }

    /// Returns whether nothing more comes for a second.
    fn is_silent(&self) -> bool {
        self.out.recv_timeout(Duration::from_secs(1)).is_err()
    }

    fn stop(mut self, with: &str) -> (ExitStatus, Vec<String>) {
        signal(self.child.id(), with);
        self.end()
    }

    #[track_caller]
    fn end(&mut self) -> (ExitStatus, Vec<String>) {
        assert!(wait_until(IN_TIME, || self
            .child
            .try_wait()
            .unwrap()
            .is_some()));
        (self.child.wait().unwrap(), self.err.iter().collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn append(path: &Path, words: &str) {
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    file.write_all(words.as_bytes()).unwrap();
}

#[test]
fn what_is_there_comes_first_and_what_is_written_later_within_about_a_second() {
    let dir = files(&[("kubelet.log", stale(1).as_bytes())]);
    let log = dir.path().join("kubelet.log");
    let running = Running::of(&log);
    assert_eq!(running.next(), ("01".to_owned(), 1));
    let mut took = Vec::new();
    for minute in 2..7 {
        append(&log, &stale(minute));
        let written = Instant::now();
        assert_eq!(running.next(), (format!("{minute:02}"), minute.into()));
        took.push(written.elapsed());
    }
    // The best of five: a busy machine may stop any one of them.
    assert!(
        took.iter().min().unwrap() < &Duration::from_millis(1200),
        "{took:?}"
    );
    let (status, err) = running.stop("TERM");
    assert_eq!((status.code(), err), (Some(0), vec![]));
}

#[test]
fn a_line_that_is_written_in_two_halves_is_one() {
    let dir = files(&[("kubelet.log", b"")]);
    let log = dir.path().join("kubelet.log");
    let running = Running::of(&log);
    let line = stale(1);
    append(&log, &line[..90]);
    assert!(running.is_silent());
    append(&log, &line[90..]);
    assert_eq!(running.next(), ("01".to_owned(), 1));
    assert!(running.is_silent());
    let (status, err) = running.stop("INT");
    assert_eq!((status.code(), err), (Some(0), vec![]));
}

#[test]
fn a_file_that_is_not_there_yet_is_waited_for_and_a_rotation_by_renaming_loses_nothing() {
    let dir = files(&[]);
    let log = dir.path().join("kubelet.log");
    let running = Running::of(&log);
    let told = running.err.recv_timeout(IN_TIME).unwrap();
    assert_eq!(
        told,
        format!(
            "plegdoctor: {}: it does not exist yet: waiting for it",
            log.display()
        )
    );
    append(&log, &stale(1));
    assert_eq!(running.next(), ("01".to_owned(), 1));
    for round in 0..3 {
        let old = dir.path().join(format!("kubelet.log.{round}"));
        let base = 10 * round;
        append(&log, &stale(base + 2));
        fs::rename(&log, &old).unwrap();
        // Its writer goes on with it, whether there is a new one or not.
        append(&old, &stale(base + 3));
        File::create(&log).unwrap();
        append(&old, &stale(base + 4));
        for (minute, line) in [(2, 2), (3, 3), (4, 4)] {
            assert_eq!(running.next(), (format!("{:02}", base + minute), line));
        }
        append(&log, &stale(base + 5));
        assert_eq!(running.next(), (format!("{:02}", base + 5), 1));
    }
    // The first file of all is gone, and nobody made a new one: what it gets is still read.
    let gone = File::options().append(true).open(&log).unwrap();
    fs::remove_file(&log).unwrap();
    (&gone).write_all(stale(59).as_bytes()).unwrap();
    assert_eq!(running.next(), ("59".to_owned(), 2));
    let (status, err) = running.stop("TERM");
    assert_eq!((status.code(), err), (Some(0), vec![]));
}

#[test]
fn rotations_that_are_faster_than_the_looks_lose_nothing_and_repeat_nothing() {
    let dir = files(&[
        ("kubelet.log", stale(10).as_bytes()),
        ("kubelet.log.1", stale(9).as_bytes()),
        ("kubelet.log.2.gz", b"\x1f\x8b\x08"),
    ]);
    let at = |name: &str| dir.path().join(name);
    let running = Running::of(&at("kubelet.log"));
    assert_eq!(running.next(), ("10".to_owned(), 1));
    let rotate = |minute: u8| {
        // As logrotate does: the oldest first; the new log is another file.
        for number in (1..5).rev() {
            let _ = fs::rename(
                at(&format!("kubelet.log.{number}")),
                at(&format!("kubelet.log.{}", number + 1)),
            );
        }
        fs::rename(at("kubelet.log"), at("kubelet.log.1")).unwrap();
        append(&at("kubelet.log"), &stale(minute));
    };
    // What somebody copied is no rotation.
    fs::copy(at("kubelet.log"), at("kubelet.log-20261130")).unwrap();
    for minute in 11..14 {
        rotate(minute);
    }
    for minute in 11..14 {
        assert_eq!(running.next(), (minute.to_string(), 1));
    }
    // It goes on with the last one.
    append(&at("kubelet.log"), &stale(14));
    assert_eq!(running.next(), ("14".to_owned(), 2));
    rotate(15);
    assert_eq!(running.next(), ("15".to_owned(), 1));
    assert!(running.is_silent());
    let (status, err) = running.stop("INT");
    assert_eq!((status.code(), err), (Some(0), vec![]));
}

#[test]
fn a_truncation_is_noticed_and_said_even_where_the_file_grew_past_its_old_size_meanwhile() {
    let dir = files(&[("kubelet.log", stale(1).as_bytes())]);
    let log = dir.path().join("kubelet.log");
    let running = Running::of(&log);
    assert_eq!(running.next(), ("01".to_owned(), 1));
    let truncated = format!(
        "plegdoctor: {}: it was truncated: the lines written right before may be missing",
        log.display()
    );
    // As by logrotate's copytruncate: at once shorter; at once as long; at once longer.
    for lines in 0..3 {
        let base = 10 * (lines + 1);
        append(&log, &stale(base));
        assert_eq!(running.next(), (base.to_string(), 2));
        fs::copy(&log, dir.path().join("kubelet.log.1")).unwrap();
        let new: String = (1..=lines + 1).map(|more| stale(base + more)).collect();
        fs::write(&log, new).unwrap();
        for more in 1..=lines + 1 {
            assert_eq!(running.next(), ((base + more).to_string(), more.into()));
        }
        assert_eq!(running.err.recv_timeout(IN_TIME).unwrap(), truncated);
        fs::write(&log, stale(base + 9)).unwrap();
        assert_eq!(running.next(), ((base + 9).to_string(), 1));
        assert_eq!(running.err.recv_timeout(IN_TIME).unwrap(), truncated);
    }
    let (status, err) = running.stop("TERM");
    assert_eq!((status.code(), err), (Some(0), vec![]));
}

#[test]
fn a_pipe_is_followed_to_its_end() {
    let mut command = plegdoctor(&["events", "--follow", "--log", "-"]);
    let mut running = Running::start(command.stdin(Stdio::piped()));
    let mut stdin = running.child.stdin.take().unwrap();
    for minute in 1..3 {
        stdin.write_all(stale(minute).as_bytes()).unwrap();
        assert_eq!(running.next().1, u64::from(minute));
    }
    drop(stdin);
    let (status, err) = running.end();
    assert_eq!((status.code(), err), (Some(0), vec![]));
}

/// Returns a folder with a journalctl that does this.
fn journalctl(script: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    // By a shell, so that no test's child has it open for writing when it is run.
    let written = Command::new("sh")
        .args(["-c", "printf '%s' \"$1\" >\"$0\" && chmod 755 \"$0\""])
        .arg(dir.path().join("journalctl"))
        .arg(format!("#!/bin/sh\n{script}\n"))
        .status();
    assert!(written.unwrap().success());
    dir
}

#[test]
fn a_journal_is_followed_until_journalctl_ends_and_as_it_ends() {
    let entry = |minute| {
        let line = stale(minute);
        format!(
            "echo '2026-11-30T11:{minute:02}:50+0000 worker-3 kubelet[2261]: {}'",
            line.trim_end()
        )
    };
    let script = format!(
        "echo \"$@\" >\"${{0%/*}}/args\"\necho '-- Logs begin at Mon 2026-11-30 01:00:00 UTC. --'\n{}\nsleep 1\n{}\nsleep 1",
        entry(1),
        entry(2)
    );
    let path = |dir: &tempfile::TempDir| format!("{}:/usr/bin:/bin", dir.path().display());
    let dir = journalctl(&script);
    let args = [
        "events",
        "--follow",
        "--journal=k3s",
        "--since",
        "2026-11-30T11:00:00Z",
    ];
    let mut running = Running::start(plegdoctor(&args).env("PATH", path(&dir)));
    assert_eq!(running.next(), ("01".to_owned(), 0));
    assert_eq!(
        running.child.try_wait().unwrap(),
        None,
        "the first came before the last"
    );
    assert_eq!(running.next(), ("02".to_owned(), 0));
    let (status, err) = running.end();
    assert_eq!((status.code(), err), (Some(0), vec![]));
    let asked = fs::read_to_string(dir.path().join("args")).unwrap();
    for word in [
        "--follow",
        "--no-tail",
        "--unit=k3s",
        "--since=2026-11-30 11:00:00",
    ] {
        assert!(asked.contains(word), "{asked}");
    }

    // What it complains of is told at once; that it fails, at the end.
    let dir = journalctl("echo 'Failed to open /x: Bad message' >&2\nsleep 1\nexit 1");
    let mut running =
        Running::start(plegdoctor(&["events", "--follow", "--journal"]).env("PATH", path(&dir)));
    let told = running.err.recv_timeout(IN_TIME).unwrap();
    assert_eq!(
        told,
        "plegdoctor: the journal: journalctl says: Failed to open /x: Bad message"
    );
    let (status, err) = running.end();
    assert_eq!(status.code(), Some(2));
    assert_eq!(
        err,
        ["plegdoctor: can't read the journal: journalctl failed (exit status: 1)"]
    );

    // One that goes on for ever goes with us.
    let dir = journalctl(&format!(
        "echo $$ >\"${{0%/*}}/pid\"\n{}\nexec sleep 999",
        entry(3)
    ));
    let running =
        Running::start(plegdoctor(&["events", "--follow", "--journal"]).env("PATH", path(&dir)));
    assert_eq!(running.next().0, "03");
    let (status, err) = running.stop("INT");
    assert_eq!((status.code(), err), (Some(0), vec![]));
    let pid = fs::read_to_string(dir.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

#[test]
fn it_ends_when_nobody_reads_though_nothing_is_written_and_when_it_is_told_to_though_nobody_reads()
{
    let dir = files(&[("kubelet.log", b"")]);
    let log = dir.path().join("kubelet.log");
    let args = ["events", "--follow", "--log", text(&log)];
    let (reader, writer) = io::pipe().unwrap();
    // The command itself holds the pipe's end, and must go.
    let mut child = plegdoctor(&args).stdout(writer).spawn().unwrap();
    thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None);
    drop(reader);
    assert!(wait_until(IN_TIME, || child.try_wait().unwrap().is_some()));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));

    // A pipe that is full: the events wait, and the signal does not.
    let much = (0..50).map(stale).collect::<String>().repeat(40);
    append(&log, &much);
    let (reader, writer) = io::pipe().unwrap();
    let mut child = plegdoctor(&args).stdout(writer).spawn().unwrap();
    thread::sleep(Duration::from_secs(1));
    assert_eq!(child.try_wait().unwrap(), None);
    signal(child.id(), "TERM");
    assert!(wait_until(IN_TIME, || child.try_wait().unwrap().is_some()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(reader);
}

#[test]
fn what_cannot_be_followed_is_one_line() {
    let dir = files(&[
        ("a", b""),
        ("b", b""),
        ("gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03"),
    ]);
    let (a, b) = (dir.path().join("a"), dir.path().join("b"));
    let gz = dir.path().join("gz");
    for (args, words) in [
        (&[][..], &["--log FILE", "docker logs --follow"][..]),
        (&["--log", text(&a), "--log", text(&b)], &["one log"]),
        (&["--log", text(&a), "--journal"], &["one log"]),
        (
            &["--log", text(dir.path())],
            &["is a directory", "--log FILE"],
        ),
        (
            &["--log", "/dev/null/x"],
            &["/dev/null/x", "Not a directory"],
        ),
        (&["--log", text(&a), "--since", "soon"], &["--since soon"]),
        (
            &["--log", text(&gz)],
            &["gz: it is compressed (gzip)", "leave out --follow"],
        ),
    ] {
        run(&[&["events", "--follow"], args].concat()).refused(words);
    }
    let told = run(&["events", "--follow", "--log", text(&a), "--until", "11:00"]);
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.contains("--until"), "{}", told.err);
    let none = plegdoctor(&["events", "--follow", "--journal"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let words = String::from_utf8(none.stderr).unwrap();
    assert_eq!(none.status.code(), Some(2));
    assert!(words.contains("there is no journalctl here"), "{words}");
}
