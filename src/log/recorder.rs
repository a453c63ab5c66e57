//! Records the bytes of each log as they are read, so that a replay sees the same lines in the same order. Bounded: the
//! oldest are dropped, and counted.

use super::ReadFrom;
use crate::io::packed::Packed;
use std::collections::VecDeque;

/// Of all logs: a day of a kubelet at the default verbosity has some 100 MiB.
const MAX_BYTES: u64 = 512 << 20;
/// Bytes that are dropped at a time.
const PIECE_BYTES: u64 = 4 << 20;

/// The logs that were read, in order.
#[derive(Debug)]
pub struct LogRecorder {
    /// Logs that ended.
    pub logs: Vec<RecordedLog>,
    current: Option<RecordedLog>,
    most: u64,
    piece: u64,
}

/// A log that was read.
#[derive(Debug)]
pub struct RecordedLog {
    /// Its name in citations.
    pub name: String,
    /// Whether plegdoctor found it itself.
    pub picked: bool,
    /// Where its reading began.
    pub from: ReadFrom,
    /// Bytes at which it continues in the middle of a later line.
    pub skips: Vec<u64>,
    /// Its bytes.
    pub pieces: VecDeque<Packed>,
    /// Bytes that were dropped at its beginning.
    pub left_out: u64,
}

impl Default for LogRecorder {
    fn default() -> Self {
        Self {
            logs: Vec::new(),
            current: None,
            most: MAX_BYTES,
            piece: PIECE_BYTES,
        }
    }
}

impl RecordedLog {
    /// Bytes that are kept of it.
    pub fn length(&self) -> u64 {
        self.pieces.iter().map(Packed::length).sum()
    }

    fn drop_oldest(&mut self) -> bool {
        let Some(piece) = self.pieces.pop_front() else {
            return false;
        };
        let gone = piece.length();
        self.left_out += gone;
        self.skips.retain(|&at| at >= gone);
        self.skips.iter_mut().for_each(|at| *at -= gone);
        // A journal's lines have no number anyway.
        if self.from == ReadFrom::Start {
            self.from = ReadFrom::Middle;
        }
        true
    }
}

impl LogRecorder {
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        self.logs.retain(|log| stays(&log.name));
    }

    pub(super) fn start(&mut self, name: &str, picked: bool, from: ReadFrom) {
        self.current = Some(RecordedLog {
            name: name.to_owned(),
            picked,
            from,
            skips: Vec::new(),
            pieces: VecDeque::new(),
            left_out: 0,
        });
    }

    pub(super) fn block(&mut self, bytes: &[u8]) {
        let Some(log) = &mut self.current else {
            return;
        };
        let piece = self.piece;
        if log.pieces.back().is_none_or(|last| last.length() >= piece) {
            log.pieces.push_back(Packed::default());
        }
        if let Some(last) = log.pieces.back_mut() {
            last.push(bytes);
        }
        let mut length = self.length();
        while length > self.most {
            let mut logs = self.logs.iter_mut().chain(&mut self.current);
            if !logs.any(RecordedLog::drop_oldest) {
                break;
            }
            length = self.length();
        }
    }

    pub(super) fn skip(&mut self) {
        if let Some(log) = &mut self.current {
            let at = log.length();
            log.skips.push(at);
        }
    }

    pub(super) fn end(&mut self) {
        self.logs.extend(self.current.take());
    }

    pub(super) fn abandon(&mut self) {
        self.current = None;
    }

    fn length(&self) -> u64 {
        self.logs
            .iter()
            .chain(&self.current)
            .map(RecordedLog::length)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn what_is_oldest_gives_way() {
        let mut recorder = LogRecorder {
            most: 10,
            piece: 4,
            ..LogRecorder::default()
        };
        recorder.start("a", false, ReadFrom::Start);
        recorder.block(b"1111");
        recorder.end();
        recorder.start("b", true, ReadFrom::Unnumbered);
        for block in ["2222", "33"] {
            recorder.block(block.as_bytes());
        }
        recorder.skip();
        recorder.block(b"44");
        recorder.end();
        let got: Vec<_> = recorder
            .logs
            .into_iter()
            .map(|log| {
                let mut text = String::new();
                let (from, skips, left_out) = (log.from, log.skips, log.left_out);
                for piece in log.pieces {
                    piece.unpack().unwrap().read_to_string(&mut text).unwrap();
                }
                (text, from, skips, left_out)
            })
            .collect();
        assert_eq!(
            got,
            [
                (String::new(), ReadFrom::Middle, vec![], 4),
                ("22223344".to_owned(), ReadFrom::Unnumbered, vec![6], 0),
            ]
        );
    }
}
