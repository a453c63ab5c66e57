//! Which part of a file holds the lines of a window of time. 64 places of it are looked at first, a few KiB each; where
//! their times rise, the ends of the part are found by halving between them. Where they do not, or tell too little,
//! the file is read in whole, and why is said.
//!
//! A line may be late: one that stands up to `LATE` behind an earlier one is no disorder. So the part reaches that much
//! beyond the window on both sides, and then holds every line of it. What happened before the window is no event, so
//! nothing has to be read for the sake of looking back further.

use crate::{
    kubelet::parser,
    syntax::time::{Hints, Stamp, Time, Timestamps, When, Yearless, klog_created},
};
use chrono::{FixedOffset, TimeDelta};
use rustix::fs::SeekFrom;
use std::{fs::File, io, ops::Range, os::unix::fs::FileExt as _};

/// How late a line may be.
const LATE: TimeDelta = TimeDelta::minutes(10);
/// How many places are looked at first.
const PLACES: u64 = 64;
/// How much is looked at there; and if no line that tells a time is found in it.
const LOOKS: [usize; 2] = [8 << 10, 64 << 10];
/// How near to its beginning and its end the part is found.
const GRAIN: u64 = 64 << 10;
/// A file up to this size is read in whole: looking for the part would read much of it.
const SMALL: u64 = 4 << 20;

/// A window of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// Its beginning.
    pub(super) since: Option<Time>,
    /// Its end.
    pub(super) until: Option<Time>,
}

impl Window {
    /// Returns whether a part of a file of that many bytes may be enough for it.
    pub(super) fn narrows(&self, size: u64) -> bool {
        (self.since.is_some() || self.until.is_some()) && size > SMALL
    }
}

/// What there is to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All, and why.
    Whole(Option<String>),
    /// Only this.
    Only(Section),
}

/// A part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// From which byte to which.
    pub(super) bytes: Range<u64>,
    /// The zone that its lines were taken to be of, since none of them tells it.
    pub(super) assumed: Option<FixedOffset>,
    /// The machine that klog's file header names.
    pub(super) host: Option<String>,
}

/// What can be read anywhere.
pub(super) trait Bytes {
    /// Reads at a place, as `FileExt` does.
    fn bytes_at(&self, out: &mut [u8], at: u64) -> io::Result<usize>;
    /// Returns where at or after that place something was written; the rest is a hole.
    fn written_from(&self, at: u64) -> Option<u64>;
}

impl Bytes for File {
    fn bytes_at(&self, out: &mut [u8], at: u64) -> io::Result<usize> {
        self.read_at(out, at)
    }

    fn written_from(&self, at: u64) -> Option<u64> {
        match rustix::fs::seek(self, SeekFrom::Data(at)) {
            Ok(place) => Some(place),
            Err(rustix::io::Errno::NXIO) => None,
            // Not every file system knows of holes.
            Err(_) => Some(at),
        }
    }
}

/// Finds the part of `span` of a file that holds the `window`.
///
/// # Errors
/// The file can't be read.
pub(super) fn find(
    file: &dyn Bytes,
    span: Range<u64>,
    window: Window,
    hints: Hints,
) -> io::Result<Part> {
    if !window.narrows(span.end - span.start) {
        return Ok(Part::Whole(None));
    }
    let search = Search { file, span };
    let head = search.head()?;
    let looked = search.places()?;
    if looked.len() < 2 {
        return Ok(Part::Whole(Some(
            "too few of its lines tell a time".to_owned(),
        )));
    }
    let (mut places, assumed) = date(looked, head.created.as_deref(), hints);
    if let Some(words) = falls(&places) {
        return Ok(Part::Whole(Some(words)));
    }
    let mut bytes = search.span.clone();
    if let Some(since) = window.since {
        match search.boundary(&mut places, since - LATE)? {
            Ok(0) => {}
            Ok(index) => bytes.start = places[index - 1].at,
            Err(words) => return Ok(Part::Whole(Some(words))),
        }
        let written = search.file.written_from(bytes.start);
        bytes.start = written.unwrap_or(bytes.end).clamp(bytes.start, bytes.end);
    }
    if let Some(until) = window.until {
        match search.boundary(&mut places, until + LATE)? {
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
    if !tells_alone(inside, hints) {
        let why = "its lines tell no year, and a part of it would be taken for another's";
        return Ok(Part::Whole(Some(why.to_owned())));
    }
    Ok(Part::Only(Section {
        bytes,
        assumed,
        host: head.host,
    }))
}

/// A line that tells a time.
#[derive(Clone, Debug)]
struct Place {
    /// Where it begins.
    at: u64,
    /// Where the next one does.
    end: u64,
    /// What it tells.
    stamps: Stamps,
    /// When it was logged.
    time: Time,
}

/// klog's stamp, and the envelope's.
type Stamps = (Option<Yearless>, Option<Stamp>);

/// A line that tells a time, before that is understood: where it begins and ends, and what it tells.
type Look = (u64, u64, Stamps);

/// What klog's file header tells.
#[derive(Default)]
struct Head {
    created: Option<String>,
    host: Option<String>,
}

struct Search<'a> {
    file: &'a dyn Bytes,
    span: Range<u64>,
}

impl Search<'_> {
    /// Reads up to `size` bytes from `at` on.
    fn read(&self, at: u64, size: usize) -> io::Result<Vec<u8>> {
        let left = usize::try_from(self.span.end.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut text = vec![0; size.min(left)];
        let mut done = 0;
        while done < text.len() {
            match self.file.bytes_at(&mut text[done..], at + done as u64) {
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
        let text = self.read(self.span.start, LOOKS[0])?;
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

    /// Looks at places all over the file, and at its end. Places within a hole are one.
    fn places(&self) -> io::Result<Vec<Look>> {
        let size = self.span.end - self.span.start;
        let evenly = (0..PLACES).map(|number| self.span.start + size / PLACES * number);
        let mut looks: Vec<Look> = Vec::new();
        let mut silent = 0;
        for from in evenly.chain([self.span.end - LOOKS[1] as u64]) {
            if looks.last().is_some_and(|(at, ..)| *at >= from) {
                continue;
            }
            match self.look(from)? {
                Some(look) if looks.last().is_none_or(|last| last.0 < look.0) => looks.push(look),
                Some(_) => {}
                None => silent += 1,
            }
        }
        // What is mostly something else is better read in whole.
        if silent > PLACES / 2 {
            looks.clear();
        }
        Ok(looks)
    }

    /// Returns the first line that begins at or after `from` and tells a time, if one is near.
    fn look(&self, from: u64) -> io::Result<Option<Look>> {
        let from = self.file.written_from(from).unwrap_or(self.span.end);
        // One byte earlier, so that a line that starts just there is not taken for a torn one.
        let start = from.saturating_sub(1).max(self.span.start);
        for size in LOOKS {
            let text = self.read(start, size)?;
            if let Some(look) = self.timed(start, &text) {
                return Ok(Some(look));
            }
        }
        Ok(None)
    }

    /// Returns the first whole line of `text`, which stands at `start`, that tells a time.
    fn timed(&self, start: u64, text: &[u8]) -> Option<Look> {
        let mut at = match start == self.span.start {
            true => 0,
            false => memchr::memchr(b'\n', text)? + 1,
        };
        loop {
            let end = at + memchr::memchr(b'\n', text.get(at..)?)?;
            if let Some(stamps) = parser::stamps(&text[at..end]) {
                return Some((start + at as u64, start + end as u64 + 1, stamps));
            }
            at = end + 1;
        }
    }

    /// Returns the index of the first place whose time is `cut` or later, found closely enough; places that are looked
    /// at on the way are put among the others. In words: why not.
    fn boundary(&self, places: &mut Vec<Place>, cut: Time) -> io::Result<Result<usize, String>> {
        let late = |place: &Place| place.time >= cut;
        let mut index = places.iter().position(late).unwrap_or(places.len());
        let mut end = places.get(index).map_or(self.span.end, |place| place.at);
        while index > 0 && end - places[index - 1].at > GRAIN {
            let before = &places[index - 1];
            let middle = before.at + (end - before.at) / 2;
            let found = self.look(middle)?.filter(|(at, ..)| *at < end);
            let Some((at, line_end, stamps)) = found else {
                // No line between begins here, or none is known: what is before may be all that matters.
                end = middle;
                continue;
            };
            let Some(time) = near(stamps, before.time) else {
                end = middle;
                continue;
            };
            let after = places.get(index).map(|place| place.time);
            if before.time - time > LATE || after.is_some_and(|after| time - after > LATE) {
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

/// Returns when the lines were logged, as one log; and the zone that they were taken to be of, if none tells it. A line
/// that cannot be dated is left out.
fn date(
    looks: Vec<Look>,
    created: Option<&str>,
    hints: Hints,
) -> (Vec<Place>, Option<FixedOffset>) {
    let mut calendar = Timestamps::new(hints);
    if let Some(local) = created.and_then(klog_created) {
        calendar.created(local);
    }
    let seen: Vec<When> = looks
        .iter()
        .map(|(_, _, (own, envelope))| calendar.observe(*own, *envelope))
        .collect();
    calendar.settle();
    let mut places = Vec::new();
    for ((at, end, stamps), when) in looks.into_iter().zip(seen) {
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

/// Returns when a line was logged that stands after one of that time, and not a year after it.
fn near((own, envelope): Stamps, before: Time) -> Option<Time> {
    let zone = *before.offset();
    let received = match envelope {
        Some(Stamp::Exact(time)) => Some(time),
        Some(Stamp::Local(local)) => local.and_local_timezone(zone).single(),
        _ => None,
    };
    let yearless = own.or(match envelope {
        Some(Stamp::Yearless(stamp)) => Some(stamp),
        _ => None,
    });
    match (yearless, received) {
        (Some(own), Some(received)) => Some(own.nearest(received, zone)),
        (Some(own), None) => Some(own.nearest(before, zone)),
        (None, received) => received,
    }
}

/// Returns where times go back, in words, if they do.
fn falls(places: &[Place]) -> Option<String> {
    let mut latest = None;
    for place in places {
        if latest.is_some_and(|latest| latest - place.time > LATE) {
            return Some(disorder(place.at));
        }
        latest = latest.max(Some(place.time));
    }
    None
}

fn disorder(at: u64) -> String {
    format!("the times of its lines do not rise (see byte {at})")
}

/// Returns whether these lines are dated alike where nothing before them is known.
fn tells_alone(places: Vec<Place>, hints: Hints) -> bool {
    let times: Vec<Time> = places.iter().map(|place| place.time).collect();
    let looks = places
        .into_iter()
        .map(|place| (place.at, place.end, place.stamps))
        .collect();
    let (alone, _) = date(looks, None, hints);
    alone.iter().map(|place| place.time).eq(times)
}

#[cfg(test)]
#[path = "tests/window.rs"]
mod tests;
