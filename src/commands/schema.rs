//! `plegdoctor schema`: the JSON Schema of each output.

use crate::cli::SchemaOf;
use crate::finding::plan::CleanResult;
use crate::kubelet::event::Event;
use crate::remedy::apply::audit;
use crate::render::json;
use crate::render::json::{Explained, Probed};
use crate::report::Report;
use crate::syntax::json::JsonSchema as _;
use anyhow::Context as _;
use std::{io::Write, process::ExitCode};

/// Writes the schema.
///
/// # Errors
/// What `out` says.
pub fn run(output: SchemaOf, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let schema = match output {
        SchemaOf::Report => Report::json_schema(),
        SchemaOf::Probe => Probed::json_schema(),
        SchemaOf::Clean => CleanResult::json_schema(),
        SchemaOf::Event => Event::json_schema(),
        SchemaOf::Explain => Explained::json_schema(),
        SchemaOf::Audit => audit::schema(),
    };
    json::write(&schema, out)
        .and_then(|()| out.flush())
        .context("can't write the schema")?;
    Ok(ExitCode::SUCCESS)
}
