//! The question on the terminal. Only a yes that Enter ends, typed once it was asked for, is a yes; the end of input is
//! not.

use crate::remedy::apply::Interrupts;
use anyhow::Context as _;
use rustix::termios::{QueueSelector, tcflush};
use std::{
    io::{self, BufRead as _, Write as _},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// How often it is looked whether the user pressed Ctrl-C instead.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// Neither: Ctrl-C.
    Interrupted,
}

pub(super) fn confirm(interrupts: &Interrupts) -> anyhow::Result<Answer> {
    // What was typed before the question was seen answers none.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    let mut terminal = io::stderr();
    write!(terminal, "Do it? [y/N] ").and_then(|()| terminal.flush())?;
    let (tell, told) = mpsc::channel();
    // Left behind if the user presses Ctrl-C: nobody reads from the terminal after that.
    thread::Builder::new()
        .name("answer".to_owned())
        .spawn(move || {
            let mut answer = Vec::new();
            let read = io::stdin().lock().read_until(b'\n', &mut answer);
            let _ = tell.send(read.map(|_| answer));
        })
        .context("can't ask")?;
    loop {
        match told.recv_timeout(LOOK) {
            Ok(answer) => {
                let answer = answer.context("can't read the answer")?;
                return Ok(judge(&answer));
            }
            Err(RecvTimeoutError::Timeout) if interrupts.count() > 0 => {
                return Ok(Answer::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Answer::No),
        }
    }
}

fn judge(line: &[u8]) -> Answer {
    let words = line.strip_suffix(b"\n").map(<[u8]>::trim_ascii);
    let yes = |words: &[u8]| words.eq_ignore_ascii_case(b"y") || words.eq_ignore_ascii_case(b"yes");
    match words.is_some_and(yes) {
        true => Answer::Yes,
        false => Answer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_yes_is_a_yes() {
        for yes in ["y\n", "Y\n", " yes \r\n", "YES\n"] {
            assert_eq!(judge(yes.as_bytes()), Answer::Yes, "{yes:?}");
        }
        for no in ["", "y", "yes", "\n", "n\n", "yy\n", "y\0\n", "yes please\n"] {
            assert_eq!(judge(no.as_bytes()), Answer::No, "{no:?}");
        }
    }
}
