//! A server played on a TCP port of this machine: a thread a connection, answers from a function, or no answer ever.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use super::replay::{Play, act, head};
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
    requests: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl Port {
    /// Plays what `play` says to each request line's method and path: `GET /metrics`.
    pub(crate) fn start(play: impl Fn(&str) -> Play + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let port = Self {
            at,
            requests: Arc::clone(&requests),
            over: Arc::clone(&over),
        };
        let play = Arc::new(play);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let (requests, over, play) =
                    (Arc::clone(&requests), Arc::clone(&over), Arc::clone(&play));
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let head = head(&mut stream);
                    let asked = head.split(" HTTP/").next().unwrap_or_default().to_owned();
                    requests.lock().unwrap().push(asked.clone());
                    act(&mut stream, &play(&asked), &over);
                });
            }
        });
        port
    }

    /// Returns where it listens: `http://127.0.0.1:40123`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// Returns the method and path of all requests so far, sorted.
    pub(crate) fn requests(&self) -> Vec<String> {
        let mut requests = self.requests.lock().unwrap().clone();
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
