//! One HTTP/1 request on one connection of its own, to a Unix socket or a TCP port, with one deadline for all of it.
//!
//! No pool and no keep-alive: a connection that hangs must not hold up another call, and what is given up must
//! not be reused. No redirects and no TLS. Knows nothing of who is asked but how Docker words errors.

mod url;

pub(crate) use url::Url;

use crate::io::probe::{Outcome, Probe};
use http_body_util::{BodyExt as _, Empty};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    client::conn::http1,
    header::{CONNECTION, HOST, HeaderValue},
    http::{response::Parts, uri::Authority},
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::{io, path::Path, time::Duration};
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

/// Returns how a call ended that took so long.
pub(crate) fn probe<T>(took: Duration, end: Result<T, Failure>) -> (Probe, Option<T>) {
    let (value, outcome, error) = match end {
        Ok(value) => (Some(value), Outcome::Answered, None),
        Err(Failure { outcome, error }) => (None, outcome, error),
    };
    let probe = Probe {
        outcome,
        took,
        error,
    };
    (probe, value)
}

/// Gets `path` and takes what comes, as `exchange` does.
pub(crate) async fn ask(
    peer: Peer<'_>,
    path: &str,
    timeout: Duration,
    limit: usize,
) -> (Duration, Result<Reply, Failure>) {
    exchange(peer, (Method::GET, path), timeout, limit).await
}

/// Sends a request and takes what comes, `limit` bytes of body at the most. Connecting, asking and the whole answer take
/// at most `timeout`; returns how long they took.
pub(crate) async fn exchange(
    peer: Peer<'_>,
    (method, path): (Method, &str),
    timeout: Duration,
    limit: usize,
) -> (Duration, Result<Reply, Failure>) {
    let started = Instant::now();
    let deadline = started + timeout;
    let reply = async {
        let (head, body) = open(peer, (method, path), deadline).await?;
        let broken_off = || Failure::new(Outcome::TimedOut, "its answer began and did not end");
        let whole = timeout_at(deadline, whole(body, limit)).await;
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body: whole.unwrap_or_else(|_| Err(broken_off()))?,
        })
    }
    .await;
    (started.elapsed(), reply)
}

/// Gets `path` as `ask` does, and takes nothing but a success.
pub(crate) async fn get(peer: Peer<'_>, path: &str, timeout: Duration, limit: usize) -> Answer {
    let (took, reply) = ask(peer, path, timeout, limit).await;
    Answer::new(took, reply.and_then(succeeded))
}

impl Answer {
    pub(crate) fn new(took: Duration, end: Result<Reply, Failure>) -> Self {
        let (probe, reply) = probe(took, end);
        let (headers, body) = reply.map_or_else(Default::default, |it| (it.headers, it.body));
        Self {
            probe,
            headers,
            body,
        }
    }
}

pub(crate) fn succeeded(reply: Reply) -> Result<Reply, Failure> {
    match reply.status.is_success() {
        true => Ok(reply),
        false => Err(unhappy(reply.status, &reply.body)),
    }
}

/// Gets `path` and passes the answer's body piece by piece until `take` wants no more. Returns whether the body came to
/// its end; a body that breaks off is an error.
pub(crate) async fn stream(
    peer: Peer<'_>,
    path: &str,
    deadline: Instant,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<bool, Failure> {
    let (head, mut body) = open(peer, (Method::GET, path), deadline).await?;
    if !head.status.is_success() {
        let words = timeout_at(deadline, whole(body, MOST_REFUSED)).await;
        return Err(unhappy(head.status, &words.unwrap_or(Ok(Vec::new()))?));
    }
    // Looked at beside the timer, to which a stream that always has a piece ready never yields.
    while Instant::now() < deadline {
        match timeout_at(deadline, body.frame()).await {
            Ok(None) => return Ok(true),
            Ok(Some(frame)) => {
                let frame = frame.map_err(|error| of_hyper(&error))?;
                if !frame.data_ref().is_none_or(|data| take(data)) {
                    return Ok(false);
                }
            }
            Err(_) => break,
        }
    }
    Err(Failure::SILENCE)
}

/// Sends a request on a new connection and returns the answer's head, and its body to be read.
async fn open(
    peer: Peer<'_>,
    (method, path): (Method, &str),
    deadline: Instant,
) -> Result<(Parts, Incoming), Failure> {
    let uri: Uri = path
        .parse()
        .map_err(|error| Failure::new(Outcome::Error, format!("{path} is no path: {error}")))?;
    let host = match peer {
        Peer::Unix(_) => Ok(HeaderValue::from_static("docker")),
        Peer::Tcp(authority) => HeaderValue::from_str(authority.as_str()),
    };
    let host = host.map_err(|error| Failure::new(Outcome::Error, error.to_string()))?;
    let mut request = Request::new(Empty::<Bytes>::new());
    (*request.method_mut(), *request.uri_mut()) = (method, uri);
    let headers = request.headers_mut();
    headers.insert(HOST, host);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    let send = async {
        match peer {
            Peer::Unix(socket) => over(connect(socket, deadline).await?, request).await,
            Peer::Tcp(authority) => {
                let stream = TcpStream::connect(authority.as_str()).await;
                let stream = stream.map_err(|error| unreached_port(authority, &error))?;
                over(stream, request).await
            }
        }
    };
    let response = timeout_at(deadline, send).await;
    Ok(response.unwrap_or(Err(Failure::SILENCE))?.into_parts())
}

async fn over<S>(stream: S, request: Request<Empty<Bytes>>) -> Result<Response<Incoming>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| of_hyper(&error))?;
    // Ends with the sender or the runtime, whichever goes first: both live no longer than the call.
    tokio::spawn(connection);
    let sent = sender.send_request(request).await;
    sent.map_err(|error| of_hyper(&error))
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
fn of_hyper(error: &hyper::Error) -> Failure {
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
pub(crate) fn message(body: &[u8]) -> String {
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
