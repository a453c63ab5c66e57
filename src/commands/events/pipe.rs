//! Standard output for who must not hang on it: it is written to while it has room, and known to be closed before
//! anything is written.

use crate::remedy::apply::Interrupts;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{self as system, Errno},
};
use std::{
    io::{self, Write},
    os::fd::{AsFd as _, OwnedFd},
};

/// A pipe that has room takes so much without waiting (pipe(7): PIPE_BUF).
const ATOMIC: usize = 4096;
/// How often it is asked whether the user wants to stop, while it has no room.
const TURN: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Where the events go.
#[derive(Debug)]
pub(super) struct Pipe {
    to: OwnedFd,
    interrupts: Interrupts,
}

impl Pipe {
    /// Returns standard output, of which nothing more is written once there are `interrupts`.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub(super) fn stdout(interrupts: Interrupts) -> io::Result<Self> {
        let to = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self { to, interrupts })
    }

    /// Returns whether somebody may read on, and wants to.
    pub(super) fn is_open(&self) -> bool {
        let closed = PollFlags::ERR | PollFlags::HUP;
        let seen = self.poll(PollFlags::empty(), &AT_ONCE);
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

impl Write for &Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            if self.interrupts.count() > 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            // What is closed says so when it is written to.
            if !self.poll(PollFlags::OUT, &TURN)?.is_empty() {
                let part = &bytes[..bytes.len().min(ATOMIC)];
                return Ok(system::write(&self.to, part)?);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
