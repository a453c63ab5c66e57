//! Reads that may never return, in a thread that is left behind at a deadline: a read of a dead disk sleeps in the kernel,
//! and cannot be ended.

use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Pieces that may wait for their reader.
const MAX_AHEAD: usize = 4;
const BLOCK: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All was read.
    Whole,
    /// Time ran out.
    Late,
    /// Enough was read.
    Enough,
}

/// Runs `produce` in a thread and hands what it sends to `take`, until it ends, `take` returns false, or time runs out.
/// The thread then ends with its next send, if it gets there.
///
/// # Errors
/// No thread can be started.
pub(crate) fn read_until_deadline<T: Send + 'static>(
    deadline: Instant,
    produce: impl FnOnce(&SyncSender<T>) + Send + 'static,
    take: &mut dyn FnMut(T) -> bool,
) -> io::Result<Ended> {
    read_until_silent(deadline, Duration::MAX, produce, take)
}

/// As `read_until_deadline`, but also ends when nothing comes for as long as `silence`.
///
/// # Errors
/// No thread can be started.
pub(crate) fn read_until_silent<T: Send + 'static>(
    deadline: Instant,
    silence: Duration,
    produce: impl FnOnce(&SyncSender<T>) + Send + 'static,
    take: &mut dyn FnMut(T) -> bool,
) -> io::Result<Ended> {
    let (sender, receiver) = sync_channel(MAX_AHEAD);
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || produce(&sender))?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // A sender that always has something would keep the time-out from coming.
        if left.is_zero() {
            return Ok(Ended::Late);
        }
        match receiver.recv_timeout(left.min(silence)) {
            Ok(piece) => {
                if !take(piece) {
                    return Ok(Ended::Enough);
                }
            }
            Err(RecvTimeoutError::Timeout) => return Ok(Ended::Late),
            Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Whole),
        }
    }
}

/// Sends `from` in blocks, up to its end or an error.
pub(crate) fn send_blocks(mut from: impl Read, to: &SyncSender<io::Result<Vec<u8>>>) {
    let mut block = vec![0; BLOCK];
    loop {
        let sent = match from.read(&mut block) {
            Ok(0) => return,
            Ok(read) => to.send(Ok(block[..read].to_vec())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => {
                // The receiver may be gone.
                drop(to.send(Err(error)));
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(200)
    }

    #[test]
    fn a_reader_that_sleeps_for_ever_is_left_behind() {
        let (_never, wait) = channel::<()>();
        let started = Instant::now();
        let mut got = Vec::new();
        let ended = read_until_deadline(
            soon(),
            move |to: &SyncSender<u8>| {
                to.send(1).unwrap();
                let _ = wait.recv();
            },
            &mut |piece| {
                got.push(piece);
                true
            },
        );
        assert_eq!((ended.unwrap(), got), (Ended::Late, vec![1]));
        assert!(started.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a_reader_that_falls_silent_is_left_behind_before_its_time() {
        let (_never, wait) = channel::<()>();
        let later = Instant::now() + Duration::from_secs(60);
        let produce = move |to: &SyncSender<u8>| {
            to.send(1).unwrap();
            let _ = wait.recv();
        };
        let silence = Duration::from_millis(200);
        let ended = read_until_silent(later, silence, produce, &mut |_| true);
        assert_eq!(ended.unwrap(), Ended::Late);
        assert!(Instant::now() < later - Duration::from_secs(50));
    }

    #[test]
    fn a_reader_that_never_stops_is_cut_off() {
        let endless = |to: &SyncSender<u8>| while to.send(0).is_ok() {};
        assert_eq!(
            read_until_deadline(soon(), endless, &mut |_| true).unwrap(),
            Ended::Late
        );
        let later = Instant::now() + Duration::from_secs(60);
        let mut left = 10;
        let ended = read_until_deadline(later, endless, &mut |_| {
            left -= 1;
            left > 0
        });
        assert_eq!(ended.unwrap(), Ended::Enough);
    }

    #[test]
    fn all_blocks_come_in_their_order() {
        let text: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let from = io::Cursor::new(text.clone());
        let mut got = Vec::new();
        let later = Instant::now() + Duration::from_secs(60);
        let ended = read_until_deadline(
            later,
            |to| send_blocks(from, to),
            &mut |block: io::Result<Vec<u8>>| {
                got.extend(block.unwrap());
                true
            },
        );
        assert_eq!(ended.unwrap(), Ended::Whole);
        assert!(got == text);
    }
}
