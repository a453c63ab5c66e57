//! Runs journalctl, with options that systemd 219 already has, and never waits for it beyond a deadline.
//!
//! journald itself is not asked: journalctl reads its files, and may hang with the disk that they are on.

use super::open::{self, Failure};
use crate::io::deadline::{self, Ended};
use crate::{
    io::child::{LAST_BREATH, Running},
    syntax::time::Time,
};
use anyhow::{Context as _, anyhow, bail};
use chrono::{TimeDelta, Timelike as _};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, sync_channel},
    thread,
    time::Instant,
};

/// How much of its complaints is kept.
const WORDS: usize = 16 << 10;
/// Longest line of them that is read as one.
const LINE: u64 = 16 << 10;

/// What to ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    /// journalctl, or what plays it.
    pub(super) program: &'a OsStr,
    /// Where journald's files are; none: where they are on this machine.
    pub(super) from: &'a [PathBuf],
    /// What of it.
    pub(super) what: What<'a>,
    /// From when.
    pub(super) since: Option<Time>,
    /// To when.
    pub(super) until: Option<Time>,
    /// Only the last entry.
    pub(super) last: bool,
}

/// Which entries.
#[derive(Clone, Copy, Debug)]
pub(super) enum What<'a> {
    /// Those of this unit, with or without `.service`.
    Unit(&'a str),
    /// What journald says of messages that it dropped.
    Drops,
    /// All of the system's.
    All,
}

/// How it went.
#[derive(Debug)]
pub(super) struct Answer {
    /// How the reading ended.
    pub(super) ended: Ended,
    /// Whether there was an entry.
    pub(super) entries: bool,
    /// What journalctl complained of, with the cure.
    pub(super) complaint: Option<String>,
    /// What it could not read of journald's files, in its words.
    pub(super) damage: Option<String>,
}

/// Returns the unit's whole name, as systemd completes it.
pub(super) fn whole_name(unit: &str) -> String {
    const SUFFIXES: [&str; 6] = [
        ".service", ".scope", ".slice", ".socket", ".mount", ".timer",
    ];
    match SUFFIXES.iter().any(|suffix| unit.ends_with(suffix)) {
        true => unit.to_owned(),
        false => format!("{unit}.service"),
    }
}

/// Returns what journalctl can read together in place of `paths`: a folder alone, or files; and what of them cannot be
/// read, with the reason. Of several folders it would read the last, and of others beside one that is not there nothing.
pub(super) fn spread(paths: &[PathBuf]) -> (Vec<PathBuf>, Vec<Failure>) {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    if let [_] = paths {
        return (paths.to_vec(), failures);
    }
    for path in paths {
        let before = files.len();
        let error = match path.is_dir() {
            true => {
                collect(path, 1, &mut files);
                anyhow!("journald has no files in it")
            }
            false => match File::open(path) {
                Ok(_) => {
                    files.push(path.clone());
                    continue;
                }
                Err(error) => open::explain(&error),
            },
        };
        if files.len() == before {
            failures.push((path.display().to_string(), error));
        }
    }
    (files, failures)
}

/// Takes in the journals of a folder, and of those in it that each machine has: as deep as `--directory` goes.
fn collect(folder: &Path, deeper: u8, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
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

/// Returns journalctl's lines for `query`, block by block, to `take`, until it says no. `None`: there is no
/// journalctl.
///
/// # Errors
/// journalctl cannot be run or failed, with its words and the cure.
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
    let words = listen(&mut running.child)?;
    let (mut entries, mut head, mut failure) = (false, Some(Vec::new()), None);
    let ended = deadline::pump(
        deadline,
        move |to| deadline::send_blocks(stdout, to),
        &mut |block: io::Result<Vec<u8>>| match block {
            Ok(mut block) => {
                if let Some(mut begun) = head.take() {
                    begun.append(&mut block);
                    block = without_head(&begun).to_vec();
                    // It may go on in the next block.
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
    let words = words.recv_timeout(LAST_BREATH).unwrap_or_default();
    let complaint = complaint(&words.complaints);
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
        damage: words.damage,
    }))
}

/// Returns the command that prints the lines of `query`.
pub(super) fn command(query: &Query<'_>) -> Command {
    let mut command = Command::new(query.program);
    command
        // No --quiet: it silences what a user without permission must know. Of the forms that systemd 219 has this
        // is the shortest that tells year and zone; its whole seconds do, since klog's own stamp tells the rest.
        //
        // No --grep either (systemd 237 and later, if built with PCRE2), to leave out entries without a known phrase:
        // comparing each entry with the prefilter's phrases takes journalctl 252 three times as long as printing them
        // all (BENCHMARKS.md). Nor would the result be the same: each line that a program prints is an entry, so that a
        // message of several lines loses all but its first.
        .args(["--no-pager", "--all", "--output=short-iso"])
        // Times are read and shown in journalctl's own zone; `@seconds`, `UTC` and fractions came after systemd 219.
        .env("TZ", "UTC")
        .env("LC_ALL", "C")
        // Where a file is damaged journalctl leaves out the rest of it, and tells nobody but who debugs it.
        .env("SYSTEMD_LOG_LEVEL", "debug")
        .env("SYSTEMD_LOG_TARGET", "console-prefixed")
        .env_remove("SYSTEMD_PAGER")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for path in query.from {
        let mut option = OsString::from(match path.is_dir() {
            true => "--directory=",
            false => "--file=",
        });
        option.push(path);
        command.arg(option);
    }
    match query.what {
        What::Unit(unit) => {
            command.arg(format!("--unit={unit}"));
        }
        // SD_MESSAGE_JOURNAL_DROPPED
        What::Drops => {
            command.arg("MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e");
        }
        // Users' journals are kept for longer.
        What::All if query.from.is_empty() => {
            command.arg("--system");
        }
        What::All => {}
    }
    let utc = |time: Time| time.to_utc().format("%Y-%m-%d %H:%M:%S").to_string();
    if let Some(since) = query.since {
        command.arg(format!("--since={}", utc(since)));
    }
    if let Some(until) = query.until {
        // Up to the second's end; the intake cuts exactly.
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

/// What journalctl says on standard error.
#[derive(Debug, Default)]
struct Words {
    /// Its complaints, a line each.
    complaints: String,
    /// What it first could not read of journald's files.
    damage: Option<String>,
}

/// Reads the child's words in a thread: a full pipe would stop the child.
fn listen(child: &mut Child) -> anyhow::Result<Receiver<Words>> {
    let stderr = child.stderr.take().context("can't read from journalctl")?;
    let (sender, receiver) = sync_channel(1);
    thread::Builder::new()
        .name("journalctl".to_owned())
        .spawn(move || {
            let mut words = Words::default();
            each_word(stderr, &mut |word| {
                match word {
                    Word::Complaint(line) if words.complaints.len() < WORDS => {
                        words.complaints.push_str(&line);
                        words.complaints.push('\n');
                    }
                    Word::Damage(line) => drop(words.damage.get_or_insert(line)),
                    Word::Complaint(_) => {}
                }
                true
            });
            // Nobody may be listening any more.
            drop(sender.send(words));
        })?;
    Ok(receiver)
}

/// A line of journalctl's on standard error that matters.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It is meant for the user.
    Complaint(String),
    /// It tells that a part of journald's files could not be read.
    Damage(String),
}

/// Hands the words that come on standard error to `take`, as they do, until it says no.
pub(super) fn each_word(stderr: impl io::Read, take: &mut dyn FnMut(Word) -> bool) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    // What cannot be read of complaints is not worth one.
    while let Ok(1..) = (&mut stderr).take(LINE).read_until(b'\n', &mut line) {
        let word = word(String::from_utf8_lossy(&line).trim_end());
        if word.is_some_and(|word| !take(word)) {
            return;
        }
        line.clear();
    }
}

/// Returns what a line on standard error is, which begins with its level in angle brackets (`<31>`: facility 3, level
/// 7, debugging).
fn word(line: &str) -> Option<Word> {
    let prefixed = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let level = prefixed.and_then(|(level, words)| Some((level.parse::<u8>().ok()? % 8, words)));
    match level {
        Some((7, words)) => {
            const DAMAGE: [&str; 2] = ["Can't iterate through ", "data object is bad"];
            let damage = DAMAGE.iter().any(|damage| words.contains(damage));
            damage.then(|| Word::Damage(words.to_owned()))
        }
        Some((_, words)) => Some(Word::Complaint(words.to_owned())),
        None => Some(Word::Complaint(line.to_owned())),
    }
}

/// Returns the output without what journalctl says of itself in the first lines: `-- Logs begin at …`,
/// `-- Journal begins at …`, `-- No entries --`, or the first of them and the last. Each is short, and few there are.
fn without_head(mut output: &[u8]) -> &[u8] {
    while output.starts_with(b"-- ") {
        output = memchr::memchr(b'\n', output).map_or(b"", |end| &output[end + 1..]);
    }
    output
}

/// Returns what it means that journalctl says so of journald's files.
pub(super) fn damaged(words: &str) -> String {
    format!(
        "journald's files are damaged, and some of what they hold may be missing (journalctl: {words}): journalctl --verify tells which"
    )
}

/// Returns what journalctl's `words` on standard error mean, in one line.
pub(super) fn complaint(words: &str) -> Option<String> {
    if words.contains("insufficient permissions") || words.contains("can see all messages") {
        return Some("this user may not see all of the journal: run plegdoctor as root, or as a member of the group systemd-journal".to_owned());
    }
    if words.contains("No journal files were found") {
        return Some("journald has no files here: run plegdoctor on the node itself, or name the log with --log".to_owned());
    }
    let first = words.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(format!("journalctl says: {first}"))
}
