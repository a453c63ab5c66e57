//! Runs a program that acts, until a deadline; its words on standard error are kept.

use crate::{
    child::{LAST_BREATH, Running},
    log::pump,
};
use std::{
    io::{self, Read as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Most bytes kept of its words.
const WORDS: u64 = 4096;

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ran {
    /// Well.
    Well(String),
    /// Not well, with what it said.
    Failed(String),
    /// Not in time: it was given up, and may still be at work.
    Late,
}

/// Runs `command` for at most `patience`.
pub(super) fn run(command: &mut Command, patience: Duration) -> Ran {
    let until = Instant::now() + patience;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = match Running::start(command) {
        Ok(running) => running,
        Err(error) => return Ran::Failed(format!("can't be run: {error}")),
    };
    let (stdout, stderr) = (running.child.stdout.take(), running.child.stderr.take());
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        return Ran::Failed("can't be listened to".to_owned());
    };
    let mut words = Vec::new();
    let ended = pump::pump(
        until,
        move |to| pump::send_blocks(stdout.take(WORDS).chain(stderr.take(WORDS)), to),
        &mut |block: io::Result<Vec<u8>>| {
            words.extend(block.unwrap_or_default());
            true
        },
    );
    let left = until.saturating_duration_since(Instant::now());
    let status = match ended {
        Ok(pump::Ended::Whole) => running.wait(left.max(LAST_BREATH)),
        _ => None,
    };
    let words = String::from_utf8_lossy(&words).trim().to_owned();
    match status {
        Some(status) if status.success() => Ran::Well(words),
        Some(status) if words.is_empty() => Ran::Failed(status.to_string()),
        Some(_) => Ran::Failed(words),
        None => Ran::Late,
    }
}
