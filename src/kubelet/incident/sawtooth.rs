//! How high the lag stood each time that it fell back, and what that height shows.
//!
//! A relist lists, then asks the status of one pod after the other. One that never answers costs it a time-out of
//! 2 minutes, or two where the kubelet (up to 1.31) asks again at the relist's end; then the next relist lists, and the
//! lag falls to nothing. So a pod that never answers makes peaks of 4 minutes, two make peaks of 8; what is merely slow
//! makes peaks of no such height.

use super::CALL_TIMEOUT;
use chrono::TimeDelta;

/// A line with the lag comes every 5 s at the most: the last one before the fall is so much lower.
const MAX_BELOW: TimeDelta = TimeDelta::seconds(8);
/// What the rest of a relist takes on top, for each pod that blocks.
const MAX_ABOVE: TimeDelta = TimeDelta::seconds(12);
/// Fewer peaks may be of that height by chance.
const MIN_PEAKS: u32 = 2;
/// More pods than that are no matter of single ones.
const MAX_PODS: u32 = 16;

/// The heights of the peaks that ended: the lag fell back, and rose again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peaks {
    pub count: u32,
    /// The lowest; nothing without any.
    pub least: TimeDelta,
    pub most: TimeDelta,
}

impl Peaks {
    pub(super) fn add(&mut self, height: TimeDelta) {
        self.least = match self.count {
            0 => height,
            _ => self.least.min(height),
        };
        self.most = self.most.max(height);
        self.count = self.count.saturating_add(1);
    }

    /// How many pods' statuses never answer, if all peaks are of one such height: of a kubelet up to 1.31, which
    /// waits for each twice. From 1.32 on it waits once, and the number is twice that.
    pub fn blocked(&self) -> Option<u32> {
        let fits = |pods: &u32| {
            let pods = i32::try_from(*pods).unwrap_or(i32::MAX);
            let height = CALL_TIMEOUT * 2 * pods;
            self.least >= height - MAX_BELOW && self.most <= height + MAX_ABOVE * pods
        };
        (1..=MAX_PODS).find(|pods| self.count >= MIN_PEAKS && fits(pods))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peaks(heights: &[i64]) -> Peaks {
        let mut peaks = Peaks::default();
        for seconds in heights {
            peaks.add(TimeDelta::seconds(*seconds));
        }
        peaks
    }

    #[test]
    fn teeth_of_four_minutes_each_tell_of_one_pod() {
        assert_eq!(peaks(&[236, 237, 240]).blocked(), Some(1));
        assert_eq!(peaks(&[477, 483]).blocked(), Some(2));
        assert_eq!(peaks(&[716, 721, 730]).blocked(), Some(3));
    }

    #[test]
    fn teeth_of_other_heights_tell_nothing() {
        for heights in [
            &[200, 310][..],
            &[236, 300],
            &[236, 477],
            // One alone may be of that height by chance.
            &[240],
            &[],
            &[190, 191, 192],
        ] {
            assert_eq!(peaks(heights).blocked(), None, "{heights:?}");
        }
    }
}
