//! The question on the terminal. Only a yes is a yes; the end of input is not.

use crate::apply::Interrupts;
use anyhow::Context as _;
use std::{
    io::{self, BufRead as _, Write as _},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// How often it is looked whether the user pressed Ctrl-C instead.
const LOOK: Duration = Duration::from_millis(50);

/// What was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Yes.
    Yes,
    /// No, or nothing.
    No,
    /// Neither: Ctrl-C.
    Interrupted,
}

/// Asks whether to do what was shown.
///
/// # Errors
/// The terminal can't be written to or read from.
pub(super) fn confirm(interrupts: &Interrupts) -> anyhow::Result<Answer> {
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
                let answer = answer.trim_ascii();
                let yes = answer.eq_ignore_ascii_case(b"y") || answer.eq_ignore_ascii_case(b"yes");
                return Ok(if yes { Answer::Yes } else { Answer::No });
            }
            Err(RecvTimeoutError::Timeout) if interrupts.count() > 0 => {
                return Ok(Answer::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Answer::No),
        }
    }
}
