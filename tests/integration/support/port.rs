//! A server played on a TCP port of this machine: a thread a connection, answers from a function, or no answer ever.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use super::replay::{Play, asked, serve};
use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// A played server; its connections end with it.
pub(crate) struct Port {
    at: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl Port {
    /// Plays what `play` says to each request line's method and path: `GET /metrics`.
    pub(crate) fn start(play: impl Fn(&str) -> Play + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let port = Self {
            at,
            heads: Arc::clone(&heads),
            over: Arc::clone(&over),
        };
        thread::spawn(move || serve(listener.incoming(), &heads, &over, play));
        port
    }

    /// Returns where it listens: `http://127.0.0.1:40123`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// Returns the method and path of all requests so far, sorted.
    pub(crate) fn requests(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let mut requests: Vec<String> = heads.iter().map(|head| asked(head)).collect();
        requests.sort();
        requests
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect(self.at);
    }
}
