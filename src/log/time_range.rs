//! Which part of a file holds the lines of a time range. Its first step probes 64 places, a few KiB each; where their
//! times rise, the ends of the part are found by halving between them. Where they do not, or are too few, the file is
//! read in full, with the reason.
//!
//! A line may be late: up to `MAX_LATENESS` behind an earlier one it is no disorder. So the part reaches that much beyond
//! the range on both sides, and then holds every line of it.

use crate::kubelet::parser;
use crate::syntax::time::{Hints, Stamp, Time, Timestamps, When, Yearless, klog_created};
use chrono::{FixedOffset, TimeDelta};
use rustix::fs::SeekFrom;
use std::{fs::File, io, ops::Range, os::unix::fs::FileExt as _};

const MAX_LATENESS: TimeDelta = TimeDelta::minutes(10);
/// Places that are probed first.
const PLACES: u64 = 64;
/// Bytes that are read there; and if they have no line with a time.
const PROBES: [usize; 2] = [8 << 10, 64 << 10];
/// Precision of the ends of the part, in bytes.
const GRAIN: u64 = 64 << 10;
/// A file up to this size is read in full: the search would read much of it.
const SMALL: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeRange {
    pub(super) since: Option<Time>,
    pub(super) until: Option<Time>,
}

impl TimeRange {
    /// Whether a part of a file of that many bytes may be enough for it.
    pub(super) fn narrows(&self, size: u64) -> bool {
        (self.since.is_some() || self.until.is_some()) && size > SMALL
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All, and why it had to be all.
    Whole(Option<String>),
    Only(RangePart),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RangePart {
    pub(super) bytes: Range<u64>,
    /// The zone that its lines were assumed to be in, since none of them has one.
    pub(super) assumed_zone: Option<FixedOffset>,
    pub(super) host: Option<String>,
}

/// A file, or what tests use for one.
pub(super) trait RandomAccess {
    fn read_bytes_at(&self, out: &mut [u8], at: u64) -> io::Result<usize>;
    fn next_written(&self, at: u64) -> Option<u64>;
}

impl RandomAccess for File {
    fn read_bytes_at(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        self.read_at(out, at)
    }

    fn next_written(&self, at: u64) -> Option<u64> {
        match rustix::fs::seek(self, SeekFrom::Data(at)) {
            Ok(place) => Some(place),
            Err(rustix::io::Errno::NXIO) => None,
            // Not every file system knows of holes.
            Err(_) => Some(at),
        }
    }
}

/// Finds the part of `span` of a file that holds `range`.
///
/// # Errors
/// The file can't be read.
pub(super) fn find(
    file: &dyn RandomAccess,
    span: Range<u64>,
    range: TimeRange,
    hints: Hints,
) -> io::Result<Part> {
    if !range.narrows(span.end - span.start) {
        return Ok(Part::Whole(None));
    }
    let search = Search { file, span };
    let head = search.head()?;
    let stamped = search.places()?;
    if stamped.len() < 2 {
        return Ok(Part::Whole(Some(
            "too few of its lines have a time".to_owned(),
        )));
    }
    let (mut places, assumed) = date(stamped, head.created.as_deref(), hints);
    if let Some(words) = find_disorder(&places) {
        return Ok(Part::Whole(Some(words)));
    }
    let mut bytes = search.span.clone();
    if let Some(since) = range.since {
        match search.boundary(&mut places, since - MAX_LATENESS)? {
            Ok(0) => {}
            Ok(index) => bytes.start = places[index - 1].at,
            Err(words) => return Ok(Part::Whole(Some(words))),
        }
        let written = search.file.next_written(bytes.start);
        bytes.start = written.unwrap_or(bytes.end).clamp(bytes.start, bytes.end);
    }
    if let Some(until) = range.until {
        match search.boundary(&mut places, until + MAX_LATENESS)? {
            Ok(index) => bytes.end = places.get(index).map_or(bytes.end, |place| place.end),
            Err(words) => return Ok(Part::Whole(Some(words))),
        }
    }
    if bytes == search.span {
        return Ok(Part::Whole(None));
    }
    let inside: Vec<Place> = places
        .into_iter()
        .filter(|place| bytes.contains(&place.at))
        .collect();
    if !is_dated_alone(inside, hints) {
        let why = "its lines have no year, and a part of it would be dated differently";
        return Ok(Part::Whole(Some(why.to_owned())));
    }
    Ok(Part::Only(RangePart {
        bytes,
        assumed_zone: assumed,
        host: head.host,
    }))
}

#[derive(Clone, Debug)]
struct Place {
    at: u64,
    /// Where the next line begins.
    end: u64,
    stamps: Stamps,
    time: Time,
}

type Stamps = (Option<Yearless>, Option<Stamp>);

/// A line with a stamp that is not dated yet: where it begins and ends, and its stamp.
type Stamped = (u64, u64, Stamps);

/// klog's file header.
#[derive(Default)]
struct Head {
    created: Option<String>,
    host: Option<String>,
}

struct Search<'a> {
    file: &'a dyn RandomAccess,
    span: Range<u64>,
}

impl Search<'_> {
    fn read(&self, at: u64, size: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.span.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut text = vec![0; size.min(left)];
        let mut done = 0;
        while done < text.len() {
            match self.file.read_bytes_at(&mut text[done..], at + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        text.truncate(done);
        Ok(text)
    }

    fn head(&self) -> io::Result<Head> {
        let text = self.read(self.span.start, PROBES[0])?;
        let mut head = Head::default();
        for line in text.split(|byte| *byte == b'\n').take(8) {
            let line = String::from_utf8_lossy(line);
            if klog_created(&line).is_some() {
                head.created = Some(line.into_owned());
            } else if let Some((_, host)) = line.split_once("Running on machine: ") {
                head.host = Some(host.trim().to_owned());
            }
        }
        Ok(head)
    }

    /// Probes places all over the file, and at its end. Places within a hole are one.
    fn places(&self) -> io::Result<Vec<Stamped>> {
        let size = self.span.end - self.span.start;
        let evenly = (0..PLACES).map(|number| self.span.start + size / PLACES * number);
        let mut found: Vec<Stamped> = Vec::new();
        let mut silent = 0;
        for from in evenly.chain([self.span.end - PROBES[1] as u64]) {
            if found.last().is_some_and(|(at, ..)| *at >= from) {
                continue;
            }
            match self.probe(from)? {
                Some(stamped) if found.last().is_none_or(|last| last.0 < stamped.0) => {
                    found.push(stamped);
                }
                Some(_) => {}
                None => silent += 1,
            }
        }
        // A file of mostly other lines is read in full.
        if silent > PLACES / 2 {
            found.clear();
        }
        Ok(found)
    }

    /// The first line with a time that begins at or after `from`, if one is near.
    fn probe(&self, from: u64) -> io::Result<Option<Stamped>> {
        let from = self.file.next_written(from).unwrap_or(self.span.end);
        // One byte earlier, so that a line that starts just there is not taken for a torn one.
        let start = from.saturating_sub(1).max(self.span.start);
        for size in PROBES {
            let text = self.read(start, size)?;
            if let Some(stamped) = self.first_stamped(start, &text) {
                return Ok(Some(stamped));
            }
        }
        Ok(None)
    }

    /// The first whole line with a time in `text`, which begins at `start`.
    fn first_stamped(&self, start: u64, text: &[u8]) -> Option<Stamped> {
        let mut at = if start == self.span.start {
            0
        } else {
            memchr::memchr(b'\n', text)? + 1
        };
        loop {
            let end = at + memchr::memchr(b'\n', text.get(at..)?)?;
            if let Some(stamps) = parser::stamps(&text[at..end]) {
                return Some((start + at as u64, start + end as u64 + 1, stamps));
            }
            at = end + 1;
        }
    }

    /// The index of the first place whose time is `cut` or later, to `GRAIN`; adds the places probed on the way. Or why
    /// there is none.
    fn boundary(&self, places: &mut Vec<Place>, cut: Time) -> io::Result<Result<usize, String>> {
        let late = |place: &Place| place.time >= cut;
        let mut index = places.iter().position(late).unwrap_or(places.len());
        let mut end = places.get(index).map_or(self.span.end, |place| place.at);
        while index > 0 && end - places[index - 1].at > GRAIN {
            let before = &places[index - 1];
            let middle = before.at + (end - before.at) / 2;
            let found = self.probe(middle)?.filter(|(at, ..)| *at < end);
            let Some((at, line_end, stamps)) = found else {
                // No line with a time begins between: what is before may be all that matters.
                end = middle;
                continue;
            };
            let Some(time) = date_near(stamps, before.time) else {
                end = middle;
                continue;
            };
            let after = places.get(index).map(|place| place.time);
            if before.time - time > MAX_LATENESS
                || after.is_some_and(|after| time - after > MAX_LATENESS)
            {
                return Ok(Err(disorder(at)));
            }
            let place = Place {
                at,
                end: line_end,
                stamps,
                time,
            };
            if late(&place) {
                end = at;
            } else {
                index += 1;
            }
            places.insert(index - usize::from(!late(&place)), place);
        }
        Ok(Ok(index))
    }
}

/// Dates the lines, as one log, without those that cannot be dated; also the zone that was assumed, if none has one.
fn date(
    stamped: Vec<Stamped>,
    created: Option<&str>,
    hints: Hints,
) -> (Vec<Place>, Option<FixedOffset>) {
    let mut calendar = Timestamps::new(hints);
    if let Some(local) = created.and_then(klog_created) {
        calendar.created(local);
    }
    let seen: Vec<When> = stamped
        .iter()
        .map(|(_, _, (own, framing))| calendar.observe(*own, *framing))
        .collect();
    calendar.settle();
    let mut places = Vec::new();
    for ((at, end, stamps), when) in stamped.into_iter().zip(seen) {
        if let Some(time) = calendar.at(&calendar.close(when)) {
            places.push(Place {
                at,
                end,
                stamps,
                time,
            });
        }
    }
    let zone = places.first().map(|place| *place.time.offset());
    (places, zone.filter(|_| calendar.guessed()))
}

/// The time of a line that follows one of that time, and not a year later.
fn date_near((own, framing): Stamps, before: Time) -> Option<Time> {
    let zone = *before.offset();
    let received = match framing {
        Some(Stamp::Exact(time)) => Some(time),
        Some(Stamp::Local(local)) => local.and_local_timezone(zone).single(),
        _ => None,
    };
    let yearless = own.or(match framing {
        Some(Stamp::Yearless(stamp)) => Some(stamp),
        _ => None,
    });
    match (yearless, received) {
        (Some(own), Some(received)) => Some(own.nearest(received, zone)),
        (Some(own), None) => Some(own.nearest(before, zone)),
        (None, received) => received,
    }
}

/// Where times go back, if they do, in words.
fn find_disorder(places: &[Place]) -> Option<String> {
    let mut latest = None;
    for place in places {
        if latest.is_some_and(|latest| latest - place.time > MAX_LATENESS) {
            return Some(disorder(place.at));
        }
        latest = latest.max(Some(place.time));
    }
    None
}

fn disorder(at: u64) -> String {
    format!("its times go back at byte {at}")
}

/// Whether these lines are dated the same without what is before them.
fn is_dated_alone(places: Vec<Place>, hints: Hints) -> bool {
    let times: Vec<Time> = places.iter().map(|place| place.time).collect();
    let stamped = places
        .into_iter()
        .map(|place| (place.at, place.end, place.stamps))
        .collect();
    let (alone, _) = date(stamped, None, hints);
    alone.iter().map(|place| place.time).eq(times)
}

#[cfg(test)]
#[path = "tests/time_range.rs"]
mod tests;
