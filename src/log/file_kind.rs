//! Files that are no text, and the command that makes them text; and errors in opening a file.

use crate::io::decompress::Compression;
use anyhow::{anyhow, bail};
use std::io;

/// # Errors
/// `head` begins no text; with the command that makes `file` text.
pub(super) fn require_text(head: &[u8], file: &str) -> anyhow::Result<()> {
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
    if head.starts_with(b"LPKSHHRH") {
        match file {
            "-" => bail!("it is a journald file: save it, and name it with --journal-from"),
            file => bail!("it is a journald file: name it with --journal-from={file}"),
        }
    }
    match KINDS.iter().find(|(magic, ..)| head.starts_with(magic)) {
        Some((_, kind, cure)) => bail!(
            "it is {kind}: {} | plegdoctor diagnose --log -",
            cure.replace("{}", file)
        ),
        None => Ok(()),
    }
}

/// # Errors
/// `head`, which was decompressed, begins no text.
pub(super) fn require_text_inside(head: &[u8]) -> anyhow::Result<()> {
    if Compression::detect(head).is_some() {
        bail!("it is compressed twice: decompress it once");
    }
    require_text(head, "-").map_err(|error| error.context("it is compressed, but not text"))
}

pub(super) fn explain_open(error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            anyhow!("{error}: name an existing log, or none to let plegdoctor look for it")
        }
        io::ErrorKind::PermissionDenied => anyhow!("{error}: run plegdoctor as root"),
        _ => anyhow!("{error}"),
    }
}
