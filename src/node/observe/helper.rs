//! Files of processes on which a reader may get stuck, read by a child of our own.
//!
//! `cmdline` takes the lock of the process's memory, `cgroup` that of all cgroups; whoever is stuck with such a lock
//! held lets the reader sleep where only KILL reaches it, or not even that. The child is our own program again, without
//! a standard stream of ours but one pipe, and ends with us; whichever process it gets stuck on is passed over by the
//! next child.

use super::programs::KILL_TIMEOUT;
use crate::io::child;
use crate::io::child::Running;
use crate::io::files::Tree;
use crate::node::{parse, redact_args};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::io;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a child may take; an ordinary one needs some 20 µs for each process.
const TIMEOUT: Duration = Duration::from_millis(700);
/// Most bytes of one file, and of all of a child's.
const MAX_FILE: usize = 16 << 10;
const MAX_OUTPUT: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProcFile {
    Cmdline,
    Cgroup,
}

impl ProcFile {
    fn name(self) -> &'static str {
        match self {
            Self::Cmdline => "cmdline",
            Self::Cgroup => "cgroup",
        }
    }

    fn path(self, pid: u32) -> String {
        format!("proc/{pid}/{}", self.name())
    }

    /// On how many processes children may get stuck before it is given up. Each process has a memory of its own,
    /// but all have one lock of cgroups: who is stuck once is stuck on all.
    fn max_stuck(self) -> usize {
        match self {
            Self::Cmdline => 4,
            Self::Cgroup => 1,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct FilesRead {
    pub(super) files: BTreeMap<u32, Vec<u8>>,
    /// The processes whose file did not come in time.
    pub(super) stuck: Vec<u32>,
    /// Children that survived KILL.
    pub(super) survivors: Vec<u32>,
    pub(super) failed: Option<String>,
}

pub(super) fn read(
    tree: &Tree,
    file: ProcFile,
    pids: &[u32],
    until: Instant,
    read: &mut FilesRead,
) {
    let mut left = pids;
    // Files that only look like the kernel's hold nobody up.
    if !tree.is_live() {
        for &pid in left {
            if let Ok(bytes) = tree.bytes(&file.path(pid)) {
                read.files.insert(pid, bytes);
            }
        }
        return;
    }
    while !left.is_empty() && read.failed.is_none() {
        let deadline = until.min(Instant::now() + TIMEOUT);
        if Instant::now() >= until || read.stuck.len() >= file.max_stuck() {
            read.stuck.extend(left);
            return;
        }
        let done = run_child(tree, file, left, deadline, read);
        left = left.get(done..).unwrap_or_default();
        if let Some((&first, rest)) = left.split_first() {
            read.stuck.push(first);
            left = rest;
        }
    }
}

/// A process's words without the secrets among them: they are for reports.
pub(super) fn command_line(cmdline: &[u8]) -> Vec<String> {
    let mut words = parse::cmdline(cmdline);
    redact_args::redact(&mut words);
    words
}

fn run_child(
    tree: &Tree,
    file: ProcFile,
    pids: &[u32],
    deadline: Instant,
    read: &mut FilesRead,
) -> usize {
    let mut command = child::reader();
    command
        .arg("processes")
        .arg(tree.root())
        .arg(file.name())
        .args(pids.iter().map(u32::to_string));
    let failed = |read: &mut FilesRead, error: io::Error| {
        read.failed = Some(error.to_string());
        0
    };
    let mut running = match Running::start(&mut command) {
        Ok(running) => running,
        Err(error) => return failed(read, error),
    };
    let (bytes, closed) = match running.read(MAX_OUTPUT, deadline) {
        Ok(output) => output,
        Err(error) => return failed(read, error),
    };
    let answers = records(&bytes);
    let done = answers.len();
    for (pid, bytes) in answers {
        if let Some(bytes) = bytes {
            tree.note(&file.path(pid), &bytes);
            read.files.insert(pid, bytes);
        }
    }
    if closed && done == 0 {
        read.failed = Some("the child wrote nothing".to_owned());
    } else {
        read.survivors.extend(running.kill(KILL_TIMEOUT));
    }
    done
}

/// What a child has said: for each process `PID LENGTH\n` and so many bytes, or `PID -\n` for one that ended.
fn records(mut bytes: &[u8]) -> Vec<(u32, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    while let Some(end) = memchr::memchr(b'\n', bytes) {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let Some((pid, length)) = head
            .split_once(' ')
            .and_then(|(pid, length)| Some((pid.parse().ok()?, length)))
        else {
            return found;
        };
        bytes = &bytes[end + 1..];
        if length == "-" {
            found.push((pid, None));
            continue;
        }
        let Some((words, rest)) = length
            .parse()
            .ok()
            .and_then(|length: usize| bytes.split_at_checked(length))
        else {
            return found;
        };
        found.push((pid, Some(words.to_vec())));
        bytes = rest;
    }
    found
}

/// The child's part: writes that file of `pids` to `out`, each at once.
///
/// # Errors
/// What `out` says.
pub fn write(root: &Path, file: ProcFile, pids: &[u32], out: &mut dyn Write) -> io::Result<()> {
    child::detach();
    let tree = Tree::at(root);
    for &pid in pids {
        match tree.bytes(&file.path(pid)) {
            Ok(bytes) => {
                let bytes = &bytes[..bytes.len().min(MAX_FILE)];
                writeln!(out, "{pid} {}", bytes.len())?;
                out.write_all(bytes)?;
            }
            Err(_) => writeln!(out, "{pid} -")?,
        }
        out.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_up_to_the_one_that_never_came() {
        let here = tempfile::tempdir().unwrap();
        for (pid, words) in [("7", &b"runc\0--root\0/x\ny\0"[..]), ("9", b"")] {
            let own = here.path().join("proc").join(pid);
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(own.join("cmdline"), words).unwrap();
        }
        let mut out = Vec::new();
        write(here.path(), ProcFile::Cmdline, &[7, 8, 9], &mut out).unwrap();
        let all = vec![
            (7, Some(b"runc\0--root\0/x\ny\0".to_vec())),
            (8, None),
            (9, Some(Vec::new())),
        ];
        assert_eq!(records(&out), all);
        for cut in 0..out.len() {
            assert!(all.starts_with(&records(&out[..cut])), "{cut}");
        }
    }
}
