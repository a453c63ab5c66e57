//! How long the list of containers is, how far it is from gRPC's limit, and how fast it grows.
//!
//! Measured on Docker's own answer, which is JSON and holds sandboxes and containers: the kubelet gets two lists, each
//! shorter than that. So the limit is reached at that number at the earliest.

use super::{Call, Container, Outcome, Runtime};
use crate::syntax::time::Time;
use chrono::TimeDelta;
use std::time::Duration;

/// What gRPC lets through (the kubelet's `maxMsgSize`), in bytes.
pub const LIMIT: u64 = 16 << 20;
/// The windows in which growth is looked for, the longest first.
const WINDOWS: [TimeDelta; 3] = [
    TimeDelta::hours(24),
    TimeDelta::hours(6),
    TimeDelta::hours(1),
];
/// Fewer in a window tell of no growth.
const ENOUGH: usize = 10;
/// A relist of fewer containers, or a shorter one, tells nothing of one that is a hundred times as long.
const ENOUGH_LISTED: usize = 100;
const ENOUGH_TIME: Duration = Duration::from_millis(200);
/// The kubelet's limit for a relist.
const THRESHOLD: Duration = Duration::from_secs(180);

/// What the list holds, and what more it can.
#[derive(Clone, Debug, PartialEq)]
pub struct ListSize {
    /// How many containers and sandboxes it holds.
    pub containers: usize,
    /// How many of them do not run.
    pub stopped: usize,
    /// Its length as JSON.
    pub bytes: u64,
    /// The length of each of its entries, on average.
    pub each: u64,
    /// With how many containers of that length it reaches the limit.
    pub full: u64,
    /// Both lists of a relist.
    pub lists: Duration,
    /// How fast it grows, if that can be measured.
    pub growth: Option<Growth>,
}

/// How fast stopped containers gather.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    /// How long each of the two windows is in which they were counted.
    pub window: TimeDelta,
    /// Those that are left of the last window.
    pub last: usize,
    /// Those that are left of the window before.
    pub before: usize,
    /// When the list reaches the limit, if it goes on so.
    pub full_in: Option<TimeDelta>,
    /// When both lists take 3 minutes, if they go on to take so long for each container.
    pub late_in: Option<TimeDelta>,
}

impl Runtime {
    /// Returns what the list holds; `None` if it did not come, or is empty.
    pub fn list_size(&self) -> Option<ListSize> {
        let containers = self.told().count();
        if self.probe(Call::List).outcome != Outcome::Answered
            || containers == 0
            || self.list_bytes() == 0
        {
            return None;
        }
        let number = u64::try_from(containers).ok()?;
        let each = (self.list_bytes() / number).max(1);
        let stopped: Vec<&Container> = self.told().filter(|it| !it.is_listed_running()).collect();
        let mut room = ListSize {
            containers,
            stopped: stopped.len(),
            bytes: self.list_bytes(),
            each,
            full: LIMIT / each,
            lists: self.probe(Call::List).took * 2,
            growth: None,
        };
        room.growth = growth(&room, &stopped, self.asked_at);
        Some(room)
    }
}

/// Returns the growth, if enough of two windows in a row is left: where only the last one's are, the older ones may have
/// been removed, and nothing gathers.
fn growth(room: &ListSize, stopped: &[&Container], now: Time) -> Option<Growth> {
    let aged = |from: TimeDelta, to: TimeDelta| {
        let ages = stopped.iter().filter_map(|it| Some(now - it.created?));
        ages.filter(|age| *age >= from && *age < to).count()
    };
    let (window, last, before) = WINDOWS
        .into_iter()
        .map(|window| {
            let last = aged(TimeDelta::zero(), window);
            (window, last, aged(window, window * 2))
        })
        .find(|(_, last, before)| *last >= ENOUGH && *before >= ENOUGH)?;
    let (seconds, added) = (window.num_seconds() * 2, last + before);
    let until = |number: u64| {
        let more = number.checked_sub(u64::try_from(room.containers).ok()?)?;
        let took = u128::from(more) * u128::try_from(seconds).ok()? / u128::try_from(added).ok()?;
        TimeDelta::try_seconds(i64::try_from(took).ok()?)
    };
    let proportional = room.containers >= ENOUGH_LISTED && room.lists >= ENOUGH_TIME;
    let late = THRESHOLD.as_millis() * u128::try_from(room.containers).ok()?
        / room.lists.as_millis().max(1);
    Some(Growth {
        window,
        last,
        before,
        full_in: until(room.full),
        late_in: u64::try_from(late)
            .ok()
            .filter(|_| proportional)
            .and_then(until),
    })
}

#[cfg(test)]
mod tests {
    use super::super::relist::tests::{container, probe, runtime};
    use super::*;

    /// A daemon with stopped containers of these ages, in minutes, whose list took `millis` and is `bytes` long.
    fn with(ages: impl Iterator<Item = i64>, bytes: u64, millis: u64) -> Runtime {
        let aged = |age: i64| Container {
            listed_state: "exited".into(),
            created: Some(chrono::DateTime::UNIX_EPOCH.fixed_offset() - TimeDelta::minutes(age)),
            ..container(Some("web"), Outcome::Answered, 1)
        };
        runtime(probe(Outcome::Answered, millis), ages.map(aged).collect()).with_list_bytes(bytes)
    }

    #[test]
    fn an_entry_is_measured_on_the_list_itself() {
        let room = with(0..200, 400_000, 20).list_size().unwrap();
        assert_eq!((room.containers, room.stopped), (200, 200));
        assert_eq!((room.each, room.full), (2000, 8388));
    }

    #[test]
    fn growth_is_told_from_two_windows() {
        // One an hour for two days: 24 in each, a list of 48 entries of 100,000 bytes.
        let room = with((0..48).map(|hour| hour * 60 + 1), 4_800_000, 20)
            .list_size()
            .unwrap();
        let growth = room.growth.unwrap();
        assert_eq!(
            (growth.window, growth.last, growth.before),
            (TimeDelta::hours(24), 24, 24)
        );
        // 167 entries fit: 119 more, one an hour.
        assert_eq!(growth.full_in, Some(TimeDelta::hours(119)));
        // 48 entries in 40 ms tell nothing of a list of 3 minutes.
        assert_eq!(growth.late_in, None);
    }

    #[test]
    fn what_only_the_last_window_holds_is_no_growth() {
        assert_eq!(
            with((0..50).map(|n| n * 20), 100_000, 20)
                .list_size()
                .unwrap()
                .growth
                .map(|it| it.window),
            Some(TimeDelta::hours(6))
        );
        // 50 in the last hour, and none before: a kubelet that removes those of before leaves the same.
        assert_eq!(with(0..50, 100_000, 20).list_size().unwrap().growth, None);
    }

    #[test]
    fn a_list_that_takes_long_grows_with_its_containers() {
        // 720 containers, one a minute; both lists take 6 s, so 21,600 take 3 minutes.
        let room = with(0..720, 720_000, 3000).list_size().unwrap();
        let growth = room.growth.unwrap();
        assert_eq!(growth.window, TimeDelta::hours(6));
        assert_eq!(growth.late_in, Some(TimeDelta::minutes(20_880)));
    }

    #[test]
    fn no_list_no_room() {
        assert_eq!(with(std::iter::empty(), 2, 1).list_size(), None);
        let mut silent = with(0..5, 100, 3000);
        silent.probe_mut(Call::List).outcome = Outcome::TimedOut;
        assert_eq!(silent.list_size(), None);
    }

    #[test]
    fn one_beyond_the_limit_has_no_time_left() {
        let room = with((0..48).map(|hour| hour * 60 + 1), 48_000_000, 20)
            .list_size()
            .unwrap();
        assert_eq!(room.growth.unwrap().full_in, None);
    }
}
