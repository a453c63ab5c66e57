//! Reading as the command line asks for it: what the tests share.

mod archived;
mod container;
mod copied;
mod discovered;
mod journal;
mod named;
mod packed;
mod ranged;

use super::{
    DockerLog, Places, Reading,
    options::{LogOptions, Moments},
    read_in,
};
use crate::io::decompress::Compression;
pub(super) use crate::io::decompress::tests::pack;
use crate::{kubelet::event::Event, syntax::time::Time};
use chrono::TimeDelta;
use std::{
    fs,
    io::Write as _,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

const NOW: &str = "2026-11-30T12:00:00Z";

/// Returns a line of the kubelet that says that the PLEG is not healthy, of that day of November.
fn stale(day: u8, time: &str) -> String {
    format!(
        "E11{day:02} {time}.000000    2261 kubelet.go:1846] skipping pod synchronization - PLEG is not healthy: pleg was last seen active 3m4.2s ago; threshold is 3m0s\n"
    )
}

fn moments() -> Moments {
    parse(&[]).1
}

/// Parses the options of a command line that tests use; times are in UTC.
fn parse(options: &[&str]) -> (LogOptions, Moments) {
    let mut log = LogOptions {
        files: Vec::new(),
        journal: None,
        journal_from: Vec::new(),
        container: None,
        none: false,
        timeout: Duration::from_secs(10),
        threads: NonZeroUsize::new(2).unwrap(),
        now_given: true,
    };
    let mut moments = Moments {
        now: Time::parse_from_rfc3339(NOW).unwrap(),
        replayed: true,
        utc_offset: None,
        since: None,
        until: None,
    };
    let mut words = options.iter();
    while let Some(word) = words.next() {
        let (option, inline) = match word.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (*word, None),
        };
        let mut value = || inline.unwrap_or_else(|| words.next().unwrap()).to_owned();
        match option {
            "--log" => log.files.push(value().into()),
            "--journal" => log.journal = Some(inline.unwrap_or_default().to_owned()),
            "--journal-from" => log.journal_from.push(value().into()),
            "--log-container" => log.container = Some(value()),
            "--no-log" => log.none = true,
            "--log-timeout" => log.timeout = span(&value()).to_std().unwrap(),
            "--since" => moments.since = Some(time(&value(), moments.now)),
            "--until" => moments.until = Some(time(&value(), moments.now)),
            "--utc-offset" => moments.utc_offset = Some(value().parse().unwrap()),
            _ => panic!("{option}"),
        }
    }
    (log, moments)
}

fn span(text: &str) -> TimeDelta {
    match text.strip_suffix('d') {
        Some(days) => TimeDelta::days(days.parse().unwrap()),
        None => crate::syntax::duration::parse(text).unwrap(),
    }
}

fn time(text: &str, now: Time) -> Time {
    if text.ends_with(['d', 'h', 'm']) {
        return now - span(text);
    }
    let full = format!("{text}{}Z", &" 00:00:00"[text.len().min(19) - 10..]);
    Time::parse_from_rfc3339(text)
        .or_else(|_| Time::parse_from_rfc3339(&full))
        .unwrap()
}

/// Reads what is named, and returns the lines cited, each once: `<source>:<line> <time>`.
fn outcome(options: &[&str]) -> anyhow::Result<(Reading, Vec<String>)> {
    outcome_in(Path::new("/nowhere"), options)
}

/// Reads on a machine whose root is `root`; journalctl is `root/journalctl`, Docker's socket `root/docker.sock`.
fn outcome_in(root: &Path, options: &[&str]) -> anyhow::Result<(Reading, Vec<String>)> {
    let mut lines = Vec::new();
    let reading = read_on(root, options, &mut |event| lines.push(cited(&event)))?;
    lines.dedup();
    Ok((reading, lines))
}

/// Reads on the machine whose root is `root`, and returns the events.
fn events_in(root: &Path, options: &[&str]) -> Vec<Event> {
    let mut events = Vec::new();
    read_on(root, options, &mut |event| events.push(event)).unwrap();
    events
}

fn read_on(root: &Path, options: &[&str], sink: &mut dyn FnMut(Event)) -> anyhow::Result<Reading> {
    let journalctl = root.join("journalctl");
    let places = Places {
        root,
        journalctl: journalctl.as_os_str(),
    };
    let endpoint = format!("unix://{}", root.join("docker.sock").display());
    let docker = DockerLog {
        endpoint: &endpoint,
        timeout: Duration::from_millis(300),
        asked: true,
        files: None,
    };
    let (options, moments) = parse(options);
    read_in(&places, &options, &moments, docker, sink)
}

/// Writes a script. Another process does: a file that this one has open for writing cannot be run, and a child
/// that another test starts meanwhile has it open, too.
fn script(path: &Path, text: &str) {
    let mut writer = process::Command::new("sh")
        .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(process::Stdio::piped())
        .spawn()
        .unwrap();
    writer
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(writer.wait().unwrap().success());
}

/// Returns where an event stands, and when it was.
fn cited(event: &Event) -> String {
    let base = event.citation.source.rsplit('/').next().unwrap();
    format!(
        "{base}:{} {}",
        event
            .citation
            .line
            .map_or("-".to_owned(), |line| line.to_string()),
        event.at.unwrap().format("%d %H:%M")
    )
}

/// Makes a directory with these files.
fn directory(files: &[(&str, String)]) -> (tempfile::TempDir, PathBuf) {
    directory_of(files)
}

/// Makes a directory with these files, of text or not.
fn directory_of<T: AsRef<[u8]>>(files: &[(&str, T)]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let path = dir.path().to_owned();
    (dir, path)
}

/// Returns the gaps as `<base name>: <why>`.
fn gaps(reading: &Reading) -> Vec<String> {
    let base = |what: &str| what.rsplit('/').next().unwrap_or(what).to_owned();
    reading
        .gaps
        .iter()
        .map(|gap| format!("{}: {}", base(&gap.what), gap.why))
        .collect()
}

/// An entry of an archive, which may be none that a well-meant program writes.
pub(super) struct Entry {
    name: String,
    bytes: Vec<u8>,
    kind: u8,
    target: String,
}

impl Entry {
    pub(super) fn file(name: &str, bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_owned(),
            ..Self::of_type(name, b'0')
        }
    }

    pub(super) fn folder(name: &str) -> Self {
        Self::of_type(name, b'5')
    }

    pub(super) fn link(name: &str, target: &str) -> Self {
        Self {
            target: target.to_owned(),
            ..Self::of_type(name, b'2')
        }
    }

    pub(super) fn hard_link(name: &str, target: &str) -> Self {
        Self {
            kind: b'1',
            ..Self::link(name, target)
        }
    }

    pub(super) fn of_type(name: &str, kind: u8) -> Self {
        Self {
            name: name.to_owned(),
            bytes: Vec::new(),
            kind,
            target: String::new(),
        }
    }
}

/// Returns the archive of these entries, as GNU's tar writes it.
pub(super) fn tar_of(entries: &[Entry]) -> Vec<u8> {
    let mut tar = Vec::new();
    let mut put = |name: &str, kind: u8, target: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        let short = name.len().min(100);
        header.as_mut_bytes()[..short].copy_from_slice(&name.as_bytes()[..short]);
        header.as_mut_bytes()[157..157 + target.len()].copy_from_slice(target.as_bytes());
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.extend_from_slice(bytes);
        tar.resize(tar.len().next_multiple_of(512), 0);
    };
    for entry in entries {
        if entry.name.len() > 100 {
            put("././@LongLink", b'L', "", entry.name.as_bytes());
        }
        put(&entry.name, entry.kind, &entry.target, &entry.bytes);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}
