//! `plegdoctor probe`: ask Docker, show each call with its time.

use crate::cli::ProbeArgs;
use crate::render::Format;
use crate::runtime::calls::Ending;
use crate::runtime::docker;
use crate::runtime::docker::Ask;
use crate::{cli, render};
use anyhow::Context as _;
use std::{io::Write, process::ExitCode};

/// Runs it and returns the exit code.
///
/// # Errors
/// The endpoint is none that can be asked, or `out` fails.
pub fn run(args: &ProbeArgs, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let runtime = docker::probe(&Ask {
        endpoint: &args.docker.endpoint(),
        probe_timeout: args.probe_timeout,
        max_unanswered: args.max_unanswered.into(),
        first: &[],
        now: cli::clock(),
        inspect_budget: docker::INSPECT_BUDGET,
        stacks_anyway: false,
        transcript: None,
        again: &[],
    })?;
    let rows = if args.all {
        usize::MAX
    } else {
        render::probe::ROWS
    };
    match args.format {
        Format::Text => render::probe::write(&runtime, rows, cli::width(), out),
        Format::Json => render::json::write(&render::json::Probed(&runtime), out),
    }
    .and_then(|()| out.flush())
    .context("can't write what was answered")?;
    Ok(ExitCode::from(match runtime.ending() {
        Ending::Well => 0,
        Ending::Trouble => 1,
        Ending::Unasked => 2,
    }))
}
