//! Bytes that are kept compressed while more come: a node may be short of memory just now, and logs shrink to a tenth.

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use std::io::{self, Read, Write as _};

/// Bytes, compressed.
#[derive(Debug)]
pub struct Packed {
    encoder: DeflateEncoder<Vec<u8>>,
    length: u64,
}

impl Default for Packed {
    fn default() -> Self {
        Self {
            encoder: DeflateEncoder::new(Vec::new(), Compression::fast()),
            length: 0,
        }
    }
}

impl Packed {
    /// Adds bytes at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        // A vector takes whatever it is given.
        let _ = self.encoder.write_all(bytes);
    }

    /// Returns how many bytes were added.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the bytes as they were added.
    pub fn unpack(self) -> io::Result<impl Read> {
        let packed = self.encoder.finish()?;
        Ok(DeflateDecoder::new(io::Cursor::new(packed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_as_it_went_in() {
        let mut packed = Packed::default();
        for piece in [&b"one\n"[..], b"", &[0, 255, 10]] {
            packed.push(piece);
        }
        assert_eq!(packed.length(), 7);
        let mut bytes = Vec::new();
        packed.unpack().unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"one\n\0\xff\n");
    }
}
