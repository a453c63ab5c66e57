//! `plegdoctor diagnose`: observe this machine or a capture, diagnose, print. Saves what was observed, if asked.

use super::{collect, fix};
use crate::capture::{Capture, CaptureWriter, Recorder, Sanitize};
use crate::cli::DiagnoseArgs;
use crate::commands::observe::{observe_with_progress, replay};
use crate::evidence::Evidence;
use crate::render::Style;
use crate::{cli, render, report};
use anyhow::Context as _;
use std::{io::Write, process::ExitCode};

/// # Errors
/// The question could not be asked: bad values, an unreadable log or capture; or `out` fails, or what was judged can't
/// be saved.
pub fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    if args.fix.fix {
        return fix::run(args, out);
    }
    // A name that is taken fails before anything is asked.
    let writer = args.save.as_deref().map(CaptureWriter::begin).transpose()?;
    let recorder = writer.as_ref().map(|_| Recorder::new(Sanitize::Workloads));
    let evidence = evidence(args, recorder.as_ref())?;
    let report = report::diagnose(&evidence);
    let style = Style {
        width: cli::width(),
        color: cli::color(args.color),
    };
    render::write(&report, args.format, style, out)
        .and_then(|()| out.flush())
        .context("can't write the report")?;
    if let (Some(writer), Some(recorder)) = (writer, recorder) {
        let mut recording = recorder.finish(&evidence);
        collect::sign(&mut recording, "diagnose --save");
        writer.write(recording)?;
    }
    Ok(ExitCode::from(report.exit_code()))
}

fn evidence(args: &DiagnoseArgs, recorder: Option<&Recorder>) -> anyhow::Result<Evidence> {
    match &args.capture {
        Some(path) => replay(&args.look, Capture::open(path)?, recorder),
        None => observe_with_progress(&args.look, recorder),
    }
}
