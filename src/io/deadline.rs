//! Reading that may never end: a thread reads, and is left behind when time is up. A read of a dead disk sleeps
//! in the kernel, where nothing can end it.

use std::{
    io::{self, Read},
    sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

/// How many pieces wait for their reader.
const AHEAD: usize = 4;
/// How much is read at a time.
const BLOCK: usize = 64 << 10;

/// How reading came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// All was read.
    Whole,
    /// Time was up.
    Late,
    /// Enough was read.
    Enough,
}

/// Runs `produce` in a thread and hands what it sends to `take`, until it ends, `take` says no, or time is up.
/// The thread then ends with its next send, if it comes to that.
///
/// # Errors
/// No thread can be started.
pub(crate) fn pump<T: Send + 'static>(
    deadline: Instant,
    produce: impl FnOnce(&SyncSender<T>) + Send + 'static,
    take: &mut dyn FnMut(T) -> bool,
) -> io::Result<Ended> {
    pump_steadily(deadline, Duration::MAX, produce, take)
}

/// As `pump`, but gives up as well when nothing comes for as long as `silence`.
///
/// # Errors
/// No thread can be started.
pub(crate) fn pump_steadily<T: Send + 'static>(
    deadline: Instant,
    silence: Duration,
    produce: impl FnOnce(&SyncSender<T>) + Send + 'static,
    take: &mut dyn FnMut(T) -> bool,
) -> io::Result<Ended> {
    let (sender, receiver) = sync_channel(AHEAD);
    thread::Builder::new()
        .name("log".to_owned())
        .spawn(move || produce(&sender))?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        // A sender that always has something would never let the time-out come.
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

/// Sends what `from` gives, in blocks. A failure to read is its end.
pub(crate) fn send_blocks(mut from: impl Read, to: &SyncSender<io::Result<Vec<u8>>>) {
    let mut block = vec![0; BLOCK];
    loop {
        let sent = match from.read(&mut block) {
            Ok(0) => return,
            Ok(read) => to.send(Ok(block[..read].to_vec())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => {
                // Nobody may be listening any more; there is nothing more to say then.
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
        let ended = pump(
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
        let ended = pump_steadily(later, silence, produce, &mut |_| true);
        assert_eq!(ended.unwrap(), Ended::Late);
        assert!(Instant::now() < later - Duration::from_secs(50));
    }

    #[test]
    fn a_reader_that_never_stops_is_cut_off() {
        let endless = |to: &SyncSender<u8>| while to.send(0).is_ok() {};
        assert_eq!(pump(soon(), endless, &mut |_| true).unwrap(), Ended::Late);
        let later = Instant::now() + Duration::from_secs(60);
        let mut left = 10;
        let ended = pump(later, endless, &mut |_| {
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
        let ended = pump(
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
