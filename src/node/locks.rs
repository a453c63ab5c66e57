//! Reads the kernel's table of file locks, `proc_locks(5)`. Text in, values out; what makes no sense is left out.

use super::Process;

/// A lock of a whole file (`flock(2)`), who has it and who waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLock {
    /// The process that took it. One that it made may hold it after its end.
    pub holder: u32,
    pub comm: Option<String>,
    /// The processes that the kernel lets wait for it. Who only tries again and again is not among them.
    pub waiters: Vec<u32>,
}

impl FileLock {
    pub fn concerns(&self, process: &Process) -> bool {
        self.holder == process.pid || self.waiters.contains(&process.pid)
    }
}

/// The locks by `flock`. Below each stand those who wait for it, with the same number, an arrow and, of some kernels, a
/// deeper indent. Of locks that belong to no process (`-1`), or to one of another PID namespace, the kernel shows no
/// number.
pub fn flocks(text: &str) -> Vec<FileLock> {
    let mut locks: Vec<FileLock> = Vec::new();
    let mut above = None;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().peekable();
        let number = words.next();
        let waits = words.next_if_eq(&"->").is_some();
        let is_flock = words.next() == Some("FLOCK");
        let pid = words.nth(2).and_then(|word| word.parse().ok());
        match (waits, is_flock, pid) {
            (false, true, Some(holder)) => {
                above = number;
                locks.push(FileLock {
                    holder,
                    comm: None,
                    waiters: Vec::new(),
                });
            }
            (true, true, Some(pid)) if above == number => {
                if let Some(lock) = locks.last_mut() {
                    lock.waiters.push(pid);
                }
            }
            (false, ..) => above = None,
            (true, ..) => {}
        }
    }
    locks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(u32, Vec<u32>)> {
        let locks = flocks(text).into_iter();
        locks.map(|lock| (lock.holder, lock.waiters)).collect()
    }

    #[test]
    fn holders_and_those_who_wait_are_told_apart() {
        // Linux 6.18.
        let text = "\
1: FLOCK  ADVISORY  WRITE 890 fe:00:10012671 0 EOF
1: -> FLOCK  ADVISORY  WRITE 898 fe:00:10012671 0 EOF
1:  -> FLOCK  ADVISORY  WRITE 896 fe:00:10012671 0 EOF
2: FLOCK  ADVISORY  WRITE 803 fe:00:6719567 0 EOF
3: POSIX  ADVISORY  WRITE 802 fe:00:6719621 0 EOF
3: -> POSIX  ADVISORY  WRITE 801 fe:00:6719621 0 EOF
";
        assert_eq!(told(text), [(890, vec![898, 896]), (803, vec![])]);
    }

    #[test]
    fn one_who_waits_is_not_put_to_another_lock() {
        // The holder's line is missing, or has no number of a process.
        for first in ["", "1: FLOCK  ADVISORY  WRITE -1 00:17:1032 0 EOF\n"] {
            let text = format!(
                "5: FLOCK  ADVISORY  WRITE 7 00:17:9 0 EOF\n{first}1: -> FLOCK  ADVISORY  WRITE 9120 00:17:1032 0 EOF\n"
            );
            assert_eq!(told(&text), [(7, vec![])]);
        }
    }

    #[test]
    fn what_makes_no_sense_is_left_out() {
        for text in [
            "",
            "1:",
            "1: FLOCK",
            "1: -> FLOCK ADVISORY WRITE",
            "x\n\n -> ",
            "1: FLOCK  ADVISORY  WRITE 99999999999 0",
        ] {
            assert_eq!(told(text), [], "{text}");
        }
    }
}
