//! `plegdoctor diagnose`: gather, diagnose, print; or see again what a capture holds. Saves what was judged, if asked.

use super::observe::{live, replay};
use crate::{
    capture::{Capture, Keep, Privacy, Saving},
    cli::{self, DiagnoseArgs},
    evidence::Evidence,
    render::{self, Style},
    report,
};
use anyhow::Context as _;
use std::{io::Write, process::ExitCode};

/// # Errors
/// The question could not be asked: bad values, an unreadable log or capture; or `out` fails, or what was judged can't
/// be saved.
pub fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
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
        live::sign(&mut kept, "diagnose --save");
        saving.write(kept)?;
    }
    Ok(ExitCode::from(report.exit_code()))
}

fn evidence(args: &DiagnoseArgs, keep: Option<&Keep>) -> anyhow::Result<Evidence> {
    match &args.capture {
        Some(path) => replay(&args.look, Capture::open(path)?, keep),
        None => live::observe(&args.look, keep),
    }
}
