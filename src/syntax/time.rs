//! From stamps to moments: a klog line has neither year nor zone, so both are found around it.
//!
//! `stamp` reads what a line shows. `Timestamps` keeps what earlier lines showed: the zone of klog's own stamps,
//! and the year, stepped at each New Year. A file's modification time is never asked.

mod stamp;

pub use stamp::{
    Stamp, Yearless, go_time, journal_short, klog_created, plain, rfc2822, rfc3339, unix,
};
pub(crate) use stamp::{number, time_of_day};

use chrono::{DateTime, Datelike as _, FixedOffset, NaiveDate, NaiveDateTime, TimeDelta};

/// A moment, with the offset of the log that it came from.
pub type Time = DateTime<FixedOffset>;

/// What to fall back on where the log itself shows no year or zone.
#[derive(Clone, Copy, Debug)]
pub struct Hints {
    /// The present; its offset is the zone of last resort.
    pub now: Time,
    /// The zone of the log, as given by the user.
    pub utc_offset: Option<FixedOffset>,
}

/// How much earlier than its own event an envelope may be stamped: syslog cuts its stamps to whole seconds.
const MAX_EARLY: i64 = -2;
/// The longest delay, in seconds, that is taken for a late delivery and not for another zone.
const MAX_LATE: i64 = 30 * 60;
/// Zones differ in steps of a quarter of an hour.
const STEP: i64 = 15 * 60;
/// So many lines in a row that look late by the same amount mean a changed zone (the end of summer time).
const LATE_LINES: u32 = 16;
/// A day count that runs back by more than this crossed New Year.
const HALF_YEAR: i32 = 180;

/// When a line was written, as far as it is known by now.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct When {
    /// klog's own stamp, or the envelope's where klog has none; with the era it belongs to.
    stamp: Option<(Yearless, i32)>,
    year: Option<i32>,
    /// The moment it happened, if it is known.
    at: Option<Time>,
    received: Option<Received>,
    /// Whether year and zone stand in the line or its envelope.
    pub exact: bool,
}

/// The envelope's stamp, exact or relative to klog's zone.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Received {
    Exact(Time),
    Local(NaiveDateTime),
    Yearless(Yearless),
}

impl When {
    /// Whether year or zone are still to be found.
    pub fn is_open(&self) -> bool {
        self.at.is_none() && self.stamp.is_some()
    }

    /// Microseconds on a line of its own: good for differences within one source only.
    pub fn rough_micros(&self) -> Option<i64> {
        match (self.at, self.stamp) {
            (_, Some((stamp, era))) => Some(stamp.rough_micros(era)),
            (Some(at), None) => Some(at.timestamp_micros()),
            (None, None) => None,
        }
    }
}

/// What the lines so far show of year and zone.
#[derive(Debug)]
pub struct Timestamps {
    hints: Hints,
    /// How often New Year was crossed since the first line.
    era: i32,
    previous: Option<Yearless>,
    furthest: Option<(Yearless, i32)>,
    /// An era in which a 29 February was seen.
    leap_era: Option<i32>,
    base_year: Option<i32>,
    zone: Option<FixedOffset>,
    late_lines: u32,
    /// Set once hints had to be used: from then on no anchor changes the course.
    settled: bool,
    /// Whether a year or a zone came from the hints.
    guessed: bool,
}

impl Timestamps {
    pub fn new(hints: Hints) -> Self {
        Self {
            hints,
            era: 0,
            previous: None,
            furthest: None,
            leap_era: None,
            base_year: None,
            zone: None,
            late_lines: 0,
            settled: false,
            guessed: false,
        }
    }

    /// Whether year and zone are known, or given up.
    pub fn is_anchored(&self) -> bool {
        self.base_year.is_some() && self.zone.is_some()
    }

    pub fn guessed(&self) -> bool {
        self.guessed
    }

    /// Takes in a line's stamps, in the order of the log.
    pub fn observe(&mut self, klog: Option<Yearless>, envelope: Option<Stamp>) -> When {
        let received = envelope.map(|stamp| match stamp {
            Stamp::Exact(time) => Received::Exact(time),
            Stamp::Local(local) => Received::Local(local),
            Stamp::Yearless(stamp) => Received::Yearless(stamp),
        });
        let own = klog.or(match envelope {
            Some(Stamp::Yearless(stamp)) => Some(stamp),
            Some(Stamp::Local(local)) => Some(Yearless::from_local(local)),
            _ => None,
        });
        let stamp = own.map(|stamp| (stamp, self.step(stamp)));
        let mut when = When {
            stamp,
            year: None,
            at: None,
            received,
            exact: false,
        };
        match (stamp, envelope) {
            (Some((own, era)), Some(Stamp::Exact(time))) => {
                let offset = self.zone_from(own, time);
                let at = own.nearest(time, offset);
                self.base_year = Some(at.year() - era);
                when.at = Some(at);
                when.exact = true;
            }
            (None, Some(Stamp::Exact(time))) => {
                when.at = Some(time);
                when.exact = true;
            }
            (Some((own, era)), Some(Stamp::Local(local))) => {
                let year = own.nearest_year(local);
                self.base_year = Some(year - era);
                when.year = Some(year);
            }
            _ => {}
        }
        if when.is_open() && self.is_anchored() {
            when = self.close(when);
        }
        when
    }

    /// Takes in a moment inside the message, about when it was logged (`Node became not ready`).
    pub fn anchor(&mut self, when: &When, reported: Time) {
        let Some((own, era)) = when.stamp else { return };
        if when.exact || self.settled || self.is_anchored() {
            return;
        }
        let ahead = own.seconds_ahead(reported);
        let steps = (ahead + STEP / 2).div_euclid(STEP);
        if let Some(offset) = offset(steps * STEP) {
            self.zone = Some(offset);
            self.base_year = Some(own.nearest(reported, offset).year() - era);
        }
    }

    /// Takes in klog's header `Log file created at:`: the year, no zone.
    pub fn created(&mut self, local: NaiveDateTime) {
        let era = self.step(Yearless::from_local(local));
        if self.base_year.is_none() {
            self.base_year = Some(local.year() - era);
        }
    }

    /// Gives up waiting: what is not known by now is taken from the hints.
    pub fn settle(&mut self) {
        self.settled = true;
        if self.furthest.is_none() {
            return; // no line was in want of a year
        }
        if self.zone.is_none() {
            self.zone = Some(self.hints.utc_offset.unwrap_or(*self.hints.now.offset()));
            self.guessed = true;
        }
        if self.base_year.is_none() {
            self.base_year = self.latest_year();
            self.guessed = true;
        }
    }

    /// `when` with its moments, once year and zone are known.
    pub fn close(&self, mut when: When) -> When {
        if let (true, Some((own, era)), Some(zone), Some(base)) =
            (when.is_open(), when.stamp, self.zone, self.base_year)
        {
            when.at = own.at(when.year.unwrap_or(base + era), zone);
        }
        when
    }

    pub fn at(&self, when: &When) -> Option<Time> {
        when.at
    }

    pub fn received(&self, when: &When) -> Option<Time> {
        let at = when.at?;
        match when.received? {
            Received::Exact(time) => Some(time),
            Received::Local(local) => local.and_local_timezone(*at.offset()).single(),
            Received::Yearless(stamp) => {
                let time = stamp.nearest(at, *at.offset());
                // A zone of its own (the kubelet in a container in UTC, syslog in local time) is no delay.
                let ahead = time.signed_duration_since(at).num_seconds();
                let zones = (ahead - MAX_EARLY).div_euclid(STEP) * STEP;
                let time = if (MAX_EARLY..MAX_LATE).contains(&ahead) {
                    time
                } else {
                    time - TimeDelta::seconds(zones)
                };
                Some(time)
            }
        }
    }

    /// Counts the New Years crossed; returns the stamp's era.
    fn step(&mut self, stamp: Yearless) -> i32 {
        if let Some(previous) = self.previous {
            if previous.day_of_year() - stamp.day_of_year() > HALF_YEAR {
                self.era += 1;
            } else if previous.month == 1 && stamp.month == 12 {
                self.era -= 1; // a late line of the old year
            }
        }
        self.previous = Some(stamp);
        if stamp.month == 2 && stamp.day == 29 {
            self.leap_era = Some(self.era);
        }
        let rough = |(stamp, era): (Yearless, i32)| stamp.rough_micros(era);
        if self
            .furthest
            .is_none_or(|far| rough(far) < stamp.rough_micros(self.era))
        {
            self.furthest = Some((stamp, self.era));
        }
        self.era
    }

    /// klog's zone, from a line whose envelope has the moment of receipt.
    ///
    /// A line may be delivered many minutes late, never early; so of all zones that fit, the best is the one
    /// that was right before, then the envelope's own and the user's, then the one with the shortest delay.
    fn zone_from(&mut self, own: Yearless, received: Time) -> FixedOffset {
        let ahead = own.seconds_ahead(received);
        let delay = |zone: FixedOffset| i64::from(zone.local_minus_utc()) - ahead;
        let fits = |zone: &FixedOffset| (MAX_EARLY..=MAX_LATE).contains(&delay(*zone));
        let shortest = offset((ahead + MAX_EARLY + STEP - 1).div_euclid(STEP) * STEP);
        if let Some(zone) = self.zone {
            if fits(&zone) {
                self.late_lines = 0;
                return zone;
            }
            self.late_lines += 1;
            if delay(zone) > MAX_LATE && self.late_lines < LATE_LINES {
                return zone;
            }
        }
        self.late_lines = 0;
        let likely = [
            Some(*received.offset()),
            self.hints.utc_offset,
            offset(0),
            shortest,
        ];
        let zone = likely
            .into_iter()
            .flatten()
            .find(fits)
            .unwrap_or(*received.offset());
        self.zone = Some(zone);
        zone
    }

    /// The latest year of era 0 that puts no line more than a day into the future.
    fn latest_year(&self) -> Option<i32> {
        let (stamp, era) = self.furthest?;
        let zone = self.zone.unwrap_or(*self.hints.now.offset());
        let limit = self.hints.now + TimeDelta::days(1);
        let this_year = self.hints.now.year() + 1;
        (this_year - 12..=this_year)
            .rev()
            .map(|year| year - era)
            .find(|base| {
                let leap = self
                    .leap_era
                    .is_none_or(|era| NaiveDate::from_ymd_opt(base + era, 2, 29).is_some());
                leap && stamp.at(base + era, zone).is_some_and(|at| at <= limit)
            })
    }
}

fn offset(seconds: i64) -> Option<FixedOffset> {
    i32::try_from(seconds)
        .ok()
        .and_then(FixedOffset::east_opt)
        .filter(|zone| zone.local_minus_utc().abs() <= 14 * 3600)
}

/// The moment that many milliseconds after the epoch, in UTC.
pub fn epoch_millis(millis: f64) -> Option<Time> {
    let micros = millis * 1000.0;
    if !micros.is_finite() || !(0.0..1e17).contains(&micros) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    DateTime::from_timestamp_micros(micros as i64).map(|time| time.fixed_offset())
}

#[cfg(test)]
mod tests;
