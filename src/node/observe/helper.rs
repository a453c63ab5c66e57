//! Files of processes on which a reader may get stuck, read by a child of our own.
//!
//! `cmdline` takes the lock of the process's memory, `cgroup` that of all cgroups; whoever is stuck with such a lock
//! held lets the reader sleep where only KILL reaches it, or not even that. The child is our own program again, without
//! a standard stream of ours but one pipe, and ends with us; whichever process it gets stuck on is passed over by the
//! next child.

use crate::io::files::Tree;
use crate::{
    io::{
        child::{self, Running},
        deadline::{self, Ended},
    },
    node::{parse, redact_args},
};
use clap::ValueEnum;
use std::{
    collections::BTreeMap,
    io::{self, Read as _, Write},
    path::Path,
    time::{Duration, Instant},
};

/// How long a child may take; an ordinary one needs some 20 µs for each process.
const PATIENCE: Duration = Duration::from_millis(700);
const LAST_BREATH: Duration = Duration::from_millis(100);
/// Most bytes of one file, and of all of a child's.
const ONE: usize = 16 << 10;
const ALL: u64 = 16 << 20;

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

    /// On how many processes children may get stuck before nobody tries any more. Each process has a memory of its own,
    /// but all have one lock of cgroups: who is stuck once is stuck on all.
    fn stuck(self) -> usize {
        match self {
            Self::Cmdline => 4,
            Self::Cgroup => 1,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Told {
    /// Each process's file; what has ended meanwhile is left out.
    pub(super) files: BTreeMap<u32, Vec<u8>>,
    /// The processes whose file did not come in time.
    pub(super) stuck: Vec<u32>,
    /// Children that the kernel does not let die.
    pub(super) survivors: Vec<u32>,
    pub(super) failed: Option<String>,
}

/// Reads that file of these processes, until `until`.
pub(super) fn read(tree: &Tree, what: ProcFile, pids: &[u32], until: Instant, told: &mut Told) {
    let mut left = pids;
    // Files that only look like the kernel's hold nobody up.
    if !tree.is_live() {
        for &pid in left {
            if let Ok(bytes) = tree.bytes(&what.path(pid)) {
                told.files.insert(pid, bytes);
            }
        }
        return;
    }
    while !left.is_empty() && told.failed.is_none() {
        let deadline = until.min(Instant::now() + PATIENCE);
        if Instant::now() >= until || told.stuck.len() >= what.stuck() {
            told.stuck.extend(left);
            return;
        }
        let done = one_child(tree, what, left, deadline, told);
        left = left.get(done..).unwrap_or_default();
        if let Some((&first, rest)) = left.split_first() {
            told.stuck.push(first);
            left = rest;
        }
    }
}

/// A process's words without the secrets among them: they are for reports.
pub(super) fn words(cmdline: &[u8]) -> Vec<String> {
    let mut words = parse::cmdline(cmdline);
    redact_args::words(&mut words);
    words
}

/// Lets one child read; returns how many of `pids` it answered.
fn one_child(
    tree: &Tree,
    what: ProcFile,
    pids: &[u32],
    deadline: Instant,
    told: &mut Told,
) -> usize {
    let mut command = child::reader();
    command
        .arg("processes")
        .arg(tree.root())
        .arg(what.name())
        .args(pids.iter().map(u32::to_string));
    let mut running = match Running::start(&mut command) {
        Ok(running) => running,
        Err(error) => {
            told.failed = Some(error.to_string());
            return 0;
        }
    };
    let Some(stdout) = running.child.stdout.take() else {
        return 0;
    };
    let mut bytes = Vec::new();
    let ended = deadline::pump(
        deadline,
        move |to| deadline::send_blocks(stdout.take(ALL), to),
        &mut |block: io::Result<Vec<u8>>| {
            bytes.extend(block.unwrap_or_default());
            true
        },
    );
    let answers = records(&bytes);
    let done = answers.len();
    for (pid, bytes) in answers {
        if let Some(bytes) = bytes {
            tree.note(&what.path(pid), &bytes);
            told.files.insert(pid, bytes);
        }
    }
    match ended {
        Ok(Ended::Whole) if done == 0 => told.failed = Some("the child said nothing".to_owned()),
        Ok(_) => told.survivors.extend(running.kill(LAST_BREATH)),
        Err(error) => told.failed = Some(error.to_string()),
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
pub fn write(root: &Path, what: ProcFile, pids: &[u32], out: &mut dyn Write) -> io::Result<()> {
    child::detach();
    let tree = Tree::at(root);
    for &pid in pids {
        match tree.bytes(&what.path(pid)) {
            Ok(bytes) => {
                let bytes = &bytes[..bytes.len().min(ONE)];
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
