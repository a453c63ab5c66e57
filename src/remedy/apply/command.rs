//! Runs a program that acts, until a deadline; its words on standard error are kept.

use crate::io::child::{LAST_BREATH, Running};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const MAX_BYTES: u64 = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandResult {
    Well(String),
    Failed(String),
    /// Not in time: it was given up, and may still be at work.
    Late,
}

/// How much longer than the deadline the thread may take to say that time was up.
const GRACE: Duration = Duration::from_secs(1);

/// Runs `command` for at most `timeout`. A thread starts it and is left behind if it hangs: a program on a dead disk
/// may hold up whoever starts it.
pub(super) fn run(command: Command, timeout: Duration) -> CommandResult {
    let (sender, result) = mpsc::sync_channel(1);
    let started = thread::Builder::new()
        .name("child".to_owned())
        // Nobody listens any more where the send fails.
        .spawn(move || drop(sender.send(ran(command, timeout))));
    match started {
        Ok(_) => result
            .recv_timeout(timeout + LAST_BREATH + GRACE)
            .unwrap_or(CommandResult::Late),
        Err(error) => CommandResult::Failed(format!("cannot be run: {error}")),
    }
}

fn ran(mut command: Command, timeout: Duration) -> CommandResult {
    let until = Instant::now() + timeout;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = match Running::start(&mut command) {
        Ok(running) => running,
        Err(error) => return CommandResult::Failed(format!("cannot be run: {error}")),
    };
    let Ok((bytes, closed)) = running.read(MAX_BYTES, until) else {
        // It runs already.
        return CommandResult::Late;
    };
    let left = until.saturating_duration_since(Instant::now());
    let status = if closed {
        running.wait(left.max(LAST_BREATH))
    } else {
        None
    };
    let words = String::from_utf8_lossy(&bytes).trim().to_owned();
    match status {
        Some(status) if status.success() => CommandResult::Well(words),
        Some(status) if words.is_empty() => CommandResult::Failed(status.to_string()),
        Some(_) => CommandResult::Failed(words),
        None => CommandResult::Late,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, Signal, kill_process};
    use std::{fs, path::Path};

    #[test]
    fn its_words_and_how_it_ended_are_told() {
        let sh = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            run(command, Duration::from_secs(20))
        };
        assert_eq!(sh("echo yes"), CommandResult::Well("yes".to_owned()));
        assert_eq!(
            sh("echo no >&2; exit 3"),
            CommandResult::Failed("no".to_owned())
        );
        assert_eq!(
            sh("exit 3"),
            CommandResult::Failed("exit status: 3".to_owned())
        );
        let missing = run(Command::new("/no/such/program"), Duration::from_secs(20));
        assert!(matches!(missing, CommandResult::Failed(_)), "{missing:?}");
        let mut late = Command::new("sleep");
        late.arg("99");
        assert_eq!(run(late, Duration::from_millis(50)), CommandResult::Late);
    }

    #[test]
    fn a_program_whose_file_system_does_not_answer_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let (served, mounted) = (folder.path().join("served"), folder.path().join("mounted"));
        for path in [&served, &mounted] {
            fs::create_dir(path).unwrap();
        }
        fs::copy("/bin/true", served.join("program")).unwrap();
        let program = mounted.join("program");
        let mut server = Command::new("bindfs")
            .args([Path::new("-f"), &served, &mounted])
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !program.exists() && Instant::now() < until {
            thread::sleep(Duration::from_millis(10));
        }
        let pid = Pid::from_child(&server);
        kill_process(pid, Signal::STOP).unwrap();
        let began = Instant::now();
        let ran = run(Command::new(&program), Duration::from_secs(1));
        let took = began.elapsed();
        kill_process(pid, Signal::CONT).unwrap();
        let unmounted = Command::new("umount").arg("-l").arg(&mounted).status();
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(unmounted.unwrap().success());
        assert_eq!(ran, CommandResult::Late);
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}
