//! A proxy on Docker's socket: it shows each request to a hook before it passes it on, so that a test can change
//! the real daemon's containers at any moment between two requests, or keep an answer back.
#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
};
use tempfile::TempDir;

/// What to do with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Pass it on, and the answer back.
    On,
    /// Never answer, and never show it to the daemon.
    Never,
}

/// A request, as the hook sees it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Which one it is, from 1.
    pub(crate) number: usize,
    /// Its first line, such as `DELETE /containers/…`.
    pub(crate) line: String,
}

/// A running proxy; it ends with the test program.
pub(crate) struct Proxy {
    dir: TempDir,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Starts a proxy before `real` that calls `hook` for each request.
    pub(crate) fn start(
        real: PathBuf,
        hook: impl Fn(&Seen) -> Pass + Send + Sync + 'static,
    ) -> Self {
        let dir = super::process::own_folder();
        let listener = UnixListener::bind(dir.path().join("s")).unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (seen, hook) = (Arc::clone(&lines), Arc::new(hook));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (real, seen, hook) = (real.clone(), Arc::clone(&seen), Arc::clone(&hook));
                // A client or a daemon that goes away in the middle is what some tests are about.
                thread::spawn(move || serve(client, &real, &seen, &*hook));
            }
        });
        Self { dir, lines }
    }

    /// Returns what to pass as `--docker-host`.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix://{}", self.dir.path().join("s").display())
    }

    /// Returns the first line of each request so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Returns the removals among them.
    pub(crate) fn removals(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.starts_with("DELETE "));
        lines
    }
}

fn serve(
    mut client: UnixStream,
    real: &Path,
    lines: &Mutex<Vec<String>>,
    hook: &dyn Fn(&Seen) -> Pass,
) -> io::Result<()> {
    // None of the program's requests has a body.
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let line = String::from_utf8_lossy(&head)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned();
    let number = {
        let mut lines = lines.lock().unwrap();
        lines.push(line.clone());
        lines.len()
    };
    if hook(&Seen { number, line }) == Pass::Never {
        // Until the client gives up.
        let _ = io::copy(&mut client, &mut io::sink());
        return Ok(());
    }
    let mut daemon = UnixStream::connect(real)?;
    daemon.write_all(&head)?;
    io::copy(&mut daemon, &mut client)?;
    Ok(())
}
