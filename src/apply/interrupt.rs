//! Ctrl-C, as a count that is looked at between removals.
//!
//! Before it is watched, the signal ends the program as ever. SIGTERM counts too: a node that shuts down should not
//! leave a removal unrecorded.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
};

/// How often the user asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupts(Arc<AtomicUsize>);

impl Interrupts {
    /// Starts to count; from here on the signals no longer end the program.
    ///
    /// # Errors
    /// The system refuses a thread or a signal handler.
    pub fn watch() -> io::Result<Self> {
        let watched = Self::default();
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        let guard = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        drop(guard);
        let count = Arc::clone(&watched.0);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    loop {
                        tokio::select! {
                            _ = interrupt.recv() => {}
                            _ = terminate.recv() => {}
                        }
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            })?;
        Ok(watched)
    }

    /// Returns how often so far.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}
