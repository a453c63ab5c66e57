//! The four ways of unpacking behind one step. Names the crates, and nothing else does.

use super::{Kind, Trouble, is_skippable};
use flate2::{Decompress, FlushDecompress};
use liblzma::stream::{self as xz, Action};
use zstd::stream::raw::{self, DParameter, InBuffer, Operation as _, OutBuffer};

/// What zlib's windows have at most, as a power of two.
const GZIP: u8 = 15;
/// What a decoder of bzip2 takes.
const BZIP2: u64 = 4 << 20;
/// With how much memory xz begins; it is given twice as much for as long as it asks.
const XZ: u64 = 1 << 20;
/// What a decoder of xz takes besides its dictionary.
const XZ_BESIDES: u64 = 1 << 20;
/// The largest window that zstd's own decoder is allowed, as a power of two; ours is checked before.
const ZSTD: u32 = 27;

/// Unpacks one member.
pub(super) enum Codec {
    Gzip(Box<Decompress>),
    Zstd(raw::Decoder<'static>),
    Xz(xz::Stream),
    Bzip2(bzip2::Decompress),
}

/// What a step came to.
pub(super) struct Step {
    /// Compressed bytes taken.
    pub(super) read: usize,
    /// Unpacked bytes given.
    pub(super) wrote: usize,
    /// Whether the member came to its end.
    pub(super) end: Result<bool, Trouble>,
}

impl Codec {
    /// Begins a member that starts with `head`, with the last member's codec if that will do. Returns it with the
    /// memory that its window takes.
    ///
    /// # Errors
    /// It wants more than `room`.
    pub(super) fn begin(
        kind: Kind,
        head: &[u8],
        room: u64,
        last: Option<Self>,
    ) -> Result<(Self, u64), Trouble> {
        let damaged = |error: &dyn std::error::Error| Trouble::Damaged(kind, error.to_string());
        Ok(match (kind, last) {
            (Kind::Gzip, _) => (Self::Gzip(Box::new(Decompress::new_gzip(GZIP))), 0),
            (Kind::Zstd, last) => {
                let window = window(head).unwrap_or_default();
                if window > room {
                    return Err(Trouble::Window(kind, Some(window), room));
                }
                match last {
                    Some(Self::Zstd(decoder)) => (Self::Zstd(decoder), window),
                    _ => {
                        let mut decoder = raw::Decoder::new().map_err(|error| damaged(&error))?;
                        decoder
                            .set_parameter(DParameter::WindowLogMax(ZSTD))
                            .map_err(|error| damaged(&error))?;
                        (Self::Zstd(decoder), window)
                    }
                }
            }
            (Kind::Xz, _) => {
                let stream =
                    xz::Stream::new_stream_decoder(XZ, 0).map_err(|error| damaged(&error))?;
                (Self::Xz(stream), XZ)
            }
            (Kind::Bzip2, _) => (Self::Bzip2(bzip2::Decompress::new(false)), BZIP2),
        })
    }

    /// Returns how much memory it takes by now, as far as that changes.
    pub(super) fn need(&self) -> u64 {
        match self {
            Self::Xz(stream) => stream.memlimit(),
            _ => 0,
        }
    }

    /// Unpacks from `input` to `out`. What came out before trouble counts.
    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8], room: u64) -> Step {
        match self {
            Self::Gzip(codec) => {
                let before = (codec.total_in(), codec.total_out());
                let status = codec.decompress(input, out, FlushDecompress::None);
                let (read, wrote) = since(before, (codec.total_in(), codec.total_out()));
                let end = match status {
                    Ok(status) => Ok(status == flate2::Status::StreamEnd),
                    Err(error) => Err(Trouble::Damaged(
                        Kind::Gzip,
                        error.message().unwrap_or("it makes no sense").to_owned(),
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
                    Err(error) => Err(Trouble::Damaged(Kind::Bzip2, error.to_string())),
                };
                Step { read, wrote, end }
            }
            Self::Zstd(codec) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(out));
                let status = codec.run(&mut from, &mut to);
                let (read, wrote) = (from.pos(), to.pos());
                let end = match status {
                    // Without a byte it says what it would like next.
                    Ok(hint) => Ok(hint == 0 && (read > 0 || wrote > 0)),
                    Err(error) => Err(Trouble::Damaged(Kind::Zstd, error.to_string())),
                };
                Step { read, wrote, end }
            }
            Self::Xz(stream) => unxz(stream, input, out, room),
        }
    }
}

fn unxz(stream: &mut xz::Stream, input: &[u8], out: &mut [u8], room: u64) -> Step {
    let start = (stream.total_in(), stream.total_out());
    let most = room.saturating_add(XZ_BESIDES);
    let (mut read, mut wrote) = (0, 0);
    loop {
        let status = stream.process(&input[read..], &mut out[wrote..], Action::Run);
        (read, wrote) = since(start, (stream.total_in(), stream.total_out()));
        let end = match status {
            Ok(status) => Ok(status == xz::Status::StreamEnd),
            Err(xz::Error::MemLimit) if give(stream, most) => continue,
            Err(xz::Error::MemLimit) => Err(Trouble::Window(Kind::Xz, None, room)),
            Err(error) => Err(Trouble::Damaged(Kind::Xz, error.to_string())),
        };
        return Step { read, wrote, end };
    }
}

/// Gives the decoder as much memory as it asks for, or a little more. Returns whether `most` is enough.
fn give(stream: &mut xz::Stream, most: u64) -> bool {
    let mut limit = stream.memlimit();
    while limit < most {
        limit = most.min(limit * 2);
        // It takes no less than it needs.
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

/// Returns the window that a frame of zstd wants (RFC 8878, 3.1.1.1).
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
    // All of it is the window: its size stands after the dictionary's number.
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
