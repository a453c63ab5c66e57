//! Go's durations, as the kubelet prints them: `3m45.252087921s`, `500ms`, `2562047h47m16.854775807s`.
//!
//! Reading accepts the whole grammar of `time.Duration`'s text; writing rounds to what a person reads.

use chrono::TimeDelta;

/// What `time.Duration`'s largest value means in a log: never (2^63-1 ns, kubelets up to 1.12).
pub const NEVER: TimeDelta = TimeDelta::nanoseconds(i64::MAX);

/// The duration that `text` starts with, and how many bytes of `text` it takes.
///
/// Takes each unit at most once and in falling order, as Go prints them; `µs` with either mu, and `us`.
pub fn parse_prefix(text: &str) -> Option<(TimeDelta, usize)> {
    let bytes = text.as_bytes();
    let negative = bytes.first() == Some(&b'-');
    let mut at = usize::from(negative);
    let mut total: i128 = 0;
    let mut last_unit = i128::MAX;
    loop {
        let whole = digits(bytes, at);
        if whole == at {
            break;
        }
        let mut end = whole;
        let mut fraction = at..at;
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            fraction = end + 1..digits(bytes, end + 1);
            end = fraction.end;
        }
        let Some((unit, width)) = unit(&text[end..]) else {
            break;
        };
        if unit >= last_unit || whole - at > 18 {
            break;
        }
        let number: i128 = text[at..whole].parse().ok()?;
        total += number * unit;
        let mut scale = unit;
        for digit in text[fraction].bytes() {
            scale /= 10;
            total += i128::from(digit - b'0') * scale;
        }
        last_unit = unit;
        at = end + width;
    }
    if last_unit == i128::MAX {
        return None;
    }
    let nanos = i64::try_from(total).ok()?;
    Some((
        TimeDelta::nanoseconds(if negative { -nanos } else { nanos }),
        at,
    ))
}

/// The duration that `text` is, with nothing before or after it.
pub fn parse(text: &str) -> Option<TimeDelta> {
    if text == "0" {
        return Some(TimeDelta::zero());
    }
    parse_prefix(text).and_then(|(duration, used)| (used == text.len()).then_some(duration))
}

/// A span of time as `human` does.
pub fn spoken(span: std::time::Duration) -> String {
    human(TimeDelta::from_std(span).unwrap_or(NEVER))
}

/// `duration` as people write it: `3m57s`, `27h14m`, `3.0s`, `12ms`.
pub fn human(duration: TimeDelta) -> String {
    if duration == NEVER {
        return "never".to_owned();
    }
    let millis = duration.num_milliseconds();
    let seconds = millis / 1000;
    match seconds {
        _ if millis < 0 => format!("-{}", human(-duration)),
        0 if millis > 0 => format!("{millis}ms"),
        0 => "0s".to_owned(),
        1..60 => format!("{}.{}s", seconds, millis % 1000 / 100),
        60..3600 if seconds % 60 == 0 => format!("{}m", seconds / 60),
        60..3600 => format!("{}m{}s", seconds / 60, seconds % 60),
        3600..172_800 if seconds % 3600 < 60 => format!("{}h", seconds / 3600),
        3600..172_800 => format!("{}h{}m", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{}d{}h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

fn digits(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count()
}

fn unit(text: &str) -> Option<(i128, usize)> {
    const UNITS: [(&str, i128); 8] = [
        ("h", 3_600_000_000_000),
        ("ms", 1_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ns", 1),
    ];
    UNITS
        .iter()
        .find(|(name, _)| text.starts_with(name))
        .map(|&(name, nanos)| (nanos, name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_go_prints_is_read() {
        for (text, nanos) in [
            ("0s", 0),
            ("1ns", 1),
            ("1.5µs", 1_500),
            ("1.5μs", 1_500),
            ("1.5us", 1_500),
            ("1.5ms", 1_500_000),
            ("500ms", 500_000_000),
            ("59.9s", 59_900_000_000),
            ("3m0s", 180_000_000_000),
            ("3m45.252087921s", 225_252_087_921),
            ("7m24.0513035s", 444_051_303_500),
            ("1h0m0s", 3_600_000_000_000),
            ("27h14m51.413818128s", 98_091_413_818_128),
            ("2562047h47m16.854775807s", i64::MAX),
            ("-1.5s", -1_500_000_000),
        ] {
            assert_eq!(parse(text), Some(TimeDelta::nanoseconds(nanos)), "{text}");
        }
    }

    #[test]
    fn what_go_does_not_print_is_refused() {
        for text in [
            "",
            "3",
            "3m0",
            "s",
            "1.s",
            "3s2m",
            "~30m",
            "9999999999999999999h",
            "2562047h47m17s",
            "1m1m",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_duration_ends_where_its_text_ends() {
        assert_eq!(parse_prefix("3m0s.]"), Some((TimeDelta::minutes(3), 4)));
        assert_eq!(parse_prefix("3m0"), Some((TimeDelta::minutes(3), 2)));
    }

    #[test]
    fn people_read_rounded_durations() {
        for (text, human_form) in [
            ("12ms", "12ms"),
            ("3s", "3.0s"),
            ("3m0s", "3m"),
            ("3m57.2s", "3m57s"),
            ("1h0m0s", "1h"),
            ("27h14m51s", "27h14m"),
            ("72h5m0s", "3d0h"),
            ("2562047h47m16.854775807s", "never"),
        ] {
            assert_eq!(human(parse(text).unwrap()), human_form, "{text}");
        }
    }
}
