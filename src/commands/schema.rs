//! `plegdoctor schema`: the JSON Schema of each output.

use crate::cli::SchemaOf;
use anyhow::Context as _;
use std::{io::Write, process::ExitCode};

/// Writes the schema.
///
/// # Errors
/// What `out` says.
pub fn run(output: SchemaOf, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let schema: &[u8] = match output {
        SchemaOf::Report => include_bytes!("../schema/report.json"),
        SchemaOf::Probe => include_bytes!("../schema/probe.json"),
        SchemaOf::Clean => include_bytes!("../schema/clean.json"),
        SchemaOf::Event => include_bytes!("../schema/event.json"),
        SchemaOf::Explain => include_bytes!("../schema/explain.json"),
        SchemaOf::Audit => include_bytes!("../schema/audit.json"),
    };
    out.write_all(schema)
        .and_then(|()| out.flush())
        .context("can't write the schema")?;
    Ok(ExitCode::SUCCESS)
}
