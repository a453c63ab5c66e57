//! What must be on the disk before anything is changed: the evidence, which a remedy destroys, and the audit.

use crate::capture::{CaptureWriter, Recorder};
use crate::cli::fix::{FixArgs, folders};
use crate::commands::collect;
use crate::evidence::Evidence;
use crate::remedy::apply::{Audit, Clock};
use anyhow::Context as _;
use std::path::{Path, PathBuf};

/// Saves what the first look has seen as a capture, as `--collect-to` says or under a name of its own; returns where.
pub(super) fn evidence(
    args: &FixArgs,
    recorder: Recorder,
    evidence: &Evidence,
    clock: Clock,
) -> anyhow::Result<PathBuf> {
    let mut recording = recorder.finish(evidence);
    collect::sign(&mut recording, "diagnose --fix");
    let name = format!("plegdoctor-{}.tar.gz", clock.now().format("%Y%m%dT%H%M%S"));
    let begun = somewhere(args.collect_to.as_deref(), &name, &CaptureWriter::begin);
    begun.and_then(|(path, writer)| writer.write(recording).map(|_| path))
}

/// Opens the audit, as `--audit` says or under a name of its own; returns where, too.
pub(super) fn audit(args: &FixArgs, clock: Clock) -> anyhow::Result<(Audit, PathBuf)> {
    let name = "plegdoctor-audit.jsonl";
    let open = |path: &Path| match args.audit {
        Some(_) => Audit::open(path, clock),
        None => Audit::open_own(path, clock),
    };
    somewhere(args.audit.as_deref(), name, &open).map(|(path, audit)| (audit, path))
}

/// Makes the named file, or one called `name` in the first folder that takes it.
fn somewhere<T>(
    named: Option<&Path>,
    name: &str,
    make: &dyn Fn(&Path) -> anyhow::Result<T>,
) -> anyhow::Result<(PathBuf, T)> {
    if let Some(path) = named {
        return Ok((path.to_owned(), make(path)?));
    }
    let mut failed = None;
    for folder in folders() {
        let path = folder.join(name);
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| anyhow::anyhow!("there is no folder for {name}")))
        .context("name a file")
}
