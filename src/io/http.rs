//! One HTTP/1 request on one connection of its own, to a Unix socket or a TCP port, with one deadline for all of it.
//!
//! No pool and no keep-alive: a connection that hangs must not hold up another call, and what is given up must
//! not be reused. No redirects and no TLS. Knows nothing of who is asked but how Docker words errors.

mod url;

pub(crate) use url::Url;

use crate::io::probe::{Outcome, Probe};
use http_body_util::{BodyExt as _, Empty};
use hyper::{
    HeaderMap, Request, Response, StatusCode, Uri,
    body::{Body, Bytes, Incoming},
    client::conn::http1,
    header::{CONNECTION, HOST, HeaderValue},
    http::{response::Parts, uri::Authority},
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::{fmt, io, path::Path, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::{Instant, sleep, timeout_at},
};

/// How long to wait before knocking again at a full listen queue.
const KNOCK_AGAIN: Duration = Duration::from_millis(20);
/// Most bytes read of an answer that is no success.
const MOST_REFUSED: usize = 64 << 20;
/// Most bytes kept of the other side's words.
const WORDS: usize = 4096;

/// Who is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer<'a> {
    /// Who listens on this Unix socket.
    Unix(&'a Path),
    /// Who listens at this host and port.
    Tcp(&'a Authority),
}

/// Why there is no answer, or no good one.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<String>,
}

impl Failure {
    pub(crate) fn new(outcome: Outcome, error: impl Into<String>) -> Self {
        Self {
            outcome,
            error: Some(error.into()),
        }
    }

    /// Nothing at all by the deadline: there are no words to give.
    pub(crate) const SILENCE: Self = Self {
        outcome: Outcome::TimedOut,
        error: None,
    };
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.error.as_deref().unwrap_or("no answer"))
    }
}

// So that it passes through bollard's error type and comes out as it was.
impl std::error::Error for Failure {}

/// What came back, whatever its status.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// A call's end, and the answer's parts; empty where there was no success.
pub(crate) struct Answer {
    pub(crate) probe: Probe,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Asks for `path` and takes what comes, `most` bytes of body at the most. Connecting, asking and the whole answer take
/// at most `timeout`; returns how long they took.
pub(crate) async fn ask(
    peer: Peer<'_>,
    path: &str,
    timeout: Duration,
    most: usize,
) -> (Duration, Result<Reply, Failure>) {
    let started = Instant::now();
    let deadline = started + timeout;
    let reply = async {
        let (head, body) = open(peer, path, deadline).await?;
        let whole = timeout_at(deadline, whole(body, most)).await;
        let broken_off = "its answer began and did not end";
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body: whole.unwrap_or_else(|_| Err(Failure::new(Outcome::TimedOut, broken_off)))?,
        })
    }
    .await;
    (started.elapsed(), reply)
}

/// Asks for `path` as `ask` does, and takes nothing but a success.
pub(crate) async fn get(peer: Peer<'_>, path: &str, timeout: Duration, most: usize) -> Answer {
    let (took, reply) = ask(peer, path, timeout, most).await;
    match reply {
        Ok(reply) if reply.status.is_success() => Answer {
            probe: Probe {
                outcome: Outcome::Answered,
                took,
                error: None,
            },
            headers: reply.headers,
            body: reply.body,
        },
        Ok(reply) => failed(unhappy(reply.status, &reply.body), took),
        Err(failure) => failed(failure, took),
    }
}

/// Returns the answer that a failure is.
pub(crate) fn failed(Failure { outcome, error }: Failure, took: Duration) -> Answer {
    Answer {
        probe: Probe {
            outcome,
            took,
            error,
        },
        headers: HeaderMap::new(),
        body: Vec::new(),
    }
}

/// Asks for `path` and passes the answer's body piece by piece, `most` bytes of it. Returns how that ended, and
/// whether all of the body was passed.
pub(crate) async fn stream(
    peer: Peer<'_>,
    path: &str,
    timeout: Duration,
    most: usize,
    take: &mut dyn FnMut(&[u8]),
) -> (Probe, bool) {
    let started = Instant::now();
    let deadline = started + timeout;
    let passed = async {
        let (head, mut body) = open(peer, path, deadline).await?;
        if !head.status.is_success() {
            let words = timeout_at(deadline, whole(body, MOST_REFUSED)).await;
            return Err(unhappy(head.status, &words.unwrap_or(Ok(Vec::new()))?));
        }
        let mut left = most;
        loop {
            match timeout_at(deadline, body.frame()).await {
                Ok(None) => return Ok(true),
                Ok(Some(Ok(frame))) => {
                    let data = frame.data_ref().map_or(&[][..], |data| data);
                    take(&data[..data.len().min(left)]);
                    if data.len() > left {
                        return Ok(false);
                    }
                    left -= data.len();
                }
                Ok(Some(Err(_))) | Err(_) => return Ok(false),
            }
        }
    }
    .await;
    let took = started.elapsed();
    match passed {
        Ok(all) => (
            Probe {
                outcome: Outcome::Answered,
                took,
                error: None,
            },
            all,
        ),
        Err(Failure { outcome, error }) => (
            Probe {
                outcome,
                took,
                error,
            },
            false,
        ),
    }
}

async fn open(peer: Peer<'_>, path: &str, deadline: Instant) -> Result<(Parts, Incoming), Failure> {
    let uri: Uri = path
        .parse()
        .map_err(|error| Failure::new(Outcome::Error, format!("{path} is no path: {error}")))?;
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.uri_mut() = uri;
    let response = timeout_at(deadline, send(peer, deadline, request))
        .await
        .unwrap_or(Err(Failure::SILENCE))?;
    Ok(response.into_parts())
}

/// Sends `request` on a new connection and returns the answer's head. Waits for a full listen queue until
/// `deadline`; all other waiting is bounded by the caller.
pub(crate) async fn send<B>(
    peer: Peer<'_>,
    deadline: Instant,
    request: Request<B>,
) -> Result<Response<Incoming>, Failure>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match peer {
        Peer::Unix(socket) => {
            let host = HeaderValue::from_static("docker");
            over(connect(socket, deadline).await?, host, request).await
        }
        Peer::Tcp(authority) => {
            let host = HeaderValue::from_str(authority.as_str());
            let host = host.map_err(|error| Failure::new(Outcome::Error, error.to_string()))?;
            let stream = TcpStream::connect(authority.as_str()).await;
            let stream = stream.map_err(|error| unreached_port(authority, &error))?;
            over(stream, host, request).await
        }
    }
}

async fn over<S, B>(
    stream: S,
    host: HeaderValue,
    mut request: Request<B>,
) -> Result<Response<Incoming>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| of_hyper(&e))?;
    // Ends with the sender or the runtime, whichever goes first: both live no longer than the call.
    tokio::spawn(connection);
    let headers = request.headers_mut();
    headers.insert(HOST, host);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    sender.send_request(request).await.map_err(|e| of_hyper(&e))
}

async fn connect(socket: &Path, deadline: Instant) -> Result<UnixStream, Failure> {
    loop {
        match UnixStream::connect(socket).await {
            // EAGAIN: the listen queue is full, as a daemon that accepts nothing leaves it. A busy one empties
            // it within milliseconds.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if Instant::now() + KNOCK_AGAIN >= deadline {
                    return Err(Failure::new(Outcome::TimedOut, "its listen queue is full"));
                }
                sleep(KNOCK_AGAIN).await;
            }
            connected => return connected.map_err(|error| unreached(socket, &error)),
        }
    }
}

/// Returns what a failed connect means.
fn unreached(socket: &Path, error: &io::Error) -> Failure {
    let name = socket.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => Failure::new(
            Outcome::Denied,
            format!(
                "no permission for {name}: run as root or as a member of the socket's group (often docker)"
            ),
        ),
        io::ErrorKind::NotFound => Failure::new(Outcome::Refused, format!("there is no {name}")),
        io::ErrorKind::ConnectionRefused if socket.is_dir() => Failure::new(
            Outcome::Refused,
            format!("{name} is a directory, not a socket"),
        ),
        io::ErrorKind::ConnectionRefused if socket.is_file() => {
            Failure::new(Outcome::Refused, format!("{name} is a file, not a socket"))
        }
        io::ErrorKind::ConnectionRefused => {
            Failure::new(Outcome::Refused, format!("nothing listens on {name}"))
        }
        _ => Failure::new(Outcome::Error, format!("can't connect to {name}: {error}")),
    }
}

/// Returns what a failed connect to a port means.
fn unreached_port(authority: &Authority, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            Failure::new(Outcome::Refused, format!("nothing listens on {authority}"))
        }
        _ => Failure::new(
            Outcome::Error,
            format!("can't connect to {authority}: {error}"),
        ),
    }
}

/// Returns what a failure within an open connection means.
pub(crate) fn of_hyper(error: &hyper::Error) -> Failure {
    let cut = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<io::Error>())
        .is_some_and(|e| {
            use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
            matches!(
                e.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected
            )
        });
    if cut || error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return Failure::new(
            Outcome::Refused,
            "it closed the connection without an answer",
        );
    }
    if error.is_parse() {
        return Failure::new(Outcome::Error, format!("its answer is not HTTP: {error}"));
    }
    Failure::new(Outcome::Error, format!("its answer can't be read: {error}"))
}

/// Returns the whole body, if it has `most` bytes or fewer.
async fn whole(mut body: Incoming, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Failure::new(
                Outcome::Error,
                format!("its answer broke off after {} bytes: {error}", bytes.len()),
            )
        })?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > most {
                return Err(Failure::new(
                    Outcome::Error,
                    format!("its answer is larger than {} MiB", most >> 20),
                ));
            }
            bytes.extend_from_slice(data);
        }
    }
    Ok(bytes)
}

/// Returns what an answer that is no success means.
pub(crate) fn unhappy(status: StatusCode, body: &[u8]) -> Failure {
    let words = message(body);
    let words = if words.is_empty() {
        format!("HTTP {}", status.as_u16())
    } else {
        format!("HTTP {}: {words}", status.as_u16())
    };
    Failure::new(of_status(status.as_u16()), words)
}

/// Returns how a call ended that was answered with `status`.
fn of_status(status: u16) -> Outcome {
    match status {
        200..300 => Outcome::Answered,
        404 => Outcome::Gone,
        _ => Outcome::Error,
    }
}

/// Returns the daemon's words: its JSON's message, or whatever text it is.
fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Message {
        message: String,
    }
    let words = serde_json::from_slice(body).map_or_else(
        |_| String::from_utf8_lossy(&body[..body.len().min(2 * WORDS)]).into_owned(),
        |Message { message }| message,
    );
    let words = words.trim();
    if words.len() <= WORDS {
        return words.to_owned();
    }
    let end = (0..=WORDS).rev().find(|&at| words.is_char_boundary(at));
    format!("{}…", &words[..end.unwrap_or(0)])
}

/// Runs `future` here and now; what it started ends with it, or is left behind where it can't end.
pub(crate) fn block_on<F: Future>(future: F) -> io::Result<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let output = runtime.block_on(future);
    // A host's name is looked up in a thread that no deadline ends.
    runtime.shutdown_background();
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_connect_names_the_cure() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let Failure { outcome, error } = unreached(Path::new("/var/run/docker.sock"), &denied);
        assert_eq!(outcome, Outcome::Denied);
        let words = error.unwrap();
        assert!(
            words.starts_with("no permission for /var/run/docker.sock: run as root"),
            "{words}"
        );
    }

    #[test]
    fn a_message_is_the_daemons_own_or_the_text_as_it_is() {
        for (body, words) in [
            (&b"{\"message\":\" busy \"}"[..], "busy"),
            (b"{\"error\":1}", "{\"error\":1}"),
            (b"plain\n", "plain"),
            (b"\xff", "\u{fffd}"),
            (b"", ""),
        ] {
            assert_eq!(message(body), words);
        }
    }
}
