use super::*;
use chrono::{DateTime, TimeZone as _, Utc};
use std::cell::Cell;

const MIB: u64 = 1 << 20;

/// A log in memory that counts what is read of it.
struct Text {
    bytes: Vec<u8>,
    read: Cell<u64>,
}

impl Text {
    fn of(lines: impl Iterator<Item = String>) -> Self {
        let mut bytes = Vec::new();
        lines.for_each(|line| bytes.extend_from_slice(line.as_bytes()));
        let read = Cell::new(0);
        Self { bytes, read }
    }

    fn find(&self, since: Option<Time>, until: Option<Time>, now: Time) -> Part {
        let window = TimeRange { since, until };
        let hints = Hints {
            now,
            utc_offset: None,
        };
        find(self, 0..self.bytes.len() as u64, window, hints).unwrap()
    }

    fn section(&self, since: Option<Time>, until: Option<Time>, now: Time) -> RangePart {
        match self.find(since, until, now) {
            Part::Only(section) => section,
            whole => panic!("{whole:?}"),
        }
    }

    fn slice(&self, section: &RangePart) -> &str {
        let at = |place: u64| usize::try_from(place).unwrap();
        let text = &self.bytes[at(section.bytes.start)..at(section.bytes.end)];
        std::str::from_utf8(text).unwrap()
    }
}

impl RandomAccess for Text {
    fn read_bytes_at(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        let rest = self
            .bytes
            .get(usize::try_from(at).unwrap()..)
            .unwrap_or(b"");
        let size = rest.len().min(out.len());
        out[..size].copy_from_slice(&rest[..size]);
        self.read.set(self.read.get() + size as u64);
        Ok(size)
    }

    fn next_written(&self, at: u64) -> Option<u64> {
        Some(at)
    }
}

fn time(text: &str) -> Time {
    DateTime::parse_from_rfc3339(text).unwrap()
}

fn klog(at: Time) -> String {
    format!(
        "I{}    2261 kubelet_pods.go:1246] \"Some line of a usual length, so that there are not too many of them in it\"\n",
        at.format("%m%d %H:%M:%S%.6f")
    )
}

/// Lines from `first` on, `step` seconds apart.
fn every(step: i64, first: &str, count: i64) -> impl Iterator<Item = Time> + use<> {
    let first = time(first);
    (0..count).map(move |number| first + TimeDelta::seconds(number * step))
}

#[test]
fn of_a_long_log_the_window_and_ten_minutes_around_it_are_read_and_little_else() {
    // 6.9 days, 24 MB.
    let log = Text::of(every(3, "2026-11-20T00:00:00Z", 200_000).map(klog));
    let now = time("2026-11-27T00:00:00Z");
    let (since, until) = (time("2026-11-25T01:00:00Z"), time("2026-11-25T02:00:00Z"));
    let section = log.section(Some(since), Some(until), now);
    let text = log.slice(&section);
    for at in every(3, "2026-11-25T00:50:00Z", 1600) {
        assert!(text.contains(&klog(at)), "{at}");
    }
    let line = klog(now).len() as u64;
    let most = 1600 * line + 3 * GRAIN;
    assert!(
        section.bytes.end - section.bytes.start < most,
        "{section:?}"
    );
    assert!(log.read.get() < MIB, "{}", log.read.get());
    assert_eq!(section.assumed_zone, Some(*now.offset()));
    // Whole lines.
    assert!(text.starts_with("I1125 00:") && text.ends_with('\n'));
}

#[test]
fn one_end_alone_leaves_the_other() {
    let log = Text::of(every(3, "2026-11-20T00:00:00Z", 100_000).map(klog));
    let (now, end) = (time("2026-11-27T00:00:00Z"), log.bytes.len() as u64);
    let middle = time("2026-11-22T00:00:00Z");
    let after = log.section(Some(middle), None, now).bytes;
    let before = log.section(None, Some(middle), now).bytes;
    assert!(after.end == end && before.start == 0);
    assert!(after.start < before.end && before.end - after.start < 600 * 120 + 3 * GRAIN);
}

#[test]
fn a_window_before_or_after_the_log_leaves_its_first_or_last_lines() {
    let log = Text::of(every(3, "2026-11-20T00:00:00Z", 100_000).map(klog));
    let (now, end) = (time("2026-11-27T00:00:00Z"), log.bytes.len() as u64);
    let after = log.section(Some(time("2026-11-26T00:00:00Z")), None, now);
    assert!(after.bytes.end == end && end - after.bytes.start <= 2 * GRAIN);
    assert!(!log.slice(&after).is_empty());
    let before = log.section(None, Some(time("2026-11-19T00:00:00Z")), now);
    assert_eq!(log.slice(&before), klog(time("2026-11-20T00:00:00Z")));
}

#[test]
fn new_year_within_a_log_without_years_is_no_disorder() {
    let log = Text::of(every(20, "2026-12-20T00:00:00Z", 100_000).map(klog));
    let now = time("2027-01-15T00:00:00Z");
    let (since, until) = (time("2026-12-31T23:30:00Z"), time("2027-01-01T00:30:00Z"));
    let section = log.section(Some(since), Some(until), now);
    let text = log.slice(&section);
    for at in every(20, "2026-12-31T23:20:00Z", 240) {
        assert!(text.contains(&klog(at)), "{at}");
    }
    assert!(text.len() < 240 * 130 + 3 * usize::try_from(GRAIN).unwrap());
}

#[test]
fn a_part_that_alone_would_be_of_another_year_is_no_part() {
    // Seen from the 20th of December, lines of the 15th alone would be of this year.
    let log = Text::of(every(20, "2025-12-10T00:00:00Z", 100_000).map(klog));
    let now = time("2026-12-20T00:00:00Z");
    let day = |day: &str| Some(time(&format!("2025-12-{day}T00:00:00Z")));
    let Part::Whole(Some(why)) = log.find(day("15"), day("16"), now) else {
        panic!("a part");
    };
    assert!(why.contains("have no year"), "{why}");
    // With the lines after New Year it is clear.
    let section = log.section(day("15"), None, now);
    assert!(log.slice(&section).starts_with("I1214 23:"));
}

#[test]
fn where_times_do_not_rise_all_is_read_and_why_is_said() {
    let days =
        every(3, "2026-11-20T00:00:00Z", 60_000).chain(every(3, "2026-11-21T00:00:00Z", 60_000));
    let log = Text::of(days.map(klog));
    let since = Some(time("2026-11-22T00:00:00Z"));
    let Part::Whole(Some(why)) = log.find(since, None, time("2026-11-27T00:00:00Z")) else {
        panic!("a part");
    };
    assert!(why.contains("its times go back at byte "), "{why}");
}

#[test]
fn lines_that_are_ten_minutes_late_are_no_disorder_and_none_is_missed() {
    // Every other line is ten minutes late, as where two programs write.
    let late = |(number, at): (usize, Time)| match number % 2 {
        0 => klog(at),
        _ => klog(at - MAX_LATENESS),
    };
    let log = Text::of(
        every(3, "2026-11-20T00:00:00Z", 100_000)
            .enumerate()
            .map(late),
    );
    let (since, until) = (time("2026-11-22T01:00:00Z"), time("2026-11-22T02:00:00Z"));
    let section = log.section(Some(since), Some(until), time("2026-11-27T00:00:00Z"));
    let all = std::str::from_utf8(&log.bytes).unwrap();
    let asked = |text: &str| {
        text.lines()
            .filter(|line| ("I1122 01:".."I1122 02:00:00.000001").contains(line))
            .count()
    };
    assert_eq!(asked(log.slice(&section)), asked(all));
    assert!(asked(all) > 1000);
}

#[test]
fn lines_of_a_journal_or_a_runtime_tell_their_zone_and_nothing_is_assumed() {
    let forms: [fn(Time) -> String; 3] = [
        |at| {
            format!(
                "{} worker-3 kubelet[2261]: {}",
                at.format("%Y-%m-%dT%H:%M:%S%z"),
                klog(at)
            )
        },
        |at| {
            format!(
                "{} stderr F {}",
                at.format("%Y-%m-%dT%H:%M:%S.%fZ"),
                klog(at)
            )
        },
        |at| {
            format!(
                "{{\"ts\":{}.5,\"caller\":\"kubelet.go:1\",\"msg\":\"a message of some length, so that there are not too many\",\"v\":2}}\n",
                at.timestamp_millis()
            )
        },
    ];
    for form in forms {
        let log = Text::of(every(3, "2026-11-20T00:00:00Z", 60_000).map(form));
        // The user's own zone is another.
        let now = time("2026-11-27T00:00:00+08:00");
        let since = time("2026-11-21T23:00:00Z");
        let section = log.section(Some(since), None, now);
        assert_eq!(section.assumed_zone, None);
        let text = log.slice(&section);
        assert!(text.contains(&form(since)) && log.read.get() < MIB);
        assert!(!text.contains(&form(since - TimeDelta::minutes(60))));
    }
}

#[test]
fn a_header_that_names_year_and_host_is_heeded() {
    let header = "Log file created at: 2024/11/20 00:00:00\nRunning on machine: worker-7\nBinary: Built with gc go1.16\nLog line format: [IWEF]mmdd hh:mm:ss.uuuuuu threadid file:line] msg\n";
    let lines = every(3, "2024-11-20T00:00:00Z", 60_000).map(klog);
    let log = Text::of([header.to_owned()].into_iter().chain(lines));
    let since = Some(time("2024-11-21T00:00:00Z"));
    // Of the part alone nobody would know that it is two years old.
    let old = log.find(since, None, time("2026-11-27T00:00:00Z"));
    assert!(matches!(old, Part::Whole(Some(_))), "{old:?}");
    let section = log.section(since, None, time("2024-11-27T00:00:00Z"));
    assert_eq!(section.host.as_deref(), Some("worker-7"));
}

#[test]
fn what_tells_no_time_is_read_in_whole_and_a_short_log_too() {
    let since = Some(time("2026-11-21T00:00:00Z"));
    let now = time("2026-11-27T00:00:00Z");
    let dump = Text::of(
        (0..100_000)
            .map(|number| format!("goroutine {number} [select]: and more that tells no time\n")),
    );
    let why = dump.find(since, None, now);
    assert!(
        matches!(&why, Part::Whole(Some(why)) if why.contains("too few")),
        "{why:?}"
    );
    let short = Text::of(every(3, "2026-11-20T00:00:00Z", 1000).map(klog));
    assert_eq!(short.find(since, None, now), Part::Whole(None));
    assert_eq!(dump.find(None, None, now), Part::Whole(None));
    let later = Utc.timestamp_opt(0, 0).unwrap().fixed_offset();
    assert_eq!(short.find(Some(later), None, now), Part::Whole(None));
}

#[test]
fn a_stretch_without_times_costs_no_line_of_the_window() {
    // Two MB of a dump right where the window begins.
    let dump = "goroutine 1 [select, 1520 minutes]: k8s.io/kubernetes/pkg/kubelet\n".repeat(30_000);
    let log = Text::of(
        every(3, "2026-11-20T00:00:00Z", 50_000)
            .map(klog)
            .chain([dump])
            .chain(every(3, "2026-11-21T18:00:00Z", 50_000).map(klog)),
    );
    let since = time("2026-11-21T17:45:00Z");
    let text = log.section(Some(since), None, time("2026-11-27T00:00:00Z"));
    let text = log.slice(&text);
    let first = every(3, "2026-11-20T00:00:00Z", 50_000).last().unwrap();
    assert!(first < since && text.contains(&klog(time("2026-11-21T18:00:00Z"))));
    let early = log.section(
        Some(first - TimeDelta::minutes(1)),
        None,
        time("2026-11-27T00:00:00Z"),
    );
    assert!(log.slice(&early).contains(&klog(first)));
}

/// Numbers that look random, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        i64::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[test]
fn no_line_of_any_window_is_missed_in_any_log_whose_lines_are_at_most_ten_minutes_late() {
    let mut dice = Dice(7);
    let now = time("2026-12-31T00:00:00Z");
    let mut parts = 0;
    for round in 0..12 {
        let mut at = time("2026-11-20T00:00:00Z");
        let mut lines: Vec<(Option<Time>, String)> = Vec::new();
        let mut size = 0;
        while size < 5 << 20 {
            // Mostly a few seconds; now and then hours of silence, or a flood.
            let flood = dice.roll(40) == 0;
            at += TimeDelta::seconds(match dice.roll(2000) {
                0 => 3600 * dice.roll(30),
                _ if round % 3 == 0 => dice.roll(3),
                _ => dice.roll(9),
            });
            for _ in 0..if flood { dice.roll(300) } else { 1 } {
                let late = match dice.roll(3) {
                    0 => TimeDelta::seconds(dice.roll(600)),
                    _ => TimeDelta::zero(),
                };
                let line = klog(at - late);
                size += line.len();
                lines.push((Some(at - late), line));
            }
            if dice.roll(300) == 0 {
                let dump = "goroutine 12 [semacquire]:\n"
                    .repeat(usize::try_from(dice.roll(8000)).unwrap());
                size += dump.len();
                lines.push((None, dump));
            }
        }
        let log = Text::of(lines.iter().map(|(_, line)| line.clone()));
        let seconds = (at - time("2026-11-20T00:00:00Z")).num_seconds();
        for _ in 0..6 {
            let since = time("2026-11-20T00:00:00Z") + TimeDelta::seconds(dice.roll(seconds));
            let until = since + TimeDelta::seconds(dice.roll(20_000));
            let Part::Only(section) = log.find(Some(since), Some(until), now) else {
                continue;
            };
            parts += 1;
            let mut place = 0;
            for (when, line) in &lines {
                let inside = when.is_some_and(|when| (since..=until).contains(&when));
                let read =
                    section.bytes.start <= place && place + line.len() as u64 <= section.bytes.end;
                assert!(
                    !inside || read,
                    "round {round}: {line} {since} {until} {section:?}"
                );
                place += line.len() as u64;
            }
        }
    }
    assert!(parts > 60, "{parts}");
}
