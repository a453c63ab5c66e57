//! What is no text, and the command that makes it one; and what keeps a file from being opened.

use anyhow::{anyhow, bail};
use std::io;

/// Refuses what is neither text nor compressed text.
///
/// # Errors
/// It is; with the command that makes it text.
pub(in crate::log) fn refuse(head: &[u8], given: &str) -> anyhow::Result<()> {
    if head.starts_with(b"LPKSHHRH") {
        match given {
            "-" => bail!(
                "it is journald's own form: unpack it to a file, and name that with --journal-from"
            ),
            file => bail!("it is journald's own form: name it with --journal-from={file}"),
        }
    }
    match not_text(head) {
        Some((kind, cure)) => bail!(
            "it is {kind}: {} | plegdoctor diagnose --log -",
            cure.replace("{}", given)
        ),
        None => Ok(()),
    }
}

/// Returns what kind of file begins with `head`, if it is no text, and the command that makes it one.
fn not_text(head: &[u8]) -> Option<(&'static str, &'static str)> {
    const KINDS: [(&[u8], &str, &str); 9] = [
        (b"\x04\x22\x4d\x18", "compressed (lz4)", "lz4 -dc {}"),
        (b"\x1f\x9d", "compressed (compress)", "gzip -dc {}"),
        (b"\x1f\xa0", "compressed (lzh)", "gzip -dc {}"),
        (b"LZIP\x01", "compressed (lzip)", "lzip -dc {}"),
        (b"\x89LZO\0", "compressed (lzop)", "lzop -dc {}"),
        (b"PK\x03\x04", "a zip archive", "unzip -p {}"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so {}"),
        (b"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 {}"),
        (b"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 {}"),
    ];
    KINDS
        .iter()
        .find(|(magic, ..)| head.starts_with(magic))
        .map(|&(_, kind, cure)| (kind, cure))
}

/// Returns the system's words with what to do about it.
pub(in crate::log) fn explain(error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            anyhow!("{error}: name a log that is there, or none to let plegdoctor look for it")
        }
        io::ErrorKind::PermissionDenied => anyhow!("{error}: run plegdoctor as root"),
        _ => anyhow!("{error}"),
    }
}
