//! `plegdoctor diagnose`: gather, diagnose, print.

use crate::{
    cli::{self, DiagnoseArgs},
    gather::{ReadFiles, gather},
    render::{self, Style},
    report::{self, Report},
    runtime::{
        Runtime, disk,
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
    let report = answer(args, &docker::probe, &|place, ids| {
        disk::read(place, ids, disk::PATIENCE)
    })?;
    let style = Style {
        width: cli::width(),
        color: cli::color(args.color),
    };
    render::write(&report, args.format, style, out)
        .and_then(|()| out.flush())
        .context("can't write the report")?;
    Ok(ExitCode::from(report.exit_code()))
}

/// Returns the report, with whatever `ask` says Docker answers, and `read_files` that it wrote.
///
/// # Errors
/// As `run`.
pub fn answer(
    args: &DiagnoseArgs,
    ask: &dyn Fn(&Ask<'_>) -> anyhow::Result<Runtime>,
    read_files: &ReadFiles<'_>,
) -> anyhow::Result<Report> {
    let moments = args.log.moments()?;
    Ok(report::diagnose(&gather(args, &moments, ask, read_files)?))
}
