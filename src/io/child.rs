//! A child process that can be abandoned: asked until a deadline, killed, and never waited for without limit.
//!
//! What reads a sick process's memory, or a dead disk, may sleep in the kernel where no signal reaches it. In a
//! thread of ours it would keep us from ending; in a child it keeps only the child.

use super::deadline::{self, Ended};
use rustix::{
    io::Errno,
    process::{
        Pid, Signal, WaitId, WaitIdOptions, kill_process_group, set_parent_process_death_signal,
        setsid, waitid,
    },
};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{io, thread};

/// Our own program, whatever became of its file.
pub(crate) const OWN_PROGRAM: &str = "/proc/self/exe";
/// The subcommand by which our own program reads in a child: ours alone, not shown.
pub(crate) const READ: &str = "read";

/// Our own program as a reader, with nothing of ours but a pipe to answer through.
pub(crate) fn reader() -> Command {
    let mut command = Command::new(OWN_PROGRAM);
    command
        .arg(READ)
        .env_clear()
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The reader's part, before anything that may hang: out of the terminal's reach, and killed with us.
pub(crate) fn detach() {
    // A leader of a group can't, and need not.
    let _ = setsid();
    // Nobody reads on once the parent is gone. If it went before this line, the pipe says so.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}

/// How long a child may take to end after its last word, and to die after it was killed.
pub(crate) const LAST_BREATH: Duration = Duration::from_millis(500);

/// A child with a process group of its own; killed with its group when it is let go.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) child: Child,
    ended: Option<ExitStatus>,
    /// Whether it ended without a word: who started us ignores SIGCHLD, and the kernel keeps no status then (wait(2)).
    gone: bool,
    patience: Duration,
}

impl Running {
    /// Starts it. It has no standard input; what else it may use is for the caller to say.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        Self::spawn(command.stdin(Stdio::null()))
    }

    /// As `start`, but its standard input is a pipe of ours.
    pub(crate) fn start_fed(command: &mut Command) -> io::Result<Self> {
        Self::spawn(command.stdin(Stdio::piped()))
    }

    fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        Ok(Self {
            child,
            ended: None,
            gone: false,
            patience: LAST_BREATH,
        })
    }

    /// Reads the child's standard output, then its standard error, as far as they are pipes: at most `most` bytes of
    /// each, until `until`. Returns them, and whether the pipes were closed in time.
    ///
    /// # Errors
    /// No thread can be started.
    pub(crate) fn read(&mut self, most: u64, until: Instant) -> io::Result<(Vec<u8>, bool)> {
        let (stdout, stderr) = (self.child.stdout.take(), self.child.stderr.take());
        let mut bytes = Vec::new();
        let ended = deadline::read_until_deadline(
            until,
            // One after the other: of an error there is little, and a pipe holds it.
            move |to| {
                if let Some(stdout) = stdout {
                    deadline::send_blocks(stdout.take(most), to);
                }
                if let Some(stderr) = stderr {
                    deadline::send_blocks(stderr.take(most), to);
                }
            },
            &mut |block: io::Result<Vec<u8>>| {
                bytes.extend(block.unwrap_or_default());
                true
            },
        )?;
        Ok((bytes, matches!(ended, Ended::Whole)))
    }

    pub(crate) fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        while !self.has_ended() {
            match self.child.try_wait() {
                Ok(ended) => self.ended = ended,
                Err(error) => {
                    self.gone = error.raw_os_error() == Some(Errno::CHILD.raw_os_error());
                }
            }
            if !self.has_ended() {
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
        self.end(patience)
    }

    /// As `kill`, for who still holds it.
    pub(crate) fn end(&mut self, patience: Duration) -> Option<u32> {
        // The one who lets it go waits no second time.
        self.patience = Duration::ZERO;
        self.signal();
        self.wait(patience);
        (!self.has_ended()).then(|| self.child.id())
    }

    fn has_ended(&self) -> bool {
        self.ended.is_some() || self.gone
    }

    fn signal(&mut self) {
        let pid = Pid::from_child(&self.child);
        // Only a look: as long as it is not waited for, its number and its group's are no one else's.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.gone |= waitid(WaitId::Pid(pid), look).err() == Some(Errno::CHILD);
        if !self.has_ended() {
            // Gone already is as good. One that sleeps in the kernel dies later; nobody waits for it.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal();
        self.wait(self.patience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{WaitOptions, waitpid};

    #[test]
    fn a_child_of_which_the_kernel_keeps_no_status_has_ended_and_does_not_hang() {
        let mut running = Running::start(&mut Command::new("true")).unwrap();
        // As the kernel does for one whose parent ignores SIGCHLD.
        let pid = Pid::from_child(&running.child);
        waitpid(Some(pid), WaitOptions::empty()).unwrap();
        assert_eq!(running.wait(Duration::from_secs(9)), None);
        assert!(running.gone);
        assert_eq!(running.kill(Duration::ZERO), None);
    }

    #[test]
    fn a_child_that_lives_is_killed_and_one_that_fails_says_so() {
        let sleep = Running::start(Command::new("sleep").arg("99")).unwrap();
        assert_eq!(sleep.kill(Duration::from_secs(9)), None);
        let mut fails = Running::start(&mut Command::new("false")).unwrap();
        assert_eq!(fails.wait(Duration::from_secs(9)).unwrap().code(), Some(1));
    }
}
