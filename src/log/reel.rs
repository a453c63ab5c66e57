//! Keeps the bytes of each log as they are read, so that a replay sees the same lines in the same order. Bounded:
//! what is oldest gives way, and is counted.

use super::intake::Opening;
use crate::io::packed::Packed;
use std::collections::VecDeque;

/// Most bytes that are kept of all logs: a day of a kubelet at the default verbosity has some 100 MiB.
const MOST: u64 = 512 << 20;
/// How much gives way at a time.
const PIECE: u64 = 4 << 20;

/// The logs that were read, in order.
#[derive(Debug)]
pub struct Reel {
    /// Those that ended.
    pub rolls: Vec<Roll>,
    current: Option<Roll>,
    most: u64,
    piece: u64,
}

/// One log.
#[derive(Debug)]
pub struct Roll {
    /// What it is called in citations.
    pub name: String,
    /// Whether plegdoctor picked it by itself.
    pub picked: bool,
    /// How its reading began.
    pub from: Opening,
    /// Where it went on in the middle of a later line.
    pub skips: Vec<u64>,
    /// Its bytes.
    pub pieces: VecDeque<Packed>,
    /// How many bytes at its beginning gave way.
    pub left_out: u64,
}

impl Default for Reel {
    fn default() -> Self {
        Self {
            rolls: Vec::new(),
            current: None,
            most: MOST,
            piece: PIECE,
        }
    }
}

impl Roll {
    /// Returns how many bytes are kept of it.
    pub fn length(&self) -> u64 {
        self.pieces.iter().map(Packed::length).sum()
    }

    /// Gives up its oldest piece.
    fn give_way(&mut self) -> bool {
        let Some(piece) = self.pieces.pop_front() else {
            return false;
        };
        let gone = piece.length();
        self.left_out += gone;
        self.skips.retain(|&at| at >= gone);
        self.skips.iter_mut().for_each(|at| *at -= gone);
        // A journal's lines have no number that could be wrong now.
        if self.from == Opening::Start {
            self.from = Opening::Middle;
        }
        true
    }
}

impl Reel {
    /// Drops the logs that `stays` does not name.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) {
        self.rolls.retain(|roll| stays(&roll.name));
    }

    pub(super) fn start(&mut self, name: &str, picked: bool, from: Opening) {
        self.current = Some(Roll {
            name: name.to_owned(),
            picked,
            from,
            skips: Vec::new(),
            pieces: VecDeque::new(),
            left_out: 0,
        });
    }

    pub(super) fn block(&mut self, bytes: &[u8]) {
        let Some(roll) = &mut self.current else {
            return;
        };
        let piece = self.piece;
        if roll.pieces.back().is_none_or(|last| last.length() >= piece) {
            roll.pieces.push_back(Packed::default());
        }
        if let Some(last) = roll.pieces.back_mut() {
            last.push(bytes);
        }
        let mut length = self.length();
        while length > self.most {
            let mut rolls = self.rolls.iter_mut().chain(&mut self.current);
            if !rolls.any(Roll::give_way) {
                break;
            }
            length = self.length();
        }
    }

    pub(super) fn skip(&mut self) {
        if let Some(roll) = &mut self.current {
            let at = roll.length();
            roll.skips.push(at);
        }
    }

    pub(super) fn end(&mut self) {
        self.rolls.extend(self.current.take());
    }

    pub(super) fn abandon(&mut self) {
        self.current = None;
    }

    fn length(&self) -> u64 {
        self.rolls
            .iter()
            .chain(&self.current)
            .map(Roll::length)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    #[test]
    fn what_is_oldest_gives_way() {
        let mut reel = Reel {
            most: 10,
            piece: 4,
            ..Reel::default()
        };
        reel.start("a", false, Opening::Start);
        reel.block(b"1111");
        reel.end();
        reel.start("b", true, Opening::Unnumbered);
        for block in ["2222", "33"] {
            reel.block(block.as_bytes());
        }
        reel.skip();
        reel.block(b"44");
        reel.end();
        let told: Vec<_> = reel
            .rolls
            .into_iter()
            .map(|roll| {
                let mut text = String::new();
                let (from, skips, left_out) = (roll.from, roll.skips, roll.left_out);
                for piece in roll.pieces {
                    piece.unpack().unwrap().read_to_string(&mut text).unwrap();
                }
                (text, from, skips, left_out)
            })
            .collect();
        assert_eq!(
            told,
            [
                (String::new(), Opening::Middle, vec![], 4),
                ("22223344".to_owned(), Opening::Unnumbered, vec![6], 0),
            ]
        );
    }
}
