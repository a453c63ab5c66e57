//! What texts said that were seen lately. A sick node repeats itself: it logs the same words thousands of times, with
//! another stamp each.

use super::lines::{classify_into, lossy};
use super::pending::cited;
use crate::{kubelet::event::MessageFields, syntax::klog::Severity};
use std::sync::Arc;

const SLOTS: usize = 64;
const MAX_TEXT: usize = 4 << 10;
/// Most fields that one of them may say.
const MAX_FIELDS: usize = 16;

#[derive(Debug)]
pub(super) struct Read {
    text: Vec<u8>,
    severity: Severity,
    pub(super) fields: Vec<Arc<MessageFields>>,
    pub(super) cited: Arc<str>,
}

/// The memory; each text has one place in it, and the last that claims a place has it.
#[derive(Debug)]
pub(super) struct Cache(Vec<Option<Read>>);

impl Cache {
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
        let mut fields = Vec::new();
        classify_into(&lossy, severity, &mut fields);
        let cited = if fields.is_empty() {
            "".into()
        } else {
            cited(&lossy).into()
        };
        Read {
            text: text[..text.len().min(MAX_TEXT + 1)].to_vec(),
            severity,
            fields: fields.into_iter().map(Arc::new).collect(),
            cited,
        }
    }

    pub(super) fn keep(&mut self, read: Read) {
        if read.text.len() <= MAX_TEXT && read.fields.len() <= MAX_FIELDS {
            let slot = slot(&read.text);
            self.0[slot] = Some(read);
        }
    }
}

/// The place of a text. Texts differ in a few digits anywhere, so all of it counts; in four sums at a time,
/// since each step of one waits for the step before.
fn slot(text: &[u8]) -> usize {
    // Multiplying by an odd number with many bits (the golden ratio's) spreads them into the upper bits.
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, part: [u8; 8]| {
        (hash.rotate_left(5) ^ u64::from_le_bytes(part)).wrapping_mul(ODD)
    };
    let (parts, rest) = text.as_chunks::<8>();
    let (fours, parts) = parts.as_chunks::<4>();
    let mut sums = [text.len() as u64; 4];
    for four in fours {
        for (sum, part) in sums.iter_mut().zip(four) {
            *sum = mix(*sum, *part);
        }
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let hash = sums.into_iter().map(u64::to_le_bytes).fold(0, mix);
    let hash = parts.iter().copied().chain([last]).fold(hash, mix);
    usize::try_from(hash >> 58).unwrap_or(0) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_one_byte_mostly_have_places_of_their_own() {
        let text = b"ListContainers failed: rpc error: code = ResourceExhausted desc = grpc: received message larger than max".repeat(2);
        let slots: std::collections::BTreeSet<_> = (0..text.len())
            .map(|at| {
                let mut other = text.clone();
                other[at] ^= 1;
                slot(&other)
            })
            .collect();
        assert!(slots.len() > SLOTS / 2, "{}", slots.len());
    }

    #[test]
    fn what_is_remembered_is_what_was_read_and_another_severity_is_another_text() {
        let mut cache = Cache::new();
        let text = b"GenericPLEG: Unable to retrieve pods: x";
        let first = cache.read(text, Severity::Error);
        let (fields, cited) = (first.fields.clone(), Arc::clone(&first.cited));
        cache.keep(first);
        let again = cache.read(text, Severity::Error);
        assert_eq!(again.fields, fields);
        assert!(Arc::ptr_eq(&again.cited, &cited));
        cache.keep(again);
        assert!(!Arc::ptr_eq(
            &cache.read(text, Severity::Info).cited,
            &cited
        ));
        let other = cache.read(b"GenericPLEG: Unable to retrieve pods: y", Severity::Error);
        assert_ne!(other.fields, fields);
    }

    #[test]
    fn a_long_text_is_read_each_time() {
        let mut cache = Cache::new();
        let text = [b"Failed cleaning pods: ".to_vec(), vec![b'x'; MAX_TEXT]].concat();
        let first = cache.read(&text, Severity::Error);
        assert_eq!(first.fields.len(), 1);
        cache.keep(first);
        assert!(cache.0.iter().all(Option::is_none));
    }
}
