//! The `plegdoctor` program: parse, run the subcommand, turn the result into an exit code.

use clap::Parser as _;
use plegdoctor::{
    capture,
    cli::{Cli, Command, Reader},
    commands,
    node::observe::{helper, leftover_layers, programs},
    remedy::apply::mount,
    render::layout,
    runtime::disk,
};
use std::io;
use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        // Who closes the pipe has read enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // A daemon's words may be part of it. Nothing is left to tell if standard error is gone too.
            let words = layout::visible(&format!("{error:#}"));
            let _ = writeln!(io::stderr(), "plegdoctor: {words}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout());
    match cli.command {
        Command::Diagnose(args) if args.fix.fix => commands::fix::run(&args, &mut out),
        Command::Diagnose(args) => commands::diagnose::run(&args, &mut out),
        Command::Events(args) => commands::events::run(&args, &mut out, &mut io::stderr()),
        Command::Explain(args) => commands::explain::run(&args, &mut out, &mut io::stderr()),
        Command::Collect(args) => commands::collect::run(*args, &mut out),
        Command::Clean(args) => commands::clean::run(&args, &mut out),
        Command::Probe(args) => commands::probe::run(&args, &mut out),
        Command::Schema { output } => commands::schema::run(output, &mut out),
        Command::Read { what } => {
            match what {
                Reader::File { file } => programs::write_file(&file, &mut out)?,
                Reader::Folders { root, folders } => {
                    leftover_layers::write(&root, &folders, &mut out)?;
                }
                Reader::Program { program, args } => match programs::exec(&program, &args)? {},
                Reader::Processes { root, what, pids } => {
                    helper::write(&root, what, &pids, &mut out)?;
                }
                Reader::Docker { place, ids } => disk::write(&place, &ids, &mut out)?,
                Reader::Capture { file } => capture::receive(&file, &mut io::stdin(), &mut out)?,
                Reader::Log {
                    place,
                    id,
                    file,
                    bytes,
                } => disk::write_log(&place, &id, &file, bytes, &mut out)?,
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::DetachMount {
            pid,
            namespace,
            mount,
            path,
        } => {
            mount::enter_and_detach(pid, namespace, mount, &path)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}
