//! What is asked in a thread of its own, beside the other observations; the thread is left behind if it hangs.

use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;
use std::{io, thread};

pub(super) struct Pending<T>(io::Result<Receiver<T>>);

pub(super) fn spawn<T: Send + 'static>(
    name: &str,
    ask: impl FnOnce() -> T + Send + 'static,
) -> Pending<T> {
    let (sender, receiver) = sync_channel(1);
    let started = thread::Builder::new()
        .name(name.to_owned())
        // Nobody listens any more where the send fails.
        .spawn(move || drop(sender.send(ask())));
    Pending(started.map(|_| receiver))
}

impl<T> Pending<T> {
    pub(super) fn wait(&self, until: Instant) -> Result<T, String> {
        let receiver = self.0.as_ref().map_err(ToString::to_string)?;
        let left = until.saturating_duration_since(Instant::now());
        let late = |_| "not read in time".to_owned();
        receiver.recv_timeout(left).map_err(late)
    }
}
