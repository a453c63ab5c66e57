//! What the user sees of a run: the first report, each step before it is done, and what came of it.

use crate::finding::outcome::ActionRecord;
use crate::remedy::fix::Step;
use crate::render;
use crate::render::layout::{paragraph, visible};
use crate::render::{Format, Style, actions};
use crate::report::Report;
use anyhow::Context as _;
use std::io;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

pub(super) struct Output<'a> {
    pub(super) format: Format,
    pub(super) style: Style,
    /// Whether what is said on the way goes to standard error.
    pub(super) aside: bool,
    pub(super) out: &'a mut dyn Write,
}

impl Output<'_> {
    /// Writes the first report, in text; in JSON the last one is written, at the end.
    pub(super) fn report(&mut self, report: &Report) -> anyhow::Result<()> {
        if self.format == Format::Text {
            render::write(report, self.format, self.style, self.out)
                .context("can't write the report")?;
        }
        self.flush()
    }

    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        self.out.flush().context("can't write the report")
    }

    /// Shows what is about to be done. An error means that it was not shown: it must not be done.
    pub(super) fn step(&mut self, step: &Step, confirm_after: Duration) -> anyhow::Result<()> {
        let mut shown = Vec::new();
        actions::step(step, confirm_after, self.style, &mut shown)?;
        // Not as a closed pipe, which would pass for success.
        self.say(&shown)
            .map_err(|error| anyhow::anyhow!("cannot show what would be done: {error}"))
    }

    pub(super) fn show(&mut self, text: &str) {
        let text = paragraph(&visible(text), 2, self.style.width);
        let _ = self.say(text.as_bytes());
    }

    fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.aside {
            io::stderr().write_all(bytes)
        } else {
            self.out.write_all(bytes)?;
            self.out.flush()
        }
    }

    pub(super) fn end(
        &mut self,
        mut report: Report,
        records: Vec<ActionRecord>,
        notes: &[String],
    ) -> anyhow::Result<ExitCode> {
        let code = report.exit_code();
        report.actions = records;
        report.notes.extend(notes.iter().cloned());
        let written = match self.format {
            Format::Json => render::write(&report, self.format, self.style, self.out),
            Format::Text => actions::write(&report, notes, self.style, self.out),
        };
        match written.and_then(|()| self.out.flush()) {
            // What is done is done: a closed pipe does not change the exit code.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("can't write what was done")
            }
            _ => Ok(ExitCode::from(code)),
        }
    }
}
