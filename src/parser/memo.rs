//! What texts said that were seen lately. A sick node repeats itself: it logs the same words thousands of times, with
//! another stamp each.

use super::{
    hold::cited,
    lines::{classify_into, lossy},
};
use crate::event::{Severity, classify::Facts};
use std::sync::Arc;

/// How many texts are remembered.
const SLOTS: usize = 64;
/// The longest of them, in bytes.
const LONGEST: usize = 4 << 10;

/// A text, and what it says.
#[derive(Debug)]
pub(super) struct Read {
    text: Vec<u8>,
    severity: Severity,
    /// Nothing, if it is not known.
    pub(super) facts: Vec<Facts>,
    /// As much of it as is cited.
    pub(super) cited: Arc<str>,
}

/// The memory; each text has one place in it, and the last that claims a place has it.
#[derive(Debug)]
pub(super) struct Memo(Vec<Option<Read>>);

impl Memo {
    pub(super) fn new() -> Self {
        Self((0..SLOTS).map(|_| None).collect())
    }

    /// Takes out what `text` says, reading it if it is new; `keep` puts it back.
    pub(super) fn read(&mut self, text: &[u8], severity: Severity) -> Read {
        let known = |read: &mut Read| read.severity == severity && read.text == text;
        if let Some(read) = self.0[slot(text)].take_if(known) {
            return read;
        }
        let lossy = lossy(text);
        let mut facts = Vec::new();
        classify_into(&lossy, severity, &mut facts);
        let cited = match facts.is_empty() {
            true => "".into(),
            false => cited(&lossy).into(),
        };
        Read {
            text: text[..text.len().min(LONGEST + 1)].to_vec(),
            severity,
            facts,
            cited,
        }
    }

    pub(super) fn keep(&mut self, read: Read) {
        if read.text.len() <= LONGEST {
            let slot = slot(&read.text);
            self.0[slot] = Some(read);
        }
    }
}

/// Returns the place of a text. Texts differ in a few digits anywhere, so all of it counts.
fn slot(text: &[u8]) -> usize {
    // Multiplying by an odd number with many bits (the golden ratio's) spreads them into the upper bits.
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, part: u64| (hash.rotate_left(5) ^ part).wrapping_mul(ODD);
    let (parts, rest) = text.as_chunks::<8>();
    let mut hash = text.len() as u64;
    for part in parts {
        hash = mix(hash, u64::from_le_bytes(*part));
    }
    for &byte in rest {
        hash = mix(hash, byte.into());
    }
    usize::try_from(hash >> 58).unwrap_or(0) % SLOTS
}
