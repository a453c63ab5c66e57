//! Threads that read and scan one file: each takes every n-th block, so that blocks come in order without sorting. The
//! result does not depend on how many there are.

use super::line_index::LineIndex;
use crate::kubelet::event::prefilter::Wanted;
use std::fs::File;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::{io, thread};

/// Bytes that are read at a time: scanned while they are in the cache that the kernel copied them to.
pub(super) const BLOCK: usize = 256 << 10;
/// Blocks by which a thread may be ahead of the parser, without the one that it works on.
const MAX_AHEAD: usize = 2;

/// What the parser wants to know of the next block. A hint that comes too late costs time only.
#[derive(Clone, Debug, Default)]
pub(super) struct ScanHints(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    context: AtomicBool,
    begun: AtomicBool,
}

impl ScanHints {
    /// Sets whether messages that are context only are wanted, and whether the kubelet's first line was found.
    pub(super) fn set(&self, context: bool, begun: bool) {
        self.0.context.store(context, Ordering::Relaxed);
        self.0.begun.store(begun, Ordering::Relaxed);
    }

    pub(super) fn scan(&self, block: &[u8]) -> LineIndex {
        let wanted = if self.0.context.load(Ordering::Relaxed) {
            Wanted::All
        } else {
            Wanted::Messages
        };
        LineIndex::new(block, wanted, !self.0.begun.load(Ordering::Relaxed))
    }
}

#[derive(Clone, Debug)]
pub(super) struct ScanPool {
    /// Threads that scan; a single one is the parser's own.
    pub(super) threads: NonZeroUsize,
    pub(super) hints: ScanHints,
}

#[derive(Debug)]
pub(super) enum Ended {
    Complete,
    /// The consumer stopped it.
    Stopped,
    /// The file ends at this byte by now.
    Truncated(u64),
    /// It cannot be read at this byte.
    Failed(u64, io::Error),
}

struct Scanned {
    block: Vec<u8>,
    index: LineIndex,
    /// Why the block is shorter than requested.
    ended: Option<Ended>,
}

impl ScanPool {
    /// Hands the blocks of `file` from byte `start` to byte `end` to `emit`, in order, until it returns false.
    pub(super) fn read(
        &self,
        file: &File,
        (start, end): (u64, u64),
        emit: &mut dyn FnMut(&[u8], &LineIndex) -> bool,
    ) -> Ended {
        let blocks = (end - start).div_ceil(BLOCK as u64);
        let threads = (self.threads.get() as u64).min(blocks);
        if threads > 1
            && let Ok(ended) = read_parallel(file, (start, end), threads, &self.hints, emit)
        {
            return ended;
        }
        let mut buffer = Vec::new();
        for at in (start..end).step_by(BLOCK) {
            let read = read_block(file, at, end, std::mem::take(&mut buffer), &self.hints);
            if !read.block.is_empty() && !emit(&read.block, &read.index) {
                return Ended::Stopped;
            }
            if let Some(ended) = read.ended {
                return ended;
            }
            buffer = read.block;
        }
        Ended::Complete
    }
}

/// # Errors
/// A thread cannot be started; nothing was emitted then.
fn read_parallel(
    file: &File,
    (start, end): (u64, u64),
    threads: u64,
    hints: &ScanHints,
    emit: &mut dyn FnMut(&[u8], &LineIndex) -> bool,
) -> io::Result<Ended> {
    thread::scope(|scope| {
        let step = usize::try_from(threads).unwrap_or(1) * BLOCK;
        let mut workers = Vec::new();
        for number in 0..threads {
            let (to, from) = sync_channel(MAX_AHEAD);
            let (back, empty) = sync_channel(MAX_AHEAD + 1);
            let first = start + number * BLOCK as u64;
            thread::Builder::new()
                .name("log".to_owned())
                .spawn_scoped(scope, move || {
                    work(file, (first..end).step_by(step), end, hints, &to, &empty);
                })?;
            workers.push((from, back));
        }
        // The threads end with their next block once its receiver is dropped.
        for (from, back) in workers.iter().cycle() {
            let Ok(read) = from.recv() else { break };
            if !read.block.is_empty() && !emit(&read.block, &read.index) {
                return Ok(Ended::Stopped);
            }
            if let Some(ended) = read.ended {
                return Ok(ended);
            }
            // It is never full; and a thread that is done takes none.
            drop(back.try_send(read.block));
        }
        Ok(Ended::Complete)
    })
}

fn work(
    file: &File,
    places: impl Iterator<Item = u64>,
    end: u64,
    hints: &ScanHints,
    to: &SyncSender<Scanned>,
    empty: &Receiver<Vec<u8>>,
) {
    for at in places {
        let buffer = empty.try_recv().unwrap_or_default();
        let read = read_block(file, at, end, buffer, hints);
        let ended = read.ended.is_some();
        if to.send(read).is_err() || ended {
            return;
        }
    }
}

fn read_block(file: &File, at: u64, end: u64, mut buffer: Vec<u8>, hints: &ScanHints) -> Scanned {
    let size = usize::try_from(end - at).map_or(BLOCK, |left| left.min(BLOCK));
    buffer.resize(size, 0);
    let (mut done, mut ended) = (0, None);
    while done < size {
        match file.read_at(&mut buffer[done..], at + done as u64) {
            Ok(0) => ended = Some(Ended::Truncated(at + done as u64)),
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => ended = Some(Ended::Failed(at + done as u64, error)),
        }
        if ended.is_some() {
            buffer.truncate(done);
            break;
        }
    }
    let index = hints.scan(&buffer);
    Scanned {
        block: buffer,
        index,
        ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn read_by(threads: usize, file: &File, span: (u64, u64), blocks: usize) -> (Vec<u8>, Ended) {
        let pool = ScanPool {
            threads: NonZeroUsize::new(threads).unwrap(),
            hints: ScanHints::default(),
        };
        let (mut got, mut left) = (Vec::new(), blocks);
        let ended = pool.read(file, span, &mut |block, _| {
            got.extend_from_slice(block);
            left -= 1;
            left > 0
        });
        (got, ended)
    }

    #[test]
    fn blocks_come_in_order_whoever_reads_them() {
        let bytes: Vec<u8> = (0..1_500_000_u32).flat_map(u32::to_le_bytes).collect();
        let file = file(&bytes);
        let end = bytes.len() as u64;
        for threads in [1, 2, 3, 16] {
            for start in [0, 1, 5 << 20, end - 1, end] {
                let (got, ended) = read_by(threads, &file, (start, end), usize::MAX);
                assert!(matches!(ended, Ended::Complete), "{ended:?}");
                assert!(got == bytes[usize::try_from(start).unwrap()..]);
            }
            let (got, ended) = read_by(threads, &file, (0, end), 2);
            assert!(matches!(ended, Ended::Stopped), "{ended:?}");
            assert_eq!(got.len(), 2 * BLOCK);
        }
    }

    #[test]
    fn of_a_file_that_got_shorter_what_is_left_is_handed_on() {
        let file = file(&vec![b'x'; BLOCK * 3 + 7]);
        for threads in [1, 2, 8] {
            let (got, ended) = read_by(threads, &file, (0, 9 << 20), usize::MAX);
            assert_eq!(got.len(), BLOCK * 3 + 7);
            assert!(matches!(ended, Ended::Truncated(at) if at == got.len() as u64));
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_fails() {
        let directory = File::open("/").unwrap();
        for threads in [1, 2] {
            let (got, ended) = read_by(threads, &directory, (0, 3 << 20), usize::MAX);
            assert!(got.is_empty());
            assert!(matches!(ended, Ended::Failed(0, _)), "{ended:?}");
        }
    }
}
