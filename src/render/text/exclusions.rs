//! What a finding is to the trouble, what was ruled out, and what could not be judged: for people, in few lines.

use super::Page;
use crate::finding::{Finding, Severity};
use crate::render::layout::{laid_out, paragraph, visible};
use crate::report::{Role, Undecided};
use std::io::{self, Write};

impl Page<'_> {
    /// What stands behind a finding's confidence: its role, where there are several.
    pub(super) fn role(&self, role: Option<&Role>) -> String {
        let several = self.report.findings.len() > 1;
        match role.filter(|_| several) {
            Some(Role::Primary) => " · primary cause".to_owned(),
            Some(Role::Consequence { .. } | Role::Feeds { .. }) => " · contributing".to_owned(),
            Some(Role::Separate) => " · separate problem".to_owned(),
            None => String::new(),
        }
    }

    /// A finding's explanation, and before it what it has to do with another one.
    pub(super) fn explained(&self, finding: &Finding, role: Option<&Role>) -> String {
        let words = &finding.explanation;
        match role {
            Some(Role::Consequence { of }) => {
                format!("Caused by {of}; fixing {of} should clear this. {words}")
            }
            Some(Role::Feeds { what }) => format!("Likely trigger of {what}. {words}"),
            Some(Role::Primary | Role::Separate) | None => words.clone(),
        }
    }

    /// Writes what is not the cause, and why; only where a node is, or was, down, or near to it.
    pub(super) fn exclusions(&self, out: &mut dyn Write) -> io::Result<()> {
        let report = self.report;
        let primary = report.findings.first();
        let outage = primary.is_some_and(|it| it.severity == Severity::Critical);
        if !outage && report.incidents.is_empty() {
            return Ok(());
        }
        if !report.ruled_out.is_empty() {
            let mut table = self.table(&["Ruled out", "because"]);
            for ruled_out in &report.ruled_out {
                table.add_row([ruled_out.id.to_owned(), visible(&ruled_out.because)]);
            }
            let id = 0;
            write!(out, "\n{}", laid_out(&mut table, &[id], self.style.width))?;
        }
        let mut open: Vec<&Undecided> = report.undecided.iter().collect();
        if open.is_empty() {
            return Ok(());
        }
        let head = "Not judged";
        writeln!(out)?;
        open.sort_by_key(|it| (&it.why, &it.decide));
        let alike = |a: &&Undecided, b: &&Undecided| (&a.why, &a.decide) == (&b.why, &b.decide);
        for (index, some) in open.chunk_by(alike).enumerate() {
            let Some(first) = some.first() else { continue };
            let ids: Vec<_> = some.iter().map(|it| it.id).collect();
            let text = format!("{}: {}", ids.join(", "), first.why);
            let indent = head.len() + 2;
            let text = paragraph(&visible(&text), indent, self.style.width);
            let head = match index {
                0 => self.paint(head, "1"),
                _ => " ".repeat(head.len()),
            };
            write!(out, "{head}  {}", text.trim_start())?;
            // Never wrapped: it must survive being copied.
            if let Some(decide) = &first.decide {
                let command = self.paint(&visible(decide), "36");
                writeln!(out, "{}{command}", " ".repeat(indent))?;
            }
        }
        Ok(())
    }
}
