//! The four formats behind one step. Only this file names their crates.

use super::{Compression, Fault, is_skippable};
use flate2::{Decompress, FlushDecompress};
use liblzma::stream::{self as xz, Action};
use zstd::stream::raw::{self, DParameter, InBuffer, Operation as _, OutBuffer};

/// zlib's largest window, as a power of two.
const GZIP_WINDOW: u8 = 15;
/// Memory of a decoder of bzip2, in bytes.
const BZIP2_MEMORY: u64 = 4 << 20;
/// Memory of a decoder of xz at first, in bytes; doubled as often as it needs.
const XZ_MEMORY: u64 = 1 << 20;
/// Memory of a decoder of xz besides its dictionary.
const XZ_OVERHEAD: u64 = 1 << 20;
/// The limit of zstd's own decoder, as a power of two; ours is checked before.
const ZSTD_WINDOW: u32 = 27;

pub(super) enum Codec {
    Gzip(Box<Decompress>),
    Zstd(raw::Decoder<'static>),
    Xz(xz::Stream),
    Bzip2(bzip2::Decompress),
}

pub(super) struct Step {
    pub(super) read: usize,
    /// Bytes of text written.
    pub(super) wrote: usize,
    pub(super) end: Result<bool, Fault>,
}

impl Codec {
    /// Begins a member that starts with `head`, with the last member's codec if possible. Returns it with the memory of
    /// its window.
    ///
    /// # Errors
    /// It needs more than `room`.
    pub(super) fn begin(
        kind: Compression,
        head: &[u8],
        room: u64,
        last: Option<Self>,
    ) -> Result<(Self, u64), Fault> {
        let damaged = |error: &dyn std::error::Error| Fault::Damaged(kind, error.to_string());
        Ok(match (kind, last) {
            (Compression::Gzip, _) => (Self::Gzip(Box::new(Decompress::new_gzip(GZIP_WINDOW))), 0),
            (Compression::Zstd, last) => {
                let window = window(head).unwrap_or_default();
                if window > room {
                    return Err(Fault::Window(kind, Some(window), room));
                }
                match last {
                    Some(Self::Zstd(decoder)) => (Self::Zstd(decoder), window),
                    _ => {
                        let mut decoder = raw::Decoder::new().map_err(|error| damaged(&error))?;
                        decoder
                            .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW))
                            .map_err(|error| damaged(&error))?;
                        (Self::Zstd(decoder), window)
                    }
                }
            }
            (Compression::Xz, _) => {
                let stream = xz::Stream::new_stream_decoder(XZ_MEMORY, 0)
                    .map_err(|error| damaged(&error))?;
                (Self::Xz(stream), XZ_MEMORY)
            }
            (Compression::Bzip2, _) => (Self::Bzip2(bzip2::Decompress::new(false)), BZIP2_MEMORY),
        })
    }

    pub(super) fn memory(&self) -> u64 {
        match self {
            Self::Xz(stream) => stream.memlimit(),
            _ => 0,
        }
    }

    /// Decodes from `input` to `out`. What was written before a fault counts.
    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8], room: u64) -> Step {
        match self {
            Self::Gzip(codec) => {
                let before = (codec.total_in(), codec.total_out());
                let status = codec.decompress(input, out, FlushDecompress::None);
                let (read, wrote) = since(before, (codec.total_in(), codec.total_out()));
                let end = match status {
                    Ok(status) => Ok(status == flate2::Status::StreamEnd),
                    Err(error) => Err(Fault::Damaged(
                        Compression::Gzip,
                        error.message().unwrap_or("invalid data").to_owned(),
                    )),
                };
                Step { read, wrote, end }
            }
            Self::Bzip2(codec) => {
                let before = (codec.total_in(), codec.total_out());
                let status = codec.decompress(input, out);
                let (read, wrote) = since(before, (codec.total_in(), codec.total_out()));
                let end = match status {
                    Ok(status) => Ok(status == bzip2::Status::StreamEnd),
                    Err(error) => Err(Fault::Damaged(Compression::Bzip2, error.to_string())),
                };
                Step { read, wrote, end }
            }
            Self::Zstd(codec) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(out));
                let status = codec.run(&mut from, &mut to);
                let (read, wrote) = (from.pos(), to.pos());
                let end = match status {
                    // Without progress the hint is about the next input.
                    Ok(hint) => Ok(hint == 0 && (read > 0 || wrote > 0)),
                    Err(error) => Err(Fault::Damaged(Compression::Zstd, error.to_string())),
                };
                Step { read, wrote, end }
            }
            Self::Xz(stream) => unxz(stream, input, out, room),
        }
    }
}

fn unxz(stream: &mut xz::Stream, input: &[u8], out: &mut [u8], room: u64) -> Step {
    let start = (stream.total_in(), stream.total_out());
    let most = room.saturating_add(XZ_OVERHEAD);
    let (mut read, mut wrote) = (0, 0);
    loop {
        let status = stream.process(&input[read..], &mut out[wrote..], Action::Run);
        (read, wrote) = since(start, (stream.total_in(), stream.total_out()));
        let end = match status {
            Ok(status) => Ok(status == xz::Status::StreamEnd),
            Err(xz::Error::MemLimit) if raise_limit(stream, most) => continue,
            Err(xz::Error::MemLimit) => Err(Fault::Window(Compression::Xz, None, room)),
            Err(error) => Err(Fault::Damaged(Compression::Xz, error.to_string())),
        };
        return Step { read, wrote, end };
    }
}

/// Doubles the decoder's memory limit until it is enough. Returns whether `most` is.
fn raise_limit(stream: &mut xz::Stream, most: u64) -> bool {
    let mut limit = stream.memlimit();
    while limit < most {
        limit = most.min(limit * 2);
        // It refuses less than it needs.
        if stream.set_memlimit(limit).is_ok() {
            return true;
        }
    }
    false
}

fn since(before: (u64, u64), after: (u64, u64)) -> (usize, usize) {
    // No step does more than a buffer has room for.
    let moved = |before, after: u64| usize::try_from(after.saturating_sub(before)).unwrap_or(0);
    (moved(before.0, after.0), moved(before.1, after.1))
}

/// The window of a zstd frame (RFC 8878, 3.1.1.1).
fn window(head: &[u8]) -> Option<u64> {
    if is_skippable(head) {
        return Some(0);
    }
    let descriptor = *head.get(4)?;
    let single = descriptor & 0x20 != 0;
    if !single {
        let window = *head.get(5)?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // A single segment: its window is the content size, after the dictionary ID.
    let number = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(head.get(5 + number..5 + number + size)?);
    let size = u64::from_le_bytes(bytes);
    Some(if descriptor >> 6 == 1 {
        size + 256
    } else {
        size
    })
}
