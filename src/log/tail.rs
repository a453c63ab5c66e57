//! How much is read of files that plegdoctor picked by itself: their end, of at most a day and a GiB, and for a
//! limited time. A node that starves for I/O is not made worse, and what happened last is read in any case.

use super::{
    files::{Emit, Piece},
    measure,
    open::{self, Log},
    window::{self, Part, Window},
};
use crate::{kubelet::parser::Hints, syntax::time::Time};
use anyhow::Context as _;
use std::{
    fs::File,
    os::unix::fs::FileExt as _,
    time::{Duration, Instant},
};

/// How much is looked at a time on the way back.
pub(super) const STEP: u64 = 1 << 20;
/// How much of a step is searched for a time.
pub(super) const PROBE: usize = 64 << 10;
/// What is read at most of a file's end when time runs out.
const END: u64 = 32 << 20;
/// How much of the way back goes block by block before a leap.
const WALK: u64 = 32 << 20;
/// How long that may take on a disk that stands being read at a hundred places.
const FAST: Duration = Duration::from_secs(1);

/// What a log that was picked by itself is held to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// How far back it is read.
    pub(super) oldest: Time,
    /// How much of it is read.
    pub(super) bytes: u64,
    /// Until when the way back may take.
    pub(super) turn: Instant,
    /// From when on only the end is read.
    pub(super) hurry: Instant,
    /// When reading ends, wherever it is.
    pub(super) deadline: Instant,
}

impl Limits {
    /// Returns how many of the `left` bytes to leave out so that the end is read in time, if `done` bytes were read
    /// from `began` to `now`.
    pub(super) fn hurry(&self, began: Instant, now: Instant, done: u64, left: u64) -> Option<u64> {
        if now < self.hurry {
            return None;
        }
        let time = self.deadline.saturating_duration_since(now).as_millis();
        let took = (now - began).as_millis().max(1);
        // Half of what can be done in the time that is left: it may get slower.
        let can = u128::from(done) * time / took / 2;
        let end = u64::try_from(can).unwrap_or(END).clamp(STEP, END);
        (left > end).then(|| left - end)
    }
}

/// Returns why `bytes` were left out.
pub(super) fn skipped(bytes: u64) -> String {
    format!(
        "{bytes} bytes before its end were left out, since time ran out: name it with --log, or give it more with --log-timeout"
    )
}

/// Why the way back ended.
pub(super) enum Turn {
    /// At the file's beginning.
    Beginning,
    /// At lines that are too old.
    Old,
    /// After enough bytes.
    Bytes,
    /// After enough time.
    Time,
}

/// Moves the logs' starts so that the limits hold, and drops logs that are too old in whole. `logs` go from the
/// oldest to the newest.
///
/// The way goes back block by block from the newest log's end: so it is known how fast the disk is. That reads what is
/// read again right after, from the page cache. Of a long log, on a disk that is fast enough, the rest of the way is a
/// leap, to a place found by halving, if its times rise.
pub(super) fn shorten(logs: &mut Vec<Log>, hints: Hints, limits: &Limits, emit: &mut Emit<'_>) {
    let mut room = limits.bytes;
    for at in (0..logs.len()).rev() {
        let newer = logs.get(at + 1).map(|log| log.name.clone());
        let log = &mut logs[at];
        let found = match log.span {
            Some(span) => way_back(log, span, room, hints, limits)
                .map(|(start, turn)| (span.0, start, span.1, turn)),
            None => measure::way_in(log, room, hints, limits)
                .map(|(start, end, turn)| (0, start, end, turn)),
        };
        let (begin, start, end, turn) = match found {
            Ok(found) => found,
            Err(error) => {
                emit(Piece::Gap(&log.name, format!("{error:#}")));
                continue;
            }
        };
        match log.span {
            Some(_) => log.span = Some((start, end)),
            // What is compressed can only be read from its beginning: for that there is no time, unless it is all.
            None if matches!(turn, Turn::Time) => {
                let Some(newer) = newer else { continue };
                emit(Piece::Gap(&newer, too_slow(&log.name, at)));
                logs.drain(..=at);
                return;
            }
            None => log.skip = start,
        }
        room -= end - start;
        let name = log.name.clone();
        let read = end - start;
        match turn {
            Turn::Beginning => continue,
            Turn::Old if start == begin && at == 0 => {}
            Turn::Old => {
                emit(Piece::Note(format!(
                    "{name}: what is older than 24 h was left out"
                )));
            }
            Turn::Bytes | Turn::Time => {
                let limit = match turn {
                    Turn::Bytes => "1 GiB is enough",
                    _ => "reading was slow",
                };
                let older = match at {
                    0 => String::new(),
                    older => format!(" and {older} older ones"),
                };
                let left = start - begin;
                emit(Piece::Gap(
                    &name,
                    format!(
                        "only its last {read} bytes were read, {left} before them{older} were not, since {limit}: name it with --log to read it in whole"
                    ),
                ));
            }
        }
        logs.drain(..at);
        return;
    }
}

/// Returns why the compressed log `name` and the `older` ones were left out.
fn too_slow(name: &str, older: usize) -> String {
    let older = match older {
        0 => String::new(),
        older => format!(" and {older} older ones"),
    };
    format!(
        "what is older is compressed, and {name}{older} were not read, since reading was slow: name them with --log, or give it more time with --log-timeout"
    )
}

/// Returns where in `log` to start so that at most `room` bytes are read, and why there.
fn way_back(
    log: &mut Log,
    (begin, end): (u64, u64),
    room: u64,
    hints: Hints,
    limits: &Limits,
) -> anyhow::Result<(u64, Turn)> {
    let name = log.name.clone();
    let file = log.file()?;
    let floor = begin.max(end.saturating_sub(room));
    let mut block = vec![0; usize::try_from(STEP)?];
    let (mut at, began) = (end, Instant::now());
    while at > floor {
        if end - at == WALK
            && began.elapsed() < FAST
            && let Some(leap) = leap(file, (begin, floor, end), began.elapsed(), hints, limits)?
        {
            return Ok(leap);
        }
        // A step is read in any case: the end is what matters most.
        if at < end && Instant::now() >= limits.turn {
            return Ok((at, Turn::Time));
        }
        let from = floor.max(at.saturating_sub(STEP));
        let step = &mut block[..usize::try_from(at - from)?];
        file.read_exact_at(step, from)
            .with_context(|| format!("reading it failed before byte {at}"))?;
        at = from;
        let probe = &step[..step.len().min(PROBE)];
        if open::first_time(&name, probe, hints).is_some_and(|first| first < limits.oldest) {
            return Ok((at, Turn::Old));
        }
    }
    Ok((at, beginning(begin, at)))
}

/// Returns why reading starts at `at` where nothing before it is too old.
fn beginning(begin: u64, at: u64) -> Turn {
    match at == begin {
        true => Turn::Beginning,
        false => Turn::Bytes,
    }
}

/// Returns where to start in a file of which the last `WALK` bytes were read in that time, and why there; `None` if its
/// times do not tell.
fn leap(
    file: &File,
    (begin, floor, end): (u64, u64, u64),
    took: Duration,
    hints: Hints,
    limits: &Limits,
) -> anyhow::Result<Option<(u64, Turn)>> {
    let window = Window {
        since: Some(limits.oldest),
        until: None,
    };
    let (start, turn) = match window::find(file, floor..end, window, hints)? {
        Part::Only(section) => (section.bytes.start, Turn::Old),
        Part::Whole(None) => (floor, beginning(begin, floor)),
        Part::Whole(Some(_)) => return Ok(None),
    };
    // As far as the way back, block by block, would have come.
    let left = limits.turn.saturating_duration_since(Instant::now());
    let can = u128::from(WALK) * left.as_micros() / took.as_micros().max(1);
    let reach = WALK.saturating_add(u64::try_from(can).unwrap_or(u64::MAX));
    Ok(Some(match end.saturating_sub(reach) {
        far if far > start => (far, Turn::Time),
        _ => (start, turn),
    }))
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
            bytes: 1 << 30,
            turn: began,
            hurry: after(10),
            deadline: after(14),
        };
        let mib = |number: u64| number << 20;
        // 50 MiB in 10 s, and 4 s left: 10 MiB take half of them.
        assert_eq!(
            limits.hurry(began, after(10), mib(50), mib(100)),
            Some(mib(90))
        );
        assert_eq!(limits.hurry(began, after(10), mib(50), mib(10)), None);
        assert_eq!(limits.hurry(began, after(9), mib(50), mib(100)), None);
        // Never more than 32 MiB, never less than one.
        assert_eq!(
            limits.hurry(began, after(10), mib(5000), mib(100)),
            Some(mib(68))
        );
        assert_eq!(limits.hurry(began, after(15), 0, mib(100)), Some(mib(99)));
    }
}
