//! Several threads that read and search one file: each takes every n-th block, so that its blocks come in order
//! and nobody sorts. What they find does not depend on how many they are.

use super::{ahead::Aside, spots::Spots};
use crate::kubelet::event::prefilter::Wanted;
use std::{
    fs::File,
    io,
    num::NonZeroUsize,
    os::unix::fs::FileExt as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
};

/// How much is read at a time: it is searched while it lies in the cache that the kernel copied it to.
pub(super) const BLOCK: usize = 256 << 10;
/// Blocks a thread may be ahead of the parser, the one that it works on not counted.
const AHEAD: usize = 2;

/// What the parser of the source being read would like to know of the next block. A wish that comes too late costs
/// time, and nothing else.
#[derive(Clone, Debug, Default)]
pub(super) struct Wishes(Arc<Flags>);

#[derive(Debug, Default)]
struct Flags {
    context: AtomicBool,
    begun: AtomicBool,
}

impl Wishes {
    /// Notes whether messages that are context only are wanted, and whether the kubelet's first line was found.
    pub(super) fn set(&self, context: bool, begun: bool) {
        self.0.context.store(context, Ordering::Relaxed);
        self.0.begun.store(begun, Ordering::Relaxed);
    }

    /// Looks at a block as they say.
    pub(super) fn look(&self, block: &[u8]) -> Spots {
        let wanted = match self.0.context.load(Ordering::Relaxed) {
            true => Wanted::All,
            false => Wanted::Messages,
        };
        Spots::of(block, wanted, !self.0.begun.load(Ordering::Relaxed))
    }
}

/// How many threads read, and what for.
#[derive(Clone, Debug)]
pub(super) struct Crew {
    /// Threads that search; one works in the parser's own thread.
    pub(super) threads: NonZeroUsize,
    /// What the parser wants.
    pub(super) wishes: Wishes,
    /// How logs are read ahead of their turn; `None` where each is to be read in it.
    pub(super) aside: Option<Aside>,
}

/// How reading came to its end.
#[derive(Debug)]
pub(super) enum Ended {
    /// All was read.
    Whole,
    /// The one who takes the blocks said so.
    Enough,
    /// The file has no byte there any more.
    Short(u64),
    /// It cannot be read there.
    Failed(u64, io::Error),
}

/// A block that was looked at.
struct Read {
    block: Vec<u8>,
    spots: Spots,
    /// Why it is shorter than it was to be.
    ended: Option<Ended>,
}

/// Hands the blocks of `file` from byte `start` to byte `end` to `take`, in order, until it says no.
pub(super) fn read(
    file: &File,
    (start, end): (u64, u64),
    crew: &Crew,
    take: &mut dyn FnMut(&[u8], &Spots) -> bool,
) -> Ended {
    let blocks = (end - start).div_ceil(BLOCK as u64);
    let threads = (crew.threads.get() as u64).min(blocks);
    if threads > 1
        && let Ok(ended) = together(file, (start, end), threads, &crew.wishes, take)
    {
        return ended;
    }
    let mut buffer = Vec::new();
    for at in (start..end).step_by(BLOCK) {
        let read = one(file, at, end, std::mem::take(&mut buffer), &crew.wishes);
        if !read.block.is_empty() && !take(&read.block, &read.spots) {
            return Ended::Enough;
        }
        if let Some(ended) = read.ended {
            return ended;
        }
        buffer = read.block;
    }
    Ended::Whole
}

/// # Errors
/// A thread cannot be started; nothing was taken then.
fn together(
    file: &File,
    (start, end): (u64, u64),
    threads: u64,
    wishes: &Wishes,
    take: &mut dyn FnMut(&[u8], &Spots) -> bool,
) -> io::Result<Ended> {
    thread::scope(|scope| {
        let step = usize::try_from(threads).unwrap_or(1) * BLOCK;
        let mut hands = Vec::new();
        for number in 0..threads {
            let (to, from) = sync_channel(AHEAD);
            let (back, empty) = sync_channel(AHEAD + 1);
            let first = start + number * BLOCK as u64;
            thread::Builder::new()
                .name("log".to_owned())
                .spawn_scoped(scope, move || {
                    work(file, (first..end).step_by(step), end, wishes, &to, &empty);
                })?;
            hands.push((from, back));
        }
        // The threads end with their next block once nobody takes it.
        for (from, back) in hands.iter().cycle() {
            let Ok(read) = from.recv() else { break };
            if !read.block.is_empty() && !take(&read.block, &read.spots) {
                return Ok(Ended::Enough);
            }
            if let Some(ended) = read.ended {
                return Ok(ended);
            }
            // Full it never is; and a thread that is done takes none.
            drop(back.try_send(read.block));
        }
        Ok(Ended::Whole)
    })
}

fn work(
    file: &File,
    places: impl Iterator<Item = u64>,
    end: u64,
    wishes: &Wishes,
    to: &SyncSender<Read>,
    empty: &Receiver<Vec<u8>>,
) {
    for at in places {
        let buffer = empty.try_recv().unwrap_or_default();
        let read = one(file, at, end, buffer, wishes);
        let failed = read.ended.is_some();
        if to.send(read).is_err() || failed {
            return;
        }
    }
}

/// Reads the block at `at` into `buffer`, and looks at it.
fn one(file: &File, at: u64, end: u64, mut buffer: Vec<u8>, wishes: &Wishes) -> Read {
    let size = usize::try_from(end - at).map_or(BLOCK, |left| left.min(BLOCK));
    buffer.resize(size, 0);
    let (mut done, mut ended) = (0, None);
    while done < size {
        match file.read_at(&mut buffer[done..], at + done as u64) {
            Ok(0) => ended = Some(Ended::Short(at + done as u64)),
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => ended = Some(Ended::Failed(at + done as u64, error)),
        }
        if ended.is_some() {
            buffer.truncate(done);
            break;
        }
    }
    let spots = wishes.look(&buffer);
    Read {
        block: buffer,
        spots,
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
        let crew = Crew {
            threads: NonZeroUsize::new(threads).unwrap(),
            wishes: Wishes::default(),
            aside: None,
        };
        let (mut got, mut left) = (Vec::new(), blocks);
        let ended = read(file, span, &crew, &mut |block, _| {
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
                assert!(matches!(ended, Ended::Whole), "{ended:?}");
                assert!(got == bytes[usize::try_from(start).unwrap()..]);
            }
            let (got, ended) = read_by(threads, &file, (0, end), 2);
            assert!(matches!(ended, Ended::Enough), "{ended:?}");
            assert_eq!(got.len(), 2 * BLOCK);
        }
    }

    #[test]
    fn of_a_file_that_got_shorter_what_is_left_is_handed_on() {
        let file = file(&vec![b'x'; BLOCK * 3 + 7]);
        for threads in [1, 2, 8] {
            let (got, ended) = read_by(threads, &file, (0, 9 << 20), usize::MAX);
            assert_eq!(got.len(), BLOCK * 3 + 7);
            assert!(matches!(ended, Ended::Short(at) if at == got.len() as u64));
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
