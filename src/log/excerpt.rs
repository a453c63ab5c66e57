//! Whether somebody cut lines out of a log: `grep -E 'PLEG|SyncLoop|NotReady'` leaves what names these, and nothing of
//! what a kubelet says besides. Looked for in a few places of a log, however large it is; the first line that names
//! none of them settles it, and a whole log has one among its first lines.
//!
//! In a flood each line may be of interest, too, but the calls that fail name none of these words.

use crate::kubelet::parser::{is_own, stamps, without_return};
use memchr::{memchr, memrchr};

/// How much is looked at in one place.
const PLACE: u64 = 64 << 10;
/// Where the second place is; each further one is twice as far from the beginning.
const SECOND_PLACE: u64 = 256 << 10;
/// Lines that it takes to tell.
const MIN_LINES: u64 = 5;
/// What people search a kubelet's log for, in lower case.
const WORDS: [&[u8]; 5] = [
    b"pleg",
    b"syncloop",
    b"notready",
    b"not ready",
    b"nodeready",
];

/// What the places of a log hold that were looked at.
#[derive(Debug, Default)]
pub(super) struct Excerpt {
    /// Bytes that came so far.
    at: u64,
    /// Where the place begins that is looked at now, or next.
    place: u64,
    /// What came of it.
    kept: Vec<u8>,
    /// Lines that name one of the words.
    named: u64,
    /// Whether a line names none: there is nothing more to look for.
    is_whole: bool,
}

impl Excerpt {
    /// Takes the next bytes.
    pub(super) fn push(&mut self, mut block: &[u8]) {
        while !self.is_whole && !block.is_empty() {
            let ahead = self.place.saturating_sub(self.at);
            let skipped = usize::try_from(ahead).map_or(block.len(), |it| it.min(block.len()));
            self.at += skipped as u64;
            block = &block[skipped..];
            let room = (self.place + PLACE).saturating_sub(self.at);
            let part = usize::try_from(room).map_or(block.len(), |it| it.min(block.len()));
            self.kept.extend_from_slice(&block[..part]);
            self.at += part as u64;
            block = &block[part..];
            if self.at == self.place + PLACE {
                self.scan(false);
                self.place = (self.place * 2).max(SECOND_PLACE);
            }
        }
    }

    /// Returns whether the log is one of which lines were cut out.
    pub(super) fn finish(mut self) -> bool {
        if !self.is_whole {
            self.scan(true);
        }
        !self.is_whole && self.named >= MIN_LINES
    }

    /// Looks at the lines that came of a place: the whole ones, and the last one if the log ends with it.
    fn scan(&mut self, last: bool) {
        let kept = std::mem::take(&mut self.kept);
        let start = match self.place {
            0 => Some(0),
            _ => memchr(b'\n', &kept).map(|newline| newline + 1),
        };
        let end = match last {
            true => Some(kept.len()),
            false => memrchr(b'\n', &kept),
        };
        let lines = start.zip(end).and_then(|(start, end)| kept.get(start..end));
        for line in lines.unwrap_or_default().split(|&byte| byte == b'\n') {
            let line = without_return(line);
            if is_named(line) {
                self.named += u64::from(is_line(line));
            } else if is_line(line) {
                self.is_whole = true;
                return;
            }
        }
    }
}

/// Returns whether a line is more than a part of one.
fn is_line(line: &[u8]) -> bool {
    is_own(line) || stamps(line).is_some()
}

fn is_named(line: &[u8]) -> bool {
    let lower = line.to_ascii_lowercase();
    let mut words = WORDS.iter();
    words.any(|word| memchr::memmem::find(&lower, word).is_some())
}

#[cfg(test)]
#[path = "tests/excerpt.rs"]
mod tests;
