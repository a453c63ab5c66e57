//! How much of a compressed log is read where plegdoctor picked it by itself. It has no end to begin from: so it is
//! unpacked once to see how much there is, and again to be read.

use super::{
    open::{self, Log},
    tail::{Limits, PROBE, STEP, Turn},
};
use crate::kubelet::parser::Hints;
use anyhow::Context as _;
use std::{io::Read as _, time::Instant};

/// Returns where in what `log` unpacks to the reading is to start, so that at most `room` bytes are read, where it
/// ends, and why it starts there. What is wrong with it is told when it is read.
///
/// # Errors
/// It can't be opened again.
pub(super) fn way_in(
    log: &mut Log,
    room: u64,
    hints: Hints,
    limits: &Limits,
) -> anyhow::Result<(u64, u64, Turn)> {
    let mut reader = log.reader()?.context("it is no file")?;
    let mut step = Vec::new();
    let (mut old, mut end) = (None, 0);
    loop {
        step.clear();
        let ended = (&mut reader).take(STEP).read_to_end(&mut step).is_err();
        let probe = &step[..step.len().min(PROBE)];
        if open::first_time(&log.name, probe, hints).is_some_and(|first| first < limits.oldest) {
            old = Some(end);
        }
        end += step.len() as u64;
        if ended || step.is_empty() {
            break;
        }
        if Instant::now() >= limits.turn {
            return Ok((0, end, Turn::Time));
        }
    }
    let floor = end.saturating_sub(room);
    Ok(match old {
        Some(old) if old >= floor => (old, end, Turn::Old),
        _ if floor > 0 => (floor, end, Turn::Bytes),
        _ => (0, end, Turn::Beginning),
    })
}
