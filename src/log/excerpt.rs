//! Whether a log is an excerpt: `grep -E 'PLEG|SyncLoop|NotReady'` leaves only lines with these words. A few places of a
//! log are scanned, however large it is; the first line without any of the words shows that it is whole, and a whole log
//! has one among its first lines. In a flood, too: calls that fail have none of these words.

use crate::kubelet::parser::{is_own, stamps, without_return};
use memchr::{memchr, memrchr};

const PLACE: u64 = 64 << 10;
/// Where the second place is; each further one is twice as far from the beginning.
const SECOND_PLACE: u64 = 256 << 10;
const MIN_LINES: u64 = 5;
/// What people search a kubelet's log for, in lower case.
const WORDS: [&[u8]; 5] = [
    b"pleg",
    b"syncloop",
    b"notready",
    b"not ready",
    b"nodeready",
];

#[derive(Debug, Default)]
pub(super) struct Excerpt {
    at: u64,
    /// Where the current or next place begins, and what came of it.
    place: u64,
    kept: Vec<u8>,
    named: u64,
    is_whole: bool,
}

impl Excerpt {
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

    pub(super) fn finish(mut self) -> bool {
        if !self.is_whole {
            self.scan(true);
        }
        !self.is_whole && self.named >= MIN_LINES
    }

    /// Scans the whole lines of a place, and the last one if the log ends with it.
    fn scan(&mut self, last: bool) {
        let kept = std::mem::take(&mut self.kept);
        let start = match self.place {
            0 => Some(0),
            _ => memchr(b'\n', &kept).map(|newline| newline + 1),
        };
        let end = if last {
            Some(kept.len())
        } else {
            memrchr(b'\n', &kept)
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
