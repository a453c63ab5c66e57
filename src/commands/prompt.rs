//! The question on the terminal. Only a yes that Enter ends, typed once it was asked for, is a yes; the end of input is
//! not.

use crate::remedy::apply::Interrupts;
use anyhow::Context as _;
use rustix::termios::{QueueSelector, tcflush};
use std::io::{BufRead as _, Write as _};
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use std::{io, thread};

/// How often it is looked whether the user pressed Ctrl-C instead.
const POLL: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// Neither: Ctrl-C.
    Interrupted,
}

/// Drops what was typed before the question was seen: it answers none.
pub(super) fn discard_typed() {
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

pub(super) fn confirm(question: &str, interrupts: &Interrupts) -> anyhow::Result<Answer> {
    let mut terminal = io::stderr();
    write!(terminal, "{question} [y/N] ").and_then(|()| terminal.flush())?;
    let (sender, answers) = mpsc::channel();
    // Left behind if the user presses Ctrl-C: nobody reads from the terminal after that.
    thread::Builder::new()
        .name("answer".to_owned())
        .spawn(move || {
            let mut answer = Vec::new();
            let read = io::stdin().lock().read_until(b'\n', &mut answer);
            let _ = sender.send(read.map(|_| answer));
        })
        .context("can't ask")?;
    loop {
        match answers.recv_timeout(POLL) {
            Ok(answer) => {
                let answer = answer.context("can't read the answer")?;
                return Ok(parse(&answer));
            }
            Err(RecvTimeoutError::Timeout) if interrupts.count() > 0 => {
                return Ok(Answer::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Answer::No),
        }
    }
}

fn parse(line: &[u8]) -> Answer {
    let words = line.strip_suffix(b"\n").map(<[u8]>::trim_ascii);
    let yes = |words: &[u8]| words.eq_ignore_ascii_case(b"y") || words.eq_ignore_ascii_case(b"yes");
    if words.is_some_and(yes) {
        Answer::Yes
    } else {
        Answer::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_yes_is_a_yes() {
        for yes in ["y\n", "Y\n", " yes \r\n", "YES\n"] {
            assert_eq!(parse(yes.as_bytes()), Answer::Yes, "{yes:?}");
        }
        for no in ["", "y", "yes", "\n", "n\n", "yy\n", "y\0\n", "yes please\n"] {
            assert_eq!(parse(no.as_bytes()), Answer::No, "{no:?}");
        }
    }
}
