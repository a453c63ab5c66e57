//! The forms in which logs write a time, read by hand from the start of a text.

use super::Time;
use chrono::{
    DateTime, Datelike as _, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _,
};

const MICROS: i64 = 1_000_000;

/// A time as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stamp {
    /// With year and zone.
    Exact(Time),
    /// With a year, without a zone.
    Local(NaiveDateTime),
    /// Without year and zone.
    Yearless(Yearless),
}

/// A day of an unknown year, and the time of that day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yearless {
    pub month: u8,
    pub day: u8,
    /// Microseconds since midnight.
    pub micros: i64,
}

impl Yearless {
    pub fn from_local(local: NaiveDateTime) -> Self {
        let seconds = i64::from(local.num_seconds_from_midnight());
        Self {
            month: u8::try_from(local.month()).unwrap_or(1),
            day: u8::try_from(local.day()).unwrap_or(1),
            micros: seconds * MICROS + i64::from(local.nanosecond() / 1000),
        }
    }

    /// The stamp of `mmdd hh:mm:ss.uuuuuu`, the 20 bytes after a klog line's letter.
    pub fn klog(text: &[u8]) -> Option<Self> {
        let text = text.get(..20)?;
        if text[4] != b' ' || text[7] != b':' || text[10] != b':' || text[13] != b'.' {
            return None;
        }
        let mut micros = 0;
        for &byte in &text[14..20] {
            micros = micros * 10 + i64::from(digit(byte)?);
        }
        let (month, day) = (two(text, 0)?, two(text, 2)?);
        let seconds = clock(two(text, 5)?, two(text, 8)?, two(text, 11)?)?;
        let valid = (1..=12).contains(&month) && (1..=31).contains(&day);
        valid.then_some(Self {
            month,
            day,
            micros: seconds * MICROS + micros,
        })
    }

    /// The moment in that year and zone; 29 February of a common year is 1 March.
    pub fn at(self, year: i32, zone: FixedOffset) -> Option<Time> {
        Some(DateTime::from_naive_utc_and_offset(
            self.local(year)? - zone,
            zone,
        ))
    }

    /// The moment of this stamp in `zone` that is nearest to `time`.
    pub(crate) fn nearest(self, time: Time, zone: FixedOffset) -> Time {
        let there = time.with_timezone(&zone);
        let year = self.nearest_year(there.naive_local());
        self.at(year, zone).unwrap_or(there)
    }

    /// The year that puts this stamp nearest to `local`.
    pub(super) fn nearest_year(self, local: NaiveDateTime) -> i32 {
        let days = i64::from(local.ordinal()) - i64::from(self.day_of_year());
        match days {
            ..-183 => local.year() - 1,
            184.. => local.year() + 1,
            _ => local.year(),
        }
    }

    /// By how many whole seconds (rounded down) this stamp, read as UTC, is ahead of `time`.
    pub(super) fn seconds_ahead(self, time: Time) -> i64 {
        let utc = time.naive_utc();
        self.local(self.nearest_year(utc))
            .map_or(0, |local| (local - utc).num_milliseconds().div_euclid(1000))
    }

    /// The day of the year, roughly: good for differences of months.
    pub(super) fn day_of_year(self) -> i32 {
        const BEFORE: [i32; 12] = [0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335];
        BEFORE.get(usize::from(self.month) - 1).unwrap_or(&0) + i32::from(self.day)
    }

    /// Microseconds on a scale of 366-day years.
    pub(super) fn rough_micros(self, era: i32) -> i64 {
        let days = i64::from(era) * 366 + i64::from(self.day_of_year());
        days * 86_400 * MICROS + self.micros
    }

    fn local(self, year: i32) -> Option<NaiveDateTime> {
        let date = NaiveDate::from_ymd_opt(year, self.month.into(), self.day.into())
            .or_else(|| NaiveDate::from_ymd_opt(year, u32::from(self.month) + 1, 1))?;
        let seconds = u32::try_from(self.micros / MICROS).ok()?.min(86_399);
        let nanos = u32::try_from(self.micros % MICROS).ok()? * 1000;
        Some(date.and_time(NaiveTime::from_num_seconds_from_midnight_opt(
            seconds, nanos,
        )?))
    }
}

/// The RFC 3339 time that `text` starts with (`T` or a blank, any fraction, `Z`, `+hh:mm`, `+hhmm`), or
/// the same without a zone; and its length.
pub fn rfc3339(text: &[u8]) -> Option<(Stamp, usize)> {
    let (local, mut at) = plain(text)?;
    let zone = match text.get(at) {
        Some(b'Z') => {
            at += 1;
            0
        }
        Some(&sign @ (b'+' | b'-')) => {
            let hours = i32::from(two(text, at + 1)?);
            let colon = usize::from(text.get(at + 3) == Some(&b':'));
            let minutes = i32::from(two(text, at + 3 + colon)?);
            at += 5 + colon;
            let seconds = hours * 3600 + minutes * 60;
            if sign == b'-' { -seconds } else { seconds }
        }
        _ => return Some((Stamp::Local(local), at)),
    };
    let zone = FixedOffset::east_opt(zone)?;
    let utc = local.checked_sub_offset(zone)?;
    Some((
        Stamp::Exact(DateTime::from_naive_utc_and_offset(utc, zone)),
        at,
    ))
}

/// The `yyyy-mm-dd hh:mm:ss[.fraction]` that `text` starts with, with `T` or a blank in the middle.
pub fn plain(text: &[u8]) -> Option<(NaiveDateTime, usize)> {
    let head = text.get(..19)?;
    let separators = head[4] == head[7]
        && matches!(head[4], b'-' | b'/')
        && matches!(head[10], b'T' | b't' | b' ')
        && head[13] == b':'
        && head[16] == b':';
    if !separators {
        return None;
    }
    let year = i32::from(two(head, 0)?) * 100 + i32::from(two(head, 2)?);
    let date = NaiveDate::from_ymd_opt(year, two(head, 5)?.into(), two(head, 8)?.into())?;
    let seconds = clock(two(head, 11)?, two(head, 14)?, two(head, 17)?)?;
    let (nanos, at) = fraction(text, 19);
    let seconds = u32::try_from(seconds).ok()?.min(86_399);
    let time = NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos)?;
    Some((date.and_time(time), at))
}

/// The time of `Mar 14 09:26:53[.589793]` at the start of `text`, and its length.
pub fn journal_short(text: &[u8]) -> Option<(Yearless, usize)> {
    let month = month_of(text.get(..3)?)?;
    let rest = text.get(3..)?;
    let blanks = rest.iter().take_while(|&&b| b == b' ').count();
    let digits = rest
        .get(blanks..)?
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count();
    if blanks == 0 || !(1..=2).contains(&digits) {
        return None;
    }
    let at = 3 + blanks;
    let day = text[at..at + digits]
        .iter()
        .fold(0, |day, &b| day * 10 + (b - b'0'));
    let at = at + digits + 1;
    let (micros, used) = time_of_day(text.get(at..)?)?;
    ((1..=31).contains(&day) && text[at - 1] == b' ')
        .then_some((Yearless { month, day, micros }, at + used))
}

/// The microseconds since midnight of `hh:mm:ss[.fraction]` at the start of `text`, and its length.
pub(crate) fn time_of_day(text: &[u8]) -> Option<(i64, usize)> {
    if text.get(2) != Some(&b':') || text.get(5) != Some(&b':') {
        return None;
    }
    let seconds = clock(two(text, 0)?, two(text, 3)?, two(text, 6)?)?;
    let (nanos, at) = fraction(text, 8);
    Some((seconds * MICROS + i64::from(nanos / 1000), at))
}

/// The moment of `1678786013.589793`, seconds since the epoch with a fraction, and its length.
pub fn unix(text: &[u8]) -> Option<(Time, usize)> {
    let whole = text.iter().take_while(|b| b.is_ascii_digit()).count();
    if !(9..=11).contains(&whole) || text.get(whole) != Some(&b'.') {
        return None;
    }
    let seconds = number(&text[..whole])?;
    let (nanos, at) = fraction(text, whole);
    let time = DateTime::from_timestamp(i64::try_from(seconds).ok()?, nanos)?;
    Some((time.fixed_offset(), at))
}

/// The moment of Go's `2020-08-03 22:33:00.895519165 +0000 UTC m=+1885571.887843195`.
pub fn go_time(text: &str) -> Option<Time> {
    let (local, at) = plain(text.as_bytes())?;
    let zone = text.get(at..)?.strip_prefix(' ')?;
    let (Stamp::Exact(time), _) =
        rfc3339(format!("{}{}", local.format("%Y-%m-%dT%H:%M:%S%.f"), zone.get(..5)?).as_bytes())?
    else {
        return None;
    };
    Some(time)
}

/// The moment of `Fri, 28 Jun 2019 10:19:21 +0800`, as `kubectl describe` prints it.
pub fn rfc2822(text: &str) -> Option<Time> {
    DateTime::parse_from_rfc2822(text.trim()).ok()
}

/// The time in klog's file header `Log file created at: 2023/03/14 09:26:53`.
pub fn klog_created(message: &str) -> Option<NaiveDateTime> {
    let (_, text) = message.split_once("Log file created at: ")?;
    plain(text.as_bytes()).map(|(local, _)| local)
}

fn month_of(name: &[u8]) -> Option<u8> {
    const NAMES: [&[u8; 3]; 12] = [
        b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
        b"Dec",
    ];
    let at = NAMES.iter().position(|month| month.as_slice() == name)?;
    u8::try_from(at + 1).ok()
}

pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    digits.iter().try_fold(0, |number, &byte| {
        Some(number * 10 + u64::from(digit(byte)?))
    })
}

/// The nanoseconds of the fraction at `at` (none: 0), and the index after it.
fn fraction(text: &[u8], at: usize) -> (u32, usize) {
    if !matches!(text.get(at), Some(b'.' | b',')) {
        return (0, at);
    }
    let mut nanos = 0;
    let mut scale = 100_000_000;
    let mut end = at + 1;
    while let Some(value) = text.get(end).copied().and_then(digit) {
        nanos += u32::from(value) * scale;
        scale /= 10;
        end += 1;
    }
    (nanos, end)
}

fn clock(hours: u8, minutes: u8, seconds: u8) -> Option<i64> {
    let valid = hours < 24 && minutes < 60 && seconds <= 60;
    valid.then(|| i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds))
}

fn two(text: &[u8], at: usize) -> Option<u8> {
    Some(digit(*text.get(at)?)? * 10 + digit(*text.get(at + 1)?)?)
}

fn digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
}
