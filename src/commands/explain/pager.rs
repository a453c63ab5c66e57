//! A long text through the user's pager, as `git` and `man` do it. Without one, or where it can't be started, the text is
//! printed as it is.

use crate::{apply::Interrupts, cli::Pager};
use std::{
    ffi::OsStr,
    io::{self, Write},
    process::{Child, Command, Stdio},
};

/// What `less` is told: leave at once if all fits on the screen, let colours through, leave the text on the screen.
const LESS: &str = "FRX";

/// Shows `text`, and comes back when the user has seen enough of it.
///
/// # Errors
/// What `out` says. A pager that ends early is no error.
pub(super) fn show(text: &[u8], pager: Option<&Pager>, out: &mut dyn Write) -> io::Result<()> {
    match pager.and_then(start) {
        Some(mut child) => {
            // In a pager Ctrl-C means something else than to end us.
            let _interrupts = Interrupts::watch();
            if let Some(mut stdin) = child.stdin.take() {
                // Who leaves before the end has seen enough.
                let _ = stdin.write_all(text);
            }
            child.wait().map(drop)
        }
        None => out.write_all(text).and_then(|()| out.flush()),
    }
}

fn start(pager: &Pager) -> Option<Child> {
    let (program, args) = pager.words.split_first()?;
    let mut command = Command::new(OsStr::new(program));
    command.args(args).stdin(Stdio::piped());
    if pager.tell_less {
        command.env("LESS", LESS);
    }
    command.spawn().ok()
}
