//! `plegdoctor diagnose`: gather, diagnose, print.

use super::fix;
use crate::{
    cli::{self, DiagnoseArgs},
    gather::gather,
    render::{self, Style},
    report::{self, Report},
    runtime::{
        Runtime,
        docker::{self, Ask},
    },
};
use anyhow::Context as _;
use std::{io::Write, process::ExitCode};

/// Runs it and returns the exit code.
///
/// # Errors
/// The question could not be asked: bad values, an unreadable log; or `out` fails.
pub fn run(args: &DiagnoseArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    if args.fix.fix {
        return fix::run(args, out);
    }
    let report = answer(args, &docker::probe)?;
    let style = Style {
        width: cli::width(),
        color: cli::color(args.color),
    };
    render::write(&report, args.format, style, out)
        .and_then(|()| out.flush())
        .context("can't write the report")?;
    Ok(ExitCode::from(report.exit_code()))
}

/// Returns the report, with whatever `ask` says Docker answers.
///
/// # Errors
/// As `run`.
pub fn answer(
    args: &DiagnoseArgs,
    ask: &dyn Fn(&Ask<'_>) -> anyhow::Result<Runtime>,
) -> anyhow::Result<Report> {
    let moments = args.log.moments()?;
    Ok(report::diagnose(&gather(args, &moments, ask)?))
}
