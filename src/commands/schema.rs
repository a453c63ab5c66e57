//! `plegdoctor schema`: the JSON Schema of each output.

use crate::cli::SchemaOf;
use std::{
    io::{self, Write},
    process::ExitCode,
};

/// Writes the schema.
///
/// # Errors
/// What `out` says.
pub fn run(output: SchemaOf, out: &mut dyn Write) -> io::Result<ExitCode> {
    out.write_all(match output {
        SchemaOf::Report => include_bytes!("../schema/report.json"),
        SchemaOf::Clean => include_bytes!("../schema/clean.json"),
        SchemaOf::Audit => include_bytes!("../schema/audit.json"),
    })?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
