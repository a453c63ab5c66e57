//! Reads logs that a capture holds: the same lines in the same order as when they were kept.

use super::{
    Reading, UNKNOWN,
    intake::{self, Intake, Opening},
    judge_empty, judge_nodes, judge_window,
    looks::Looks,
    note_overlaps, open, pick,
    reel::Reel,
    rows::Rejoin,
    sink::Sink,
};
use crate::{log::options::Moments, syntax::time::Time};
use std::io::Read as _;

/// How much of a log's beginning is looked at for its first time.
const HEAD: usize = 64 << 10;

/// A log that was kept.
#[derive(Clone, Debug)]
pub struct Recorded<'a> {
    /// What it is called in citations.
    pub name: &'a str,
    /// Whether plegdoctor picked it by itself.
    pub picked: bool,
    /// How its reading began.
    pub from: Opening,
    /// Where it goes on in the middle of a later line.
    pub skips: &'a [u64],
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Reads logs that were kept, and hands their events to `sink`; with `reel`, keeps them again.
pub fn replay(
    logs: &[Recorded<'_>],
    moments: &Moments,
    reel: Option<&mut Reel>,
    sink: &mut dyn Sink,
) -> Reading {
    let mut intake = Intake::new(moments, sink);
    intake.reel = reel;
    for (number, log) in logs.iter().enumerate() {
        let later = logs[number + 1..].iter();
        intake.expect(later.map(|log| log.beginning(moments)).min());
        if log.picked {
            intake.not_before(pick::oldest(moments));
        }
        let joined = log.joined(&mut intake);
        let bytes = joined.as_deref().unwrap_or(log.bytes);
        intake.start(log.name, log.picked, log.from);
        let mut at = 0;
        for &skip in log.skips {
            // What a manifest says may make no sense; then all is read.
            let skip = usize::try_from(skip).unwrap_or(usize::MAX);
            let Some(part) = bytes.get(at..skip) else {
                continue;
            };
            intake.block(part);
            intake.skip();
            at = skip;
        }
        intake.block(&bytes[at..]);
        intake.end();
    }
    judge_empty(moments, &mut intake);
    judge_nodes(&mut intake);
    judge_window(moments, &mut intake);
    note_overlaps(&mut intake);
    intake.reading
}

/// Puts logs of which nothing is known but their names and bytes in the order of their first lines' times; one that
/// tells none stays after the one before it.
pub fn order(logs: &mut Vec<Recorded<'_>>, moments: &Moments) {
    let mut before: Option<Time> = None;
    let mut dated: Vec<(Option<Time>, Recorded<'_>)> = Vec::new();
    for log in logs.drain(..) {
        let head = &log.bytes[..log.bytes.len().min(HEAD)];
        before = open::first_time(log.name, head, intake::hints(moments)).or(before);
        dated.push((before, log));
    }
    dated.sort_by_key(|(first, _)| *first);
    logs.extend(dated.into_iter().map(|(_, log)| log));
}

impl Recorded<'_> {
    /// Tells `intake` how its beginning looks; returns its bytes put together if its lines are broken.
    fn joined(&self, intake: &mut Intake<'_>) -> Option<Vec<u8>> {
        if self.from != Opening::Start {
            return None;
        }
        let head = &self.bytes[..self.bytes.len().min(HEAD)];
        let looks = Looks::of(head, head.len() < HEAD);
        intake.looks(looks);
        let mut joined = Vec::new();
        let read = Rejoin::new(self.bytes, looks.broken?).read_to_end(&mut joined);
        read.is_ok().then_some(joined)
    }

    /// Returns when it begins, or a time before all others.
    fn beginning(&self, moments: &Moments) -> Time {
        let head = &self.bytes[..self.bytes.len().min(HEAD)];
        let first = open::first_time(self.name, head, intake::hints(moments));
        first
            .filter(|_| self.from != Opening::Unnumbered)
            .unwrap_or(UNKNOWN)
    }
}

impl<'a> From<(&'a str, &'a [u8])> for Recorded<'a> {
    /// A log of which nothing is known but its name and bytes.
    fn from((name, bytes): (&'a str, &'a [u8])) -> Self {
        Self {
            name,
            picked: false,
            from: Opening::Start,
            skips: &[],
            bytes,
        }
    }
}
