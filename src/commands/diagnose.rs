//! `plegdoctor diagnose`: gather, diagnose, print; or see again what a capture holds. Saves what was judged, if asked.

use super::{collect, fix, progress::Progress};
use crate::{
    capture::{Capture, Keep, Privacy, Saving},
    cli::{self, DiagnoseArgs, LookArgs},
    commands::observe::{gather, replay},
    evidence::Evidence,
    log::Gauge,
    render::{self, Style},
    report,
    runtime::{disk, docker},
};
use anyhow::Context as _;
use std::{io::Write, process::ExitCode};

/// # Errors
/// The question could not be asked: bad values, an unreadable log or capture; or `out` fails, or what was judged can't
/// be saved.
pub fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    if args.fix.fix {
        return fix::run(args, out);
    }
    // A name that is taken is told before anything is asked.
    let saving = args.save.as_deref().map(Saving::begin).transpose()?;
    let keep = saving.as_ref().map(|_| Keep::new(Privacy::Reserved));
    let evidence = evidence(args, keep.as_ref())?;
    let report = report::diagnose(&evidence);
    let style = Style {
        width: cli::width(),
        color: cli::color(args.color),
    };
    render::write(&report, args.format, style, out)
        .and_then(|()| out.flush())
        .context("can't write the report")?;
    if let (Some(saving), Some(keep)) = (saving, keep) {
        let mut kept = keep.finish(&evidence);
        collect::sign(&mut kept, "diagnose --save");
        saving.write(kept)?;
    }
    Ok(ExitCode::from(report.exit_code()))
}

fn evidence(args: &DiagnoseArgs, keep: Option<&Keep>) -> anyhow::Result<Evidence> {
    match &args.capture {
        Some(path) => replay(&args.look, Capture::open(path)?, keep),
        None => seen(&args.look, keep),
    }
}

/// # Errors
/// As `run`.
pub(super) fn seen(args: &LookArgs, keep: Option<&Keep>) -> anyhow::Result<Evidence> {
    let gauge = Gauge::default();
    let _progress = Progress::of_log(&gauge);
    watched(args, keep, &gauge)
}

/// As `seen`; how far the log is read shows on `gauge`.
///
/// # Errors
/// As `run`.
pub(super) fn watched(
    args: &LookArgs,
    keep: Option<&Keep>,
    gauge: &Gauge,
) -> anyhow::Result<Evidence> {
    let read_files = |place: &_, ids: Option<&[_]>| disk::read(place, ids, disk::PATIENCE);
    gather(
        args,
        &args.log.moments()?,
        keep,
        gauge,
        &docker::probe,
        &read_files,
    )
}
