//! What must be on the disk before anything is changed: the evidence, which a remedy destroys, and the audit.

use crate::{
    apply::{Audit, Clock, save},
    cli::{
        DiagnoseArgs,
        fix::{FixArgs, folders},
    },
    render::json,
    report::Report,
};
use anyhow::Context as _;
use std::path::{Path, PathBuf};

/// Saves the evidence, as `--collect-to` says or under a name of its own; returns where.
///
/// # Errors
/// It can't be saved.
pub(super) fn evidence(
    args: &DiagnoseArgs,
    report: &Report,
    clock: Clock,
) -> anyhow::Result<PathBuf> {
    let name = format!("plegdoctor-{}.json", clock.now().format("%Y%m%dT%H%M%S"));
    somewhere(args.fix.collect_to.as_deref(), &name, &|path| {
        let mut bytes = Vec::new();
        json::write(report, &mut bytes)?;
        save::new(path, bytes)
    })
    .map(|(path, ())| path)
}

/// Opens the audit, as `--audit` says or under a name of its own; returns where, too.
///
/// # Errors
/// It can't be opened.
pub(super) fn audit(args: &FixArgs, clock: Clock) -> anyhow::Result<(Audit, PathBuf)> {
    let name = "plegdoctor-audit.jsonl";
    let open = |path: &Path| Audit::open(path, clock);
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
