//! The `plegdoctor` program.

use clap::Parser as _;
use plegdoctor::{
    cli::{Cli, Command},
    commands,
};
use std::{
    io::{self, Write as _},
    process::ExitCode,
};

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            // Nothing is left to tell if standard error is gone too.
            let _ = writeln!(io::stderr(), "plegdoctor: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.command {
        Command::Clean(args) => commands::clean::run(args, &mut io::stdout().lock()),
        Command::Diagnose(_) | Command::Schema { .. } => anyhow::bail!("not wired here yet"),
    }
}
