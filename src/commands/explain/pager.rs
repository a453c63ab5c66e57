//! A long text through the user's pager, as `git` and `man` do it. Without one, or where it can't be run, the text is
//! printed as it is.

use crate::{cli::Pager, remedy::apply::Interrupts};
use std::ffi::OsStr;
use std::io;
use std::io::Write;
use std::process::{Child, Command, ExitStatus, Stdio};

/// What `less` is told: leave at once if all fits on the screen, let colours through, leave the text on the screen.
const LESS: &str = "FRX";

/// Shows `text`, and comes back when the user has seen enough of it.
///
/// # Errors
/// What `out` says. A pager that ends early is no error.
pub(super) fn show(text: &[u8], pager: Option<&Pager>, out: &mut dyn Write) -> io::Result<()> {
    // In a pager Ctrl-C means something else than to end us, from its first moment on: it may have the terminal in a
    // state that only it can undo.
    let _keys = pager.map(|_| Interrupts::watch_keys());
    if let Some(mut child) = pager.and_then(start) {
        if let Some(mut stdin) = child.stdin.take() {
            // Who leaves before the end has seen enough.
            let _ = stdin.write_all(text);
        }
        if !is_missing(child.wait()?) {
            return Ok(());
        }
    }
    out.write_all(text).and_then(|()| out.flush())
}

/// Returns whether what was started is a script, or `env`, that did not find the pager itself.
fn is_missing(ended: ExitStatus) -> bool {
    matches!(ended.code(), Some(126 | 127))
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
