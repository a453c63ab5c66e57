//! How much is read of files that plegdoctor found itself: their end, of at most a day and a GiB, and for a limited time.
//! A node that is short of I/O is not made worse, and what happened last is read in any case.

use super::open::{Found, Log};
use super::time_range::{Part, TimeRange};
use super::{sniff, time_range};
use crate::{kubelet::parser::Hints, syntax::time::Time};
use anyhow::{Context as _, anyhow};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

const STEP: u64 = 1 << 20;
const PROBE: usize = 64 << 10;
/// Bytes of a file's end that are read at most when time runs out.
const MAX_END: u64 = 32 << 20;
/// Bytes that go back block by block before the rest is searched by halving.
const WALK: u64 = 32 << 20;
/// Time that the walk takes at most on a disk that stands being read at a hundred places.
const FAST_WALK: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) oldest: Time,
    pub(super) max_bytes: u64,
    pub(super) search_until: Instant,
    pub(super) hurry: Instant,
    /// When reading ends, wherever it is.
    pub(super) deadline: Instant,
}

impl Limits {
    /// How many of the `left` bytes to skip so that the end is read in time, if `done` bytes were read from `began` to
    /// `now`.
    pub(super) fn bytes_to_skip(
        &self,
        began: Instant,
        now: Instant,
        done: u64,
        left: u64,
    ) -> Option<u64> {
        if now < self.hurry {
            return None;
        }
        let time = self.deadline.saturating_duration_since(now).as_millis();
        let took = (now - began).as_millis().max(1);
        // Half of what the remaining time allows: it may get slower.
        let can = u128::from(done) * time / took / 2;
        let end = u64::try_from(can).unwrap_or(MAX_END).clamp(STEP, MAX_END);
        (left > end).then(|| left - end)
    }
}

/// Why reading starts where it does.
enum Start {
    Beginning,
    /// What is before is too old.
    Old,
    /// The rest holds enough bytes.
    Bytes,
    /// The search for the start took too long.
    Time,
}

/// Moves the logs' starts so that the limits hold, and drops logs that are too old as a whole.
///
/// The search goes back block by block from the newest log's end: that shows how fast the disk is. What it reads is read
/// again right after, from the page cache. In a long log, on a fast disk, the rest of the search is by halving, if its
/// times rise.
pub(super) fn shorten(found: &mut Found, hints: Hints, limits: &Limits) {
    let mut room = limits.max_bytes;
    for at in (0..found.logs.len()).rev() {
        let newer = found.logs.get(at + 1).map(|log| log.name.clone());
        let log = &mut found.logs[at];
        let name = log.name.clone();
        let located = match log.span {
            Some(span) => find_start(log, span, room, hints, limits)
                .map(|(start, why)| (span.0, start, span.1, why)),
            None => find_start_in_text(log, room, hints, limits)
                .map(|(start, end, why)| (0, start, end, why)),
        };
        let (begin, start, end, why) = match located {
            Ok(located) => located,
            Err(error) => {
                found.failures.push((name, error));
                continue;
            }
        };
        let older = match at {
            0 => String::new(),
            older => format!(" and {older} older ones"),
        };
        match log.span {
            Some(_) => log.span = Some((start, end)),
            // A compressed log can only be read from its beginning: too slow, unless it is the only one.
            None if matches!(why, Start::Time) => {
                let Some(newer) = newer else { continue };
                found.failures.push((newer, anyhow!("older logs are compressed, and {name}{older} were not read, since reading was slow: name them with --log, or raise --log-timeout")));
                found.logs.drain(..=at);
                return;
            }
            None => log.skip = start,
        }
        room -= end - start;
        let limit = match why {
            Start::Beginning => continue,
            Start::Old => {
                if start > begin || at > 0 {
                    found
                        .notes
                        .push(format!("{name}: what is older than 24 h was skipped"));
                }
                None
            }
            Start::Bytes => Some("1 GiB is the limit"),
            Start::Time => Some("reading was slow"),
        };
        if let Some(limit) = limit {
            let (read, before) = (end - start, start - begin);
            found.failures.push((name, anyhow!("read only its last {read} bytes, not the {before} before them{older}, since {limit}: name it with --log to read all of it")));
        }
        found.logs.drain(..at);
        return;
    }
}

/// Where in a plain log to start so that at most `room` bytes are read.
fn find_start(
    log: &mut Log,
    (begin, end): (u64, u64),
    room: u64,
    hints: Hints,
    limits: &Limits,
) -> anyhow::Result<(u64, Start)> {
    let name = log.name.clone();
    let file = log.file()?;
    let floor = begin.max(end.saturating_sub(room));
    let mut block = vec![0; usize::try_from(STEP)?];
    let (mut at, began) = (end, Instant::now());
    while at > floor {
        if end - at == WALK
            && began.elapsed() < FAST_WALK
            && let Some(found) =
                find_by_halving(file, (begin, floor, end), began.elapsed(), hints, limits)?
        {
            return Ok(found);
        }
        // One step is read in any case: the end matters most.
        if at < end && Instant::now() >= limits.search_until {
            return Ok((at, Start::Time));
        }
        let from = floor.max(at.saturating_sub(STEP));
        let step = &mut block[..usize::try_from(at - from)?];
        file.read_exact_at(step, from)
            .with_context(|| format!("reading it failed before byte {at}"))?;
        at = from;
        if is_old(&name, step, hints, limits) {
            return Ok((at, Start::Old));
        }
    }
    Ok((at, start_at(begin, at)))
}

fn is_old(name: &str, step: &[u8], hints: Hints, limits: &Limits) -> bool {
    let probe = &step[..step.len().min(PROBE)];
    sniff::first_time(name, probe, hints).is_some_and(|first| first < limits.oldest)
}

fn start_at(begin: u64, at: u64) -> Start {
    if at == begin {
        Start::Beginning
    } else {
        Start::Bytes
    }
}

/// Where to start in a file whose last `WALK` bytes were read in that time; `None` if its times do not show.
fn find_by_halving(
    file: &File,
    (begin, floor, end): (u64, u64, u64),
    took: Duration,
    hints: Hints,
    limits: &Limits,
) -> anyhow::Result<Option<(u64, Start)>> {
    let range = TimeRange {
        since: Some(limits.oldest),
        until: None,
    };
    let (start, why) = match time_range::find(file, floor..end, range, hints)? {
        Part::Only(part) => (part.bytes.start, Start::Old),
        Part::Whole(None) => (floor, start_at(begin, floor)),
        Part::Whole(Some(_)) => return Ok(None),
    };
    // As far as the search block by block would have come.
    let left = limits
        .search_until
        .saturating_duration_since(Instant::now());
    let can = u128::from(WALK) * left.as_micros() / took.as_micros().max(1);
    let reach = WALK.saturating_add(u64::try_from(can).unwrap_or(u64::MAX));
    Ok(Some(match end.saturating_sub(reach) {
        far if far > start => (far, Start::Time),
        _ => (start, why),
    }))
}

/// Where in a compressed log's text to start so that at most `room` bytes are read, and where it ends. The text is
/// decompressed once for this, and again to be read. Damage is reported then.
///
/// # Errors
/// It can't be opened again.
fn find_start_in_text(
    log: &mut Log,
    room: u64,
    hints: Hints,
    limits: &Limits,
) -> anyhow::Result<(u64, u64, Start)> {
    let mut reader = log.reader()?.context("it is no file")?;
    let mut step = Vec::new();
    let (mut old, mut end) = (None, 0);
    loop {
        step.clear();
        let failed = (&mut reader).take(STEP).read_to_end(&mut step).is_err();
        if is_old(&log.name, &step, hints, limits) {
            old = Some(end);
        }
        end += step.len() as u64;
        if failed || step.is_empty() {
            break;
        }
        if Instant::now() >= limits.search_until {
            return Ok((0, end, Start::Time));
        }
    }
    let floor = end.saturating_sub(room);
    Ok(match old {
        Some(old) if old >= floor => (old, end, Start::Old),
        _ if floor > 0 => (floor, end, Start::Bytes),
        _ => (0, end, Start::Beginning),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn when_time_runs_short_as_much_of_the_end_is_read_as_half_the_time_allows() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let limits = Limits {
            oldest: Time::default(),
            max_bytes: 1 << 30,
            search_until: began,
            hurry: after(10),
            deadline: after(14),
        };
        let mib = |number: u64| number << 20;
        // 50 MiB in 10 s, and 4 s left: 10 MiB take half of them.
        assert_eq!(
            limits.bytes_to_skip(began, after(10), mib(50), mib(100)),
            Some(mib(90))
        );
        assert_eq!(
            limits.bytes_to_skip(began, after(10), mib(50), mib(10)),
            None
        );
        assert_eq!(
            limits.bytes_to_skip(began, after(9), mib(50), mib(100)),
            None
        );
        // Never more than 32 MiB, never less than one.
        assert_eq!(
            limits.bytes_to_skip(began, after(10), mib(5000), mib(100)),
            Some(mib(68))
        );
        assert_eq!(
            limits.bytes_to_skip(began, after(15), 0, mib(100)),
            Some(mib(99))
        );
    }
}
