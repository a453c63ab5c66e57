//! A bare HTTP client for Docker's socket, from std alone: what tests do to a daemon must not depend on the
//! program's own client.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use serde_json::Value;
use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::Duration,
};

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Returns the body as JSON; null if it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the body, if the status is a success.
    #[track_caller]
    pub(crate) fn good(self) -> Value {
        let text = String::from_utf8_lossy(&self.body);
        assert!(
            (200..400).contains(&self.status),
            "HTTP {}: {text}",
            self.status
        );
        self.json()
    }
}

/// Sends one request and reads the whole answer; gives up on a read after `patience`.
pub(crate) fn ask(
    socket: &Path,
    method: &str,
    path: &str,
    body: &[u8],
    patience: Duration,
) -> io::Result<Reply> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    let kind = if body.starts_with(b"{") {
        "application/json"
    } else {
        "application/x-tar"
    };
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: docker\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    )?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    parse(&answer).ok_or_else(|| io::Error::other("no HTTP answer"))
}

fn parse(answer: &[u8]) -> Option<Reply> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..end])
        .ok()?
        .to_ascii_lowercase();
    let body = &answer[end + 4..];
    Some(Reply {
        status: head.split(' ').nth(1)?.parse().ok()?,
        body: if head.contains("transfer-encoding: chunked") {
            unchunked(body)
        } else {
            body.to_vec()
        },
    })
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..line]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 2 + size + 2..];
    }
    body
}
