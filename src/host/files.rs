//! Files of the kernel, read without waiting and with a bound.

use rustix::fs::OFlags;
use std::{
    fs::File,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Most that is read of one file.
const MOST: u64 = 1 << 20;

/// Returns a file's bytes, cut at 1 MiB.
///
/// # Errors
/// It cannot be opened or read.
pub(super) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    // What is no file (a pipe in a folder that was named) must not make us wait.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns a file's text, cut at 1 MiB; what is no text is replaced.
///
/// # Errors
/// It cannot be opened or read.
pub(super) fn text(path: &Path) -> io::Result<String> {
    bytes(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether that folder is the kernel's own, which answers with the present: it has a link `self`. (A recorded
/// one holds only files.)
pub(super) fn is_live(proc: &Path) -> bool {
    proc.join("self").is_symlink()
}

/// Returns where a file's second moment is: of the kernel's own the file itself, of a recorded one `FILE.later`.
pub(super) fn later(file: &Path, live: bool) -> PathBuf {
    match live {
        true => file.to_owned(),
        false => file.with_extension("later"),
    }
}
