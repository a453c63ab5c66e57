//! A daemon played over a Unix socket: a thread a connection, answers from a function, or no answer ever.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::{
    io::{self, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// What to do with a request.
#[derive(Clone, Debug)]
pub(crate) enum Play {
    /// Answer with this status and body.
    Http(u16, String),
    /// Send these bytes and close.
    Raw(Vec<u8>),
    /// Send these bytes, then this one over and over with a pause between, never to end.
    Trickle(Vec<u8>, u8, Duration),
    /// Keep the connection and never answer.
    Never,
    /// Wait, then do that.
    After(Duration, Box<Self>),
}

impl Play {
    /// Answers with success.
    pub(crate) fn ok(body: impl Into<String>) -> Self {
        Self::Http(200, body.into())
    }
}

/// A played daemon; its connections end with it.
pub(crate) struct Played {
    dir: TempDir,
    heads: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl Played {
    /// Plays what `play` says to each request line's method and path: `GET /_ping`.
    pub(crate) fn start(play: impl Fn(&str) -> Play + Send + Sync + 'static) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("docker.sock")).unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let played = Self {
            dir,
            heads: Arc::clone(&heads),
            over: Arc::clone(&over),
        };
        thread::spawn(move || serve(listener.incoming(), &heads, &over, play));
        played
    }

    /// Returns what to pass as `--docker-host`.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// Returns the heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// Returns the method and path of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.heads().iter().map(|head| asked(head)).collect()
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("docker.sock")
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = UnixStream::connect(self.socket());
    }
}

/// Plays on each connection that comes, in a thread of its own, until it is over; notes the heads of requests.
pub(super) fn serve<S: Read + Write + Send + 'static>(
    connections: impl Iterator<Item = io::Result<S>>,
    heads: &Arc<Mutex<Vec<String>>>,
    over: &Arc<AtomicBool>,
    play: impl Fn(&str) -> Play + Send + Sync + 'static,
) {
    let play = Arc::new(play);
    for stream in connections {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let (heads, over, play) = (Arc::clone(heads), Arc::clone(over), Arc::clone(&play));
        thread::spawn(move || {
            let mut stream = stream.unwrap();
            let head = head(&mut stream);
            let asked = asked(&head);
            heads.lock().unwrap().push(head);
            act(&mut stream, &play(&asked), &over);
        });
    }
}

/// Returns the method and path of a request.
pub(super) fn asked(head: &str) -> String {
    head.split(" HTTP/").next().unwrap_or_default().to_owned()
}

fn head(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        bytes.push(byte[0]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

// The other side may be gone at any time: what can't be written is not sent.
fn act(stream: &mut impl Write, play: &Play, over: &AtomicBool) {
    match play {
        Play::Http(status, body) => {
            let length = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 {status} Played\r\nApi-Version: 1.41\r\nServer: Docker/20.10.24 (linux)\r\n\
                 Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            );
        }
        Play::Raw(bytes) => {
            let _ = stream.write_all(bytes);
        }
        Play::Trickle(bytes, byte, pause) => {
            let _ = stream.write_all(bytes);
            while !over.load(Ordering::Relaxed) && stream.write_all(&[*byte]).is_ok() {
                thread::sleep(*pause);
            }
        }
        Play::Never => {
            while !over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        Play::After(pause, then) => {
            thread::sleep(*pause);
            act(stream, then, over);
        }
    }
}

/// A socket whose listen queue is full and whose owner accepts nothing, like a daemon's that was stopped long ago.
pub(crate) struct FullQueue {
    dir: TempDir,
    runtime: tokio::runtime::Runtime,
    _listener: tokio::net::UnixListener,
    _queue: Vec<tokio::net::UnixStream>,
}

impl FullQueue {
    /// Makes one.
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("docker.sock");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        let (listener, queue) = runtime.block_on(async {
            let unbound = tokio::net::UnixSocket::new_stream().unwrap();
            unbound.bind(&socket).unwrap();
            let listener = unbound.listen(2).unwrap();
            let mut queue = Vec::new();
            while let Ok(stream) = tokio::net::UnixStream::connect(&socket).await {
                queue.push(stream);
            }
            (listener, queue)
        });
        Self {
            dir,
            runtime,
            _listener: listener,
            _queue: queue,
        }
    }

    /// Returns what to pass as `--docker-host`.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix://{}/docker.sock", self.dir.path().display())
    }

    /// Accepts one connection after `pause`, as a daemon does that was only busy, and drops it.
    pub(crate) fn accept_one_after(&self, pause: Duration) {
        thread::sleep(pause);
        let accepted = self.runtime.block_on(self._listener.accept());
        drop(accepted.unwrap());
    }
}
