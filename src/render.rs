//! Picks the printer. Printers decide nothing: order, totals and verdict are settled before.

pub mod actions;
pub mod clean;
pub mod explain;
pub mod json;
mod kubelet;
pub mod layout;
pub mod probe;
mod sources;
pub mod text;

use crate::report::Report;
use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    /// For scripts; `plegdoctor schema` describes it.
    Json,
}

/// How a terminal, a file or a pipe wants to be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    pub width: u16,
    pub color: bool,
}

impl Style {
    /// `text` in that colour or weight, an SGR code, where colour is used.
    fn paint(self, text: &str, code: &str) -> String {
        if self.color {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Writes the report.
///
/// # Errors
/// What `out` says; a closed pipe among them.
pub fn write(report: &Report, format: Format, style: Style, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Text => text::write(report, style, out),
        Format::Json => json::write(report, out),
    }
}
