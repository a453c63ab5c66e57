//! How far reading the log has come, for whoever watches it from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Counts what is read of a log. Its clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct ScanProgress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    begun: OnceLock<Instant>,
    ended: AtomicBool,
    done: AtomicU64,
    /// 0: not known.
    total: AtomicU64,
}

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanStatus {
    /// How long it has been reading.
    pub since: Duration,
    /// Bytes read.
    pub done: u64,
    /// Bytes to read, these among them; `None` if unknown.
    pub total: Option<u64>,
}

impl ScanStatus {
    /// Bytes per second, so far.
    pub fn speed(&self) -> u64 {
        let millis = self.since.as_millis().max(1);
        u64::try_from(u128::from(self.done) * 1000 / millis).unwrap_or(u64::MAX)
    }

    /// Time for the rest at that speed.
    pub fn left(&self) -> Option<Duration> {
        let rest = self.total? - self.done;
        rest.checked_div(self.speed()).map(Duration::from_secs)
    }
}

impl ScanProgress {
    /// How far it is; `None` before reading begins and after it ended.
    pub fn status(&self) -> Option<ScanStatus> {
        let counts = &self.0;
        let begun = counts.begun.get()?;
        if self.has_ended() {
            return None;
        }
        let done = counts.done.load(Ordering::Relaxed);
        // More than expected: sources of unknown size came after the files.
        let total = counts.total.load(Ordering::Relaxed);
        Some(ScanStatus {
            since: begun.elapsed(),
            done,
            total: (total > 0 && total >= done).then_some(total),
        })
    }

    /// Whether reading ended.
    pub fn has_ended(&self) -> bool {
        self.0.ended.load(Ordering::Relaxed)
    }

    pub(super) fn start(&self) {
        // The second of two readings continues the first's.
        let _ = self.0.begun.set(Instant::now());
    }

    pub(super) fn expect(&self, bytes: u64) {
        self.0.total.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn add(&self, bytes: u64) {
        self.0.done.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.0.ended.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_nothing_before_and_after_and_no_total_that_is_wrong() {
        let progress = ScanProgress::default();
        progress.expect(10);
        assert_eq!(progress.status(), None);
        progress.start();
        progress.add(7);
        let shown = progress.clone().status().unwrap();
        assert_eq!((shown.done, shown.total), (7, Some(10)));
        progress.add(7);
        assert_eq!(progress.status().unwrap().total, None);
        progress.end();
        assert_eq!(progress.status(), None);
    }

    #[test]
    fn speed_and_the_time_left_follow_from_what_was_read_so_far() {
        let status = |done, total| ScanStatus {
            since: Duration::from_secs(2),
            done,
            total,
        };
        assert_eq!(status(100, Some(400)).speed(), 50);
        let left = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(status(100, Some(400)).left(), left(6));
        assert_eq!(status(400, Some(400)).left(), left(0));
        assert_eq!(status(0, Some(400)).left(), None);
        assert_eq!(status(100, None).left(), None);
    }
}
