//! One process, held fast: what is signalled is the one that was looked at, never another that got its number since.

use crate::node::{State, observe::process};
use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal},
};
use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(5);

pub(super) struct ProcessHandle {
    pid: Pid,
    start_ticks: u64,
    /// What it was called when it was taken hold of: another program under the same number calls itself otherwise.
    comm: String,
    /// What the kernel holds it by, from 5.3 on.
    fd: Option<OwnedFd>,
}

impl ProcessHandle {
    /// Holds process `pid`, if it is the one that was started at `start_ticks`.
    ///
    /// # Errors
    /// It is gone, or another; says so in words.
    pub(super) fn new(pid: u32, start_ticks: u64) -> Result<Self, String> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let Some(number) = number.filter(|number| !number.is_init()) else {
            return Err(format!("PID {pid} may not be signalled"));
        };
        let fd = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(fd) => Some(fd),
            Err(Errno::SRCH) => return Err(format!("PID {pid} is gone")),
            // An old kernel, or one that forbids it: the start time has to do.
            Err(_) => None,
        };
        // After it was opened: from here on the descriptor names none but this one.
        match process::stat(pid) {
            Some(stat) if stat.start_ticks != start_ticks => {
                Err(format!("PID {pid} was reused by a newer process"))
            }
            Some(stat) if stat.state == State::Dead => Err(format!("PID {pid} has exited")),
            Some(stat) => Ok(Self {
                pid: number,
                start_ticks,
                comm: stat.comm,
                fd,
            }),
            None => Err(format!("PID {pid} is gone")),
        }
    }

    pub(super) fn state(&self) -> Option<State> {
        let pid = u32::try_from(self.pid.as_raw_nonzero().get()).ok()?;
        let stat = process::stat(pid).filter(|stat| stat.start_ticks == self.start_ticks)?;
        Some(stat.state).filter(|&state| state != State::Dead)
    }

    /// Whether it runs another program than when it was taken hold of: a runtime's `init` has become the workload. It
    /// costs no memory of that process to tell, so that it answers however sick that is.
    pub(super) fn is_another_program(&self) -> bool {
        let pid = u32::try_from(self.pid.as_raw_nonzero().get()).ok();
        let stat = pid.and_then(process::stat);
        stat.is_some_and(|stat| stat.start_ticks == self.start_ticks && stat.comm != self.comm)
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), Errno> {
        let sent = match &self.fd {
            Some(fd) => pidfd_send_signal(fd, signal),
            // Within microseconds nobody gets a number that has just become free.
            None if self.state().is_some() => kill_process(self.pid, signal),
            None => Ok(()),
        };
        match sent {
            Err(Errno::SRCH) => Ok(()),
            sent => sent,
        }
    }

    /// Waits until it has ended, at most `limit` and not beyond what `enough` says; returns whether it has.
    pub(super) fn wait(&self, limit: Duration, enough: &dyn Fn() -> bool) -> bool {
        let until = Instant::now() + limit;
        loop {
            if self.state().is_none() {
                return true;
            }
            if Instant::now() >= until || enough() {
                return false;
            }
            thread::sleep(POLL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleep() -> (Child, u64) {
        let child = Command::new("sleep").arg("99").spawn().unwrap();
        let ticks = process::stat(child.id()).unwrap().start_ticks;
        (child, ticks)
    }

    #[test]
    fn a_process_started_at_another_time_is_not_held() {
        let (mut child, ticks) = sleep();
        for wrong in [ticks - 1, ticks + 1, 0] {
            let refused = ProcessHandle::new(child.id(), wrong).err().unwrap();
            assert!(refused.contains("reused by a newer process"), "{refused}");
        }
        assert!(child.try_wait().unwrap().is_none(), "nothing was sent");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn one_that_has_become_another_program_is_told_from_what_it_was() {
        let mut child = Command::new("sh")
            .args(["-c", "read line; exec sleep 99"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // Its name is its own only once it has begun.
        while process::stat(child.id()).unwrap().comm != "sh" {
            thread::sleep(POLL);
        }
        let ticks = process::stat(child.id()).unwrap().start_ticks;
        let pinned = ProcessHandle::new(child.id(), ticks).unwrap();
        assert!(!pinned.is_another_program());
        drop(child.stdin.take());
        let until = Instant::now() + Duration::from_secs(20);
        while !pinned.is_another_program() {
            assert!(Instant::now() < until);
            thread::sleep(POLL);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!pinned.is_another_program(), "one that is gone is none");
    }

    #[test]
    fn the_first_process_and_those_that_are_none_are_not_held() {
        for pid in [0, 1, u32::MAX] {
            assert!(ProcessHandle::new(pid, 0).is_err(), "{pid}");
        }
    }

    #[test]
    fn what_is_held_gets_signals_and_is_seen_to_end_with_and_without_a_descriptor() {
        for with in [true, false] {
            let (mut child, ticks) = sleep();
            let mut pinned = ProcessHandle::new(child.id(), ticks).unwrap();
            if !with {
                pinned.fd = None;
            }
            assert!(!pinned.wait(Duration::from_millis(20), &|| false));
            pinned.signal(Signal::STOP).unwrap();
            while pinned.state() != Some(State::Stopped) {
                thread::sleep(POLL);
            }
            pinned.signal(Signal::KILL).unwrap();
            // Not waited for yet, it is dead all the same.
            assert!(pinned.wait(Duration::from_secs(20), &|| false));
            child.wait().unwrap();
            assert_eq!(pinned.state(), None);
            pinned.signal(Signal::TERM).unwrap();
            let refused = ProcessHandle::new(child.id(), ticks).err();
            assert!(refused.is_some());
        }
    }
}
