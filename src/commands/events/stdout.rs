//! Standard output that never blocks: it is written to while it has room, and a closed one is noticed before anything
//! is written.

use crate::remedy::apply::Interrupts;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{self as system, Errno},
};
use std::io;
use std::io::Write;
use std::os::fd::{AsFd as _, OwnedFd};

/// A pipe that has room takes so many bytes without blocking (pipe(7): PIPE_BUF).
const MAX_WRITE: usize = 4096;
/// How often interrupts are checked while it has no room.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

#[derive(Debug)]
pub(super) struct Stdout {
    to: OwnedFd,
    interrupts: Interrupts,
}

impl Stdout {
    /// Nothing more is written once there are `interrupts`.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub(super) fn new(interrupts: Interrupts) -> io::Result<Self> {
        let to = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self { to, interrupts })
    }

    /// Whether there is a reader, and the user did not interrupt.
    pub(super) fn is_open(&self) -> bool {
        let closed = PollFlags::ERR | PollFlags::HUP;
        let seen = self.poll(PollFlags::empty(), &NO_WAIT);
        self.interrupts.count() == 0 && !seen.is_ok_and(|seen| seen.intersects(closed))
    }

    fn poll(&self, events: PollFlags, timeout: &Timespec) -> io::Result<PollFlags> {
        let mut asked = [PollFd::new(&self.to, events)];
        match poll(&mut asked, Some(timeout)) {
            Ok(_) => Ok(asked[0].revents()),
            Err(Errno::INTR) => Ok(PollFlags::empty()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Write for &Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            if self.interrupts.count() > 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            // What is closed says so when it is written to.
            if !self.poll(PollFlags::OUT, &POLL_INTERVAL)?.is_empty() {
                let part = &bytes[..bytes.len().min(MAX_WRITE)];
                return Ok(system::write(&self.to, part)?);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
