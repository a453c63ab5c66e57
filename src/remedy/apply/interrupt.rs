//! Ctrl-C, as a count that is looked at between removals.
//!
//! Before it is watched, the signal ends the program as ever. SIGTERM counts too: a node that shuts down should not
//! leave a removal unrecorded. Where nothing is to be recorded, it may go on to end the program.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::{io, thread};
use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
};

#[derive(Clone, Debug, Default)]
pub struct Interrupts(Arc<AtomicUsize>);

impl Interrupts {
    /// Starts to count; from here on the signals no longer end the program.
    pub fn watch() -> io::Result<Self> {
        Self::of(&[SignalKind::interrupt(), SignalKind::terminate()])
    }

    /// As `watch`, but for Ctrl-C alone: SIGTERM ends the program as ever.
    pub fn watch_keys() -> io::Result<Self> {
        Self::of(&[SignalKind::interrupt()])
    }

    fn of(kinds: &[SignalKind]) -> io::Result<Self> {
        let watched = Self::default();
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        let guard = runtime.enter();
        let signals: io::Result<Vec<Signal>> = kinds.iter().map(|&kind| signal(kind)).collect();
        let mut signals = signals?;
        drop(guard);
        let count = Arc::clone(&watched.0);
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    loop {
                        any(&mut signals).await;
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            })?;
        Ok(watched)
    }

    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

async fn any(signals: &mut [Signal]) {
    poll_fn(|context| {
        let come = signals
            .iter_mut()
            .any(|signal| signal.poll_recv(context).is_ready());
        if come { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
