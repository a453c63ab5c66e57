//! This machine observed now: what `diagnose`, its `--fix` and `collect` share.

use super::gather;
use crate::cli;
use crate::capture::{Recorder, Kept};
use crate::cli::LookArgs;
use crate::commands::progress::Progress;
use crate::evidence::Evidence;
use crate::log::Gauge;
use crate::runtime::{disk, docker};

/// Observes this machine, with a spinner while a long log is read.
pub(in crate::commands) fn observe(
    args: &LookArgs,
    keep: Option<&Recorder>,
) -> anyhow::Result<Evidence> {
    let gauge = Gauge::default();
    let _progress = Progress::of_log(&gauge);
    observe_with(args, keep, &gauge)
}

/// As `observe`; `gauge` shows how far the log is read.
pub(in crate::commands) fn observe_with(
    args: &LookArgs,
    keep: Option<&Recorder>,
    gauge: &Gauge,
) -> anyhow::Result<Evidence> {
    let read_files = |place: &_, ids: Option<&[_]>| disk::read(place, ids, disk::PATIENCE);
    let moments = args.log.moments()?;
    gather(args, &moments, keep, gauge, &docker::probe, &read_files)
}

/// Writes into the manifest which command made the capture, and when.
pub(in crate::commands) fn sign(kept: &mut Kept, made_by: &str) {
    made_by.clone_into(&mut kept.manifest.made_by);
    kept.manifest.made_at = cli::clock().to_rfc3339();
}
