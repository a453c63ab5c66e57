//! Moments and spans of time, as options name them.

use crate::syntax::{duration, time::Time};
use anyhow::Context as _;
use chrono::{
    DateTime, FixedOffset, Local, MappedLocalTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta,
    TimeZone,
};
use std::time::Duration;

/// Seconds.
const DAY: i64 = 24 * 60 * 60;

/// The zone of times without one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Zone {
    /// This machine's, by its rules for the time that is meant: summer's offset is not winter's.
    Machine,
    /// This one, at all times.
    Fixed(FixedOffset),
}

/// Which of two moments is meant by a time that comes twice, as one does where clocks go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Twice {
    /// The first: what begins there leaves nothing out.
    First,
    /// The last: what ends there leaves nothing out.
    Last,
}

impl Zone {
    /// Returns the moment in this zone.
    pub(super) fn at(self, time: Time) -> Time {
        match self {
            Self::Machine => time.with_timezone(&Local).fixed_offset(),
            Self::Fixed(offset) => time.with_timezone(&offset),
        }
    }

    /// Returns the moment at which clocks in this zone show that time.
    fn find(self, shown: NaiveDateTime, twice: Twice) -> Option<Time> {
        match self {
            Self::Machine => find(&Local, shown, twice),
            Self::Fixed(offset) => find(&offset, shown, twice),
        }
    }
}

/// Returns the moment at which clocks in `zone` show that time. Of one that they leave out as they go forward it is the
/// moment when they do.
fn find<Z: TimeZone>(zone: &Z, shown: NaiveDateTime, twice: Twice) -> Option<Time> {
    let known = match (zone.from_local_datetime(&shown), twice) {
        (MappedLocalTime::Single(time), _) => Some(time),
        // chrono gives the two of a local zone in either order.
        (MappedLocalTime::Ambiguous(one, other), Twice::First) => Some(one.min(other)),
        (MappedLocalTime::Ambiguous(one, other), Twice::Last) => Some(one.max(other)),
        (MappedLocalTime::None, _) => None,
    };
    if let Some(time) = known {
        // The very moment of a change is of the new offset.
        return Some(zone.from_utc_datetime(&time.naive_utc()).fixed_offset());
    }
    let is_before =
        |seconds: i64| Some(zone.timestamp_opt(seconds, 0).single()?.naive_local() < shown);
    // No zone is as far as a day from UTC, and none leaves out more than one.
    let about = shown.and_utc().timestamp();
    let (mut before, mut after) = (about - 2 * DAY, about + 2 * DAY);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        match is_before(middle)? {
            true => before = middle,
            false => after = middle,
        }
    }
    Some(zone.timestamp_opt(after, 0).single()?.fixed_offset())
}

/// Returns the moment that `text` means, seen from `now`.
pub(super) fn moment(text: &str, now: Time, zone: Zone, twice: Twice) -> anyhow::Result<Time> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Ok(time);
    }
    let today = zone.at(now).date_naive();
    let local = |shown: NaiveDateTime| zone.find(shown, twice).context("no such time");
    let midnight = |day: NaiveDate| local(day.and_time(NaiveTime::MIN));
    match text {
        "now" => return Ok(now),
        "today" => return midnight(today),
        "yesterday" => return midnight(today.pred_opt().context("no such time")?),
        _ => {}
    }
    for format in [
        "%Y-%m-%dT%H:%M:%S%.f",
        "%Y-%m-%d %H:%M:%S%.f",
        "%Y-%m-%dT%H:%M",
        "%Y-%m-%d %H:%M",
    ] {
        if let Ok(naive) = NaiveDateTime::parse_from_str(text, format) {
            return local(naive);
        }
    }
    if let Ok(date) = NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return midnight(date);
    }
    for format in ["%H:%M:%S%.f", "%H:%M"] {
        if let Ok(time) = NaiveTime::parse_from_str(text, format) {
            return local(today.and_time(time));
        }
    }
    let ago = span(text.strip_suffix(" ago").unwrap_or(text));
    ago.and_then(|ago| now.checked_sub_signed(ago))
        .context("is no time: use RFC 3339 (2026-11-30T03:40:00Z), \"2026-11-30 03:40\", \"03:40\", or a span before now such as 2h")
}

/// Returns the span of time that `text` is: Go's durations, and whole days (`3d`).
fn span(text: &str) -> Option<TimeDelta> {
    let days = text
        .strip_suffix('d')
        .and_then(|days| days.parse().ok())
        .and_then(TimeDelta::try_days);
    days.or_else(|| duration::parse(text))
        .filter(|span| *span >= TimeDelta::zero())
}

/// Parses a duration above zero.
pub(super) fn positive(text: &str) -> Result<Duration, String> {
    span(text)
        .filter(|span| !span.is_zero())
        .and_then(|span| span.to_std().ok())
        .ok_or_else(|| "not a duration above zero, such as 500ms, 3s or 24h".to_owned())
}

/// Parses `+08:00`, `-0330`, `Z`.
pub(super) fn utc_offset(text: &str) -> Result<FixedOffset, String> {
    let text = if text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
        "+00:00"
    } else {
        text
    };
    text.parse()
        .map_err(|_| "not an offset such as +08:00".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_all_documented_forms() {
        let now = DateTime::parse_from_rfc3339("2026-11-30T12:00:00+08:00").unwrap();
        let zone = Zone::Fixed(*now.offset());
        for (text, expected) in [
            ("2026-11-30T03:40:00Z", "2026-11-30T03:40:00+00:00"),
            ("2026-11-29 03:40", "2026-11-29T03:40:00+08:00"),
            ("2026-11-29 03:40:01.5", "2026-11-29T03:40:01.500+08:00"),
            ("2026-11-29", "2026-11-29T00:00:00+08:00"),
            ("03:40", "2026-11-30T03:40:00+08:00"),
            ("2h", "2026-11-30T10:00:00+08:00"),
            ("1h30m ago", "2026-11-30T10:30:00+08:00"),
            ("2d", "2026-11-28T12:00:00+08:00"),
            ("yesterday", "2026-11-29T00:00:00+08:00"),
            ("today", "2026-11-30T00:00:00+08:00"),
        ] {
            assert_eq!(
                moment(text, now, zone, Twice::First).unwrap().to_rfc3339(),
                DateTime::parse_from_rfc3339(expected).unwrap().to_rfc3339(),
                "{text}"
            );
        }
        for text in ["", "soon", "2026-13-01", "25:00", "-2h"] {
            assert!(moment(text, now, zone, Twice::First).is_err(), "{text}");
        }
    }

    #[test]
    fn offsets_and_durations_are_checked() {
        assert_eq!(utc_offset("-03:30").unwrap().local_minus_utc(), -12_600);
        assert!(utc_offset("CET").is_err());
        assert!(positive("0s").is_err());
        assert_eq!(positive("1.5s").unwrap(), Duration::from_millis(1500));
    }
}
