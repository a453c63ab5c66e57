//! Where the kubelet's log comes from. Opens what the command line names, or picks what is there, and hands the
//! events of each source on, in order; what could not be read is a gap. What an event means is not known here.

mod files;
mod intake;
mod lines;
mod names;
mod open;
mod tail;
#[cfg(test)]
mod tests;

use crate::{
    cli::{LogArgs, Moments},
    digest::Source,
    event::Event,
    evidence::Gap,
};
use files::Piece;
use intake::Intake;
use std::{collections::BTreeSet, time::Duration};

/// How a container's log is reached.
#[derive(Clone, Copy, Debug)]
pub struct DockerLog<'a> {
    /// `unix:///var/run/docker.sock`
    pub endpoint: &'a str,
    /// How long each call may take.
    pub timeout: Duration,
    /// Whether Docker may be asked; false with `--no-docker`.
    pub asked: bool,
}

/// What reading came to, besides the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The logs read, in the order of their events.
    pub sources: Vec<Source>,
    /// The hosts that their lines name.
    pub hosts: BTreeSet<String>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
    /// What was left out on purpose.
    pub notes: Vec<String>,
}

/// Reads what `args` ask for and hands the events to `sink`, source by source: files by the times of their first
/// lines, then the journal, then a container. Events outside `--since` and `--until` are left out; those without
/// a time are not.
///
/// # Errors
/// Nothing at all could be read of what was named: in one line, each log with the reason and the cure. What could
/// not be read besides others is a gap.
pub fn read(
    args: &LogArgs,
    moments: &Moments,
    _docker: DockerLog<'_>,
    sink: &mut dyn FnMut(Event),
) -> anyhow::Result<Reading> {
    let mut intake = Intake::new(moments, sink);
    let failures = files::read(&args.log, intake::hints(moments), &mut |piece| {
        take(&mut intake, false, piece)
    });
    intake.end();
    if intake.reading.sources.is_empty() && !failures.is_empty() {
        let all: Vec<String> = failures
            .iter()
            .map(|(name, error)| format!("can't read {name}: {error:#}"))
            .collect();
        anyhow::bail!("{}", all.join("; "));
    }
    for (name, error) in failures {
        intake.gap(name, format!("{error:#}"));
    }
    judge_empty(&mut intake);
    Ok(intake.reading)
}

/// Hands a piece of a file to the intake.
fn take(intake: &mut Intake<'_>, picked: bool, piece: Piece<'_>) -> bool {
    match piece {
        Piece::Start(name, from) => intake.start(name, picked, from),
        Piece::Block(block) => intake.block(block),
        Piece::Skip => intake.skip(),
        Piece::Gap(name, why) => intake.gap(name, why),
        Piece::Note(note) => intake.reading.notes.push(note),
    }
    true
}

/// Notes each named log that holds nothing of the kubelet: what it does not say proves nothing.
fn judge_empty(intake: &mut Intake<'_>) {
    let sources = &intake.reading.sources;
    let empty = sources.iter().all(|source| source.lines == 0);
    let silent: Vec<String> = sources
        .iter()
        .filter(|source| source.kubelet_lines == 0 && (source.lines > 0 || empty))
        .map(|source| source.name.clone())
        .collect();
    for name in silent {
        intake.gap(
            name,
            if empty {
                "it is empty"
            } else {
                "it holds no line of the kubelet"
            },
        );
    }
}
