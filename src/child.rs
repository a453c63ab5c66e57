//! A child process that can be abandoned: asked until a deadline, killed, and never waited for without limit.
//!
//! What reads a sick process's memory, or a dead disk, may sleep in the kernel where no signal reaches it. In a
//! thread of ours it would keep us from ending; in a child it keeps only the child.

use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io,
    os::unix::process::CommandExt as _,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How long a child may take to end after its last word, and to die after it was killed.
pub(crate) const LAST_BREATH: Duration = Duration::from_millis(500);

/// A child with a process group of its own; killed with its group when it is let go.
#[derive(Debug)]
pub(crate) struct Running {
    /// The child.
    pub(crate) child: Child,
    ended: Option<ExitStatus>,
    patience: Duration,
}

impl Running {
    /// Starts it. It has no standard input; what else it may use is for the caller to say.
    ///
    /// # Errors
    /// It cannot be run.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.stdin(Stdio::null()).process_group(0).spawn()?;
        Ok(Self {
            child,
            ended: None,
            patience: LAST_BREATH,
        })
    }

    /// Returns how the child ended, if it does so within `patience`.
    pub(crate) fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        while self.ended.is_none() {
            // A child that cannot be waited for is none of ours any more.
            self.ended = self.child.try_wait().unwrap_or_default();
            if self.ended.is_none() {
                if Instant::now() >= until {
                    return None;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
        self.ended
    }

    /// Kills the child and its group; returns its number if the kernel does not let it die within `patience`.
    pub(crate) fn kill(mut self, patience: Duration) -> Option<u32> {
        // The one who lets it go waits no second time.
        self.patience = Duration::ZERO;
        self.strike();
        match self.wait(patience) {
            Some(_) => None,
            None => Some(self.child.id()),
        }
    }

    fn strike(&self) {
        if self.ended.is_none() {
            // Gone already is as good. One that sleeps in the kernel dies later; nobody waits for it.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.strike();
        self.wait(self.patience);
    }
}
