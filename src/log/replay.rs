//! Reads logs of a capture: the same lines in the same order as when they were recorded.

use super::ingest::Ingest;
use super::rewrap::Rewrap;
use super::sniff::{HEAD, LineFormat};
use super::{
    LogRecorder, ReadFrom, Reading, Sink, UNKNOWN_TIME, coverage, discover, parser_hints, sniff,
};
use crate::{log::options::Moments, syntax::time::Time};
use std::io::Read as _;

/// A recorded log.
#[derive(Clone, Debug)]
pub struct ReplayedLog<'a> {
    /// Its name in citations.
    pub name: &'a str,
    /// Whether plegdoctor found it itself.
    pub picked: bool,
    /// Where its reading began.
    pub from: ReadFrom,
    /// Bytes at which it continues in the middle of a later line.
    pub skips: &'a [u64],
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Reads recorded logs, and hands their events to `sink`; with `recorder`, records them again.
pub fn replay(
    logs: &[ReplayedLog<'_>],
    moments: &Moments,
    recorder: Option<&mut LogRecorder>,
    sink: &mut dyn Sink,
) -> Reading {
    let mut ingest = Ingest::new(moments, sink);
    ingest.recorder = recorder;
    for (number, log) in logs.iter().enumerate() {
        let later = logs[number + 1..].iter();
        let format = log.format();
        ingest.expect(later.map(|log| log.begins(moments)).min(), format);
        if log.picked {
            ingest.not_before(discover::oldest(moments));
        }
        let rejoined = format.wrapped.and_then(|width| log.rejoined(width));
        let bytes = rejoined.as_deref().unwrap_or(log.bytes);
        ingest.start(log.name, log.picked, log.from);
        let mut at = 0;
        for &skip in log.skips {
            // A manifest may be wrong; then all is read.
            let skip = usize::try_from(skip).unwrap_or(usize::MAX);
            let Some(part) = bytes.get(at..skip) else {
                continue;
            };
            ingest.block(part);
            ingest.skip();
            at = skip;
        }
        ingest.block(&bytes[at..]);
        ingest.end();
    }
    coverage::report_all(moments, &mut ingest);
    ingest.reading
}

/// Sorts logs of which only names and bytes are known by their first lines' times; one without a time stays after the
/// one before it.
pub fn sort_by_time(logs: &mut Vec<ReplayedLog<'_>>, moments: &Moments) {
    let mut before: Option<Time> = None;
    let mut dated: Vec<(Option<Time>, ReplayedLog<'_>)> = Vec::new();
    for log in logs.drain(..) {
        before = log.first_time(moments).or(before);
        dated.push((before, log));
    }
    dated.sort_by_key(|(first, _)| *first);
    logs.extend(dated.into_iter().map(|(_, log)| log));
}

impl ReplayedLog<'_> {
    fn head(&self) -> &[u8] {
        let head = usize::try_from(HEAD).unwrap_or(usize::MAX);
        &self.bytes[..self.bytes.len().min(head)]
    }

    fn format(&self) -> LineFormat {
        if self.from == ReadFrom::Start {
            LineFormat::detect(self.head())
        } else {
            LineFormat::default()
        }
    }

    fn rejoined(&self, width: usize) -> Option<Vec<u8>> {
        let mut rejoined = Vec::new();
        let read = Rewrap::new(self.bytes, width).read_to_end(&mut rejoined);
        read.is_ok().then_some(rejoined)
    }

    fn first_time(&self, moments: &Moments) -> Option<Time> {
        sniff::first_time(self.name, self.head(), parser_hints(moments))
    }

    /// When it begins, or a time before all others.
    fn begins(&self, moments: &Moments) -> Time {
        let first = match self.from {
            ReadFrom::Unnumbered => None,
            ReadFrom::Start | ReadFrom::Middle => self.first_time(moments),
        };
        first.unwrap_or(UNKNOWN_TIME)
    }
}

impl<'a> From<(&'a str, &'a [u8])> for ReplayedLog<'a> {
    /// A log of which only its name and bytes are known.
    fn from((name, bytes): (&'a str, &'a [u8])) -> Self {
        Self {
            name,
            picked: false,
            from: ReadFrom::Start,
            skips: &[],
            bytes,
        }
    }
}
