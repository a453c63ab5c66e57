//! `plegdoctor diagnose`: gather, diagnose, print.

use crate::{
    cli::{self, DiagnoseArgs},
    gather::gather,
    render::{self, Style},
    report::diagnose,
};
use std::{io::Write, process::ExitCode};

/// Runs it and returns the exit code.
///
/// # Errors
/// The question could not be asked: bad values, an unreadable log; or `out` fails.
pub fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let moments = args.log.moments()?;
    let evidence = gather(args, &moments)?;
    let report = diagnose(&evidence);
    let style = Style { width: cli::width(), color: cli::color(args.color) };
    render::write(&report, args.format, style, out)?;
    out.flush()?;
    Ok(ExitCode::from(report.exit_code()))
}
