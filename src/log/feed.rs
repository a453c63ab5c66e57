//! Streams what comes out of a reader: a log whose size is not known before its end.

use super::{
    files::{Emit, Piece},
    intake::Opening,
    tail::Limits,
};
use crate::io::decompress;
use std::{
    io::{self, Read},
    time::Instant,
};

/// How much is read at a time.
const BLOCK: usize = 256 << 10;

/// What is streamed.
pub(super) struct Feed<'a> {
    /// What the log is called.
    pub(super) name: &'a str,
    /// How many of its first bytes are left out.
    pub(super) skip: u64,
    /// What it is held to.
    pub(super) limits: Option<&'a Limits>,
    /// Whether others come after it, for which there must be time.
    pub(super) others: bool,
}

/// Streams a log to its end, or for as long as there is time. Returns whether to go on.
pub(super) fn stream(feed: &Feed<'_>, reader: &mut dyn Read, emit: &mut Emit<'_>) -> bool {
    let from = match feed.skip {
        0 => Opening::Start,
        _ => Opening::Middle,
    };
    if !emit(Piece::Start(feed.name, from)) {
        return false;
    }
    // One byte earlier, so that a line that starts just there is not taken for a torn one.
    let mut skip = feed.skip.saturating_sub(1);
    let mut block = vec![0; BLOCK];
    let mut done = 0_u64;
    loop {
        let hurry = feed.limits.filter(|_| feed.others);
        if hurry.is_some_and(|limits| Instant::now() >= limits.hurry) {
            let why = format!(
                "what comes after its first {done} bytes, unpacked, was left out, since time ran out: name it with --log, or give it more with --log-timeout"
            );
            return emit(Piece::Gap(feed.name, why));
        }
        let read = match reader.read(&mut block) {
            Ok(0) => return true,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return emit(Piece::Gap(feed.name, words(&error, done))),
        };
        done += read as u64;
        let from = usize::try_from(skip).map_or(read, |skip| skip.min(read));
        skip -= from as u64;
        if from < read && !emit(Piece::Block(&block[from..read])) {
            return false;
        }
    }
}

/// Returns what a failure after `done` bytes is.
fn words(error: &io::Error, done: u64) -> String {
    match decompress::is_told(error) {
        true => error.to_string(),
        false => format!("reading it failed after {done} bytes of text: {error}"),
    }
}
