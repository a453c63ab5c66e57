//! Runs journalctl, with options that systemd 219 already has, and never waits for it beyond a deadline.
//!
//! journald itself is not asked: journalctl reads its files, and may hang with the disk that they are on.

use super::{Failure, file_kind};
use crate::io::child::{LAST_BREATH, Running};
use crate::io::deadline;
use crate::io::deadline::Ended;
use crate::syntax::time::Time;
use anyhow::{Context as _, anyhow, bail};
use chrono::{TimeDelta, Timelike as _};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

/// Bytes of its standard error that are kept, and of a line of it.
const MAX_STDERR: usize = 16 << 10;
const MAX_STDERR_LINE: u64 = 16 << 10;

#[derive(Clone, Copy, Debug)]
pub(super) struct JournalRequest<'a> {
    /// journalctl, or a test's substitute.
    pub(super) program: &'a OsStr,
    /// journald's files; none: those of this machine.
    pub(super) from: &'a [PathBuf],
    pub(super) unit: Option<&'a str>,
    pub(super) is_picked: bool,
    pub(super) now: Time,
    pub(super) since: Option<Time>,
    /// `--since`, if it was given.
    pub(super) asked: Option<Time>,
    pub(super) until: Option<Time>,
    pub(super) max_bytes: u64,
    pub(super) timeout: Duration,
    /// For finding out whether a unit has entries.
    pub(super) first_deadline: Instant,
    pub(super) deadline: Instant,
}

impl JournalRequest<'_> {
    pub(super) fn name(&self, unit: &str) -> String {
        let name = format!("journal of {}", full_unit_name(unit));
        match self.from {
            [] => name,
            [path] => format!("{name} in {}", path.display()),
            [path, more @ ..] => format!("{name} in {} and {} more", path.display(), more.len()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    pub(super) program: &'a OsStr,
    pub(super) from: &'a [PathBuf],
    pub(super) entries: Entries<'a>,
    pub(super) since: Option<Time>,
    pub(super) until: Option<Time>,
    pub(super) last: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Entries<'a> {
    /// Those of this unit, with or without `.service`.
    Unit(&'a str),
    /// journald's own about messages that it dropped.
    Drops,
    /// All of the system's.
    All,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) ended: Ended,
    pub(super) entries: bool,
    pub(super) complaint: Option<String>,
    /// Why it could not read some of journald's files, in its words.
    pub(super) damage: Option<String>,
}

pub(super) fn full_unit_name(unit: &str) -> String {
    const SUFFIXES: [&str; 6] = [
        ".service", ".scope", ".slice", ".socket", ".mount", ".timer",
    ];
    if SUFFIXES.iter().any(|suffix| unit.ends_with(suffix)) {
        unit.to_owned()
    } else {
        format!("{unit}.service")
    }
}

/// What journalctl can read together in place of `paths`: one directory, or files; and what cannot be read, with the
/// reason. Of several directories it would read the last only, and beside a missing file nothing.
pub(super) fn expand(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<Failure>) {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    if let [_] = paths {
        return (paths.to_vec(), failures);
    }
    for path in paths {
        let before = files.len();
        let error = if path.is_dir() {
            collect(path, 1, &mut files);
            anyhow!("journald has no files in it")
        } else {
            match File::open(path) {
                Ok(_) => {
                    files.push(path.clone());
                    continue;
                }
                Err(error) => file_kind::explain_open(&error),
            }
        };
        if files.len() == before {
            failures.push((path.display().to_string(), error));
        }
    }
    (files, failures)
}

/// Adds the journals of a directory, and of each machine's in it: as deep as `--directory` goes.
fn collect(directory: &Path, deeper: u8, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let end = path.extension().unwrap_or_default();
        if deeper > 0 && path.is_dir() {
            collect(&path, deeper - 1, files);
        } else if (end == "journal" || end == "journal~") && path.is_file() {
            files.push(path);
        }
    }
}

/// Hands journalctl's lines for `query` to `take`, block by block, until it returns false. `None`: there is no
/// journalctl.
///
/// # Errors
/// journalctl cannot be run or failed, with its complaint and the cure.
pub(super) fn ask(
    query: &Query<'_>,
    deadline: Instant,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> anyhow::Result<Option<Answer>> {
    let mut running = match Running::start(&mut command(query)) {
        Ok(running) => running,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context("can't run journalctl"),
    };
    let stdout = running
        .child
        .stdout
        .take()
        .context("can't read from journalctl")?;
    let stderr = read_stderr(&mut running.child)?;
    let (mut entries, mut head, mut failure) = (false, Some(Vec::new()), None);
    let ended = deadline::read_until_deadline(
        deadline,
        move |to| deadline::send_blocks(stdout, to),
        &mut |block: io::Result<Vec<u8>>| match block {
            Ok(mut block) => {
                if let Some(mut begun) = head.take() {
                    begun.append(&mut block);
                    block = without_header(&begun).to_vec();
                    // The next block may continue it.
                    head = block.is_empty().then_some(begun);
                }
                entries |= !block.is_empty();
                block.is_empty() || take(&block)
            }
            Err(error) => {
                failure = Some(error);
                false
            }
        },
    )
    .context("can't read from journalctl")?;
    if let Some(error) = failure {
        return Err(error).context("can't read from journalctl");
    }
    let status = match ended {
        Ended::Whole => running.wait(LAST_BREATH),
        Ended::Late | Ended::Enough => None,
    };
    drop(running);
    let stderr = stderr.recv_timeout(LAST_BREATH).unwrap_or_default();
    let complaint = explain_complaint(&stderr.complaints);
    if let Some(status) = status
        && !status.success()
    {
        bail!(
            "{}",
            complaint.unwrap_or_else(|| format!("journalctl failed ({status})"))
        );
    }
    Ok(Some(Answer {
        ended,
        entries,
        complaint,
        damage: stderr.damage,
    }))
}

/// The command that prints the lines of `query`.
pub(super) fn command(query: &Query<'_>) -> Command {
    let mut command = Command::new(query.program);
    command
        // No --quiet: it hides missing permissions. Of the formats of systemd 219 this is the shortest with year and
        // zone; whole seconds are enough, since klog's own stamp has microseconds.
        //
        // No --grep (systemd 237 and later): it takes journalctl 252 three times as long as printing all entries
        // (BENCHMARKS.md), and drops all but the first line of a message.
        .args(["--no-pager", "--all", "--output=short-iso"])
        // Times are read and shown in journalctl's own zone; `@seconds`, `UTC` and fractions came after systemd 219.
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        // journalctl leaves out the rest of a damaged file, and says so only when it is debugged.
        .env("SYSTEMD_LOG_LEVEL", "debug")
        .env("SYSTEMD_LOG_TARGET", "console-prefixed")
        .env_remove("SYSTEMD_PAGER")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for path in query.from {
        let is_dir = path.is_dir();
        let mut option = OsString::from(if is_dir { "--directory=" } else { "--file=" });
        option.push(path);
        command.arg(option);
    }
    match query.entries {
        Entries::Unit(unit) => {
            command.arg(format!("--unit={unit}"));
        }
        // SD_MESSAGE_JOURNAL_DROPPED
        Entries::Drops => {
            command.arg("MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e");
        }
        // Users' journals are kept for longer.
        Entries::All if query.from.is_empty() => {
            command.arg("--system");
        }
        Entries::All => {}
    }
    let utc = |time: Time| time.to_utc().format("%Y-%m-%d %H:%M:%S").to_string();
    if let Some(since) = query.since {
        command.arg(format!("--since={}", utc(since)));
    }
    if let Some(until) = query.until {
        // Up to the second's end; events are cut exactly.
        let up = TimeDelta::nanoseconds(i64::from(
            1_000_000_000 - until.nanosecond() % 1_000_000_000,
        ));
        let until = if until.nanosecond() == 0 {
            until
        } else {
            until + up
        };
        command.arg(format!("--until={}", utc(until)));
    }
    if query.last {
        command.arg("--lines=1");
    }
    command
}

#[derive(Debug, Default)]
struct Stderr {
    complaints: String,
    damage: Option<String>,
}

/// Reads the child's standard error in a thread: a full pipe would block the child.
fn read_stderr(child: &mut Child) -> anyhow::Result<Receiver<Stderr>> {
    let stderr = child.stderr.take().context("can't read from journalctl")?;
    let (sender, receiver) = sync_channel(1);
    thread::Builder::new()
        .name("journalctl".to_owned())
        .spawn(move || {
            let mut all = Stderr::default();
            each_message(stderr, &mut |message| {
                match message {
                    Message::Complaint(line) if all.complaints.len() < MAX_STDERR => {
                        all.complaints.push_str(&line);
                        all.complaints.push('\n');
                    }
                    Message::Damage(line) => drop(all.damage.get_or_insert(line)),
                    Message::Complaint(_) => {}
                }
                true
            });
            // The receiver may be gone.
            drop(sender.send(all));
        })?;
    Ok(receiver)
}

/// A relevant line of journalctl's standard error.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// For the user.
    Complaint(String),
    /// Part of journald's files could not be read.
    Damage(String),
}

/// Hands the messages on standard error to `take`, as they come, until it returns false.
pub(super) fn each_message(stderr: impl io::Read, take: &mut dyn FnMut(Message) -> bool) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    // An error in reading them is not reported.
    while let Ok(1..) = (&mut stderr)
        .take(MAX_STDERR_LINE)
        .read_until(b'\n', &mut line)
    {
        let message = parse_message(String::from_utf8_lossy(&line).trim_end());
        if message.is_some_and(|message| !take(message)) {
            return;
        }
        line.clear();
    }
}

/// Parses a line of standard error, which begins with its level in angle brackets (`<31>`: facility 3, level 7, debugging).
fn parse_message(line: &str) -> Option<Message> {
    let prefixed = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let level = prefixed.and_then(|(level, text)| Some((level.parse::<u8>().ok()? % 8, text)));
    match level {
        Some((7, text)) => {
            const DAMAGE: [&str; 2] = ["Can't iterate through ", "data object is bad"];
            let damage = DAMAGE.iter().any(|damage| text.contains(damage));
            damage.then(|| Message::Damage(text.to_owned()))
        }
        Some((_, text)) => Some(Message::Complaint(text.to_owned())),
        None => Some(Message::Complaint(line.to_owned())),
    }
}

/// The output without journalctl's own first lines: `-- Logs begin at …`, `-- Journal begins at …`, `-- No entries --`.
fn without_header(mut output: &[u8]) -> &[u8] {
    while output.starts_with(b"-- ") {
        output = memchr::memchr(b'\n', output).map_or(b"", |end| &output[end + 1..]);
    }
    output
}

/// Explains journalctl's message about damaged files.
pub(super) fn describe_damage(message: &str) -> String {
    format!(
        "journald's files are damaged, and entries may be missing (journalctl: {message}): journalctl --verify shows which"
    )
}

/// Explains journalctl's standard error in one line.
pub(super) fn explain_complaint(stderr: &str) -> Option<String> {
    if stderr.contains("insufficient permissions") || stderr.contains("can see all messages") {
        return Some("this user may not read the whole journal: run plegdoctor as root, or as a member of the group systemd-journal".to_owned());
    }
    if stderr.contains("No journal files were found") {
        return Some("journald has no files here: run plegdoctor on the node itself, or name the log with --log".to_owned());
    }
    let first = stderr
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(format!("journalctl says: {first}"))
}
