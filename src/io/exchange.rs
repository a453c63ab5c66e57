//! Recorded calls: a line of an index for each.

use super::probe::Outcome;
use anyhow::{Context as _, bail};
use std::{fmt, time::Duration};

/// One call as a line: what was asked, outcome (`missing`: refused, as there was no socket at all), HTTP status,
/// milliseconds, and the file of the answer or of the error's words; then fields of the caller's own. Separated by
/// tabs; `-` where there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange<'a> {
    /// What was asked.
    pub request: &'a str,
    /// How the call ended.
    pub outcome: Outcome,
    /// Whether there was no socket at all.
    pub missing: bool,
    /// The HTTP status.
    pub status: Option<u16>,
    /// How long it took.
    pub took: Duration,
    /// The file of the answer.
    pub file: Option<&'a str>,
    /// The caller's own fields.
    pub more: Vec<&'a str>,
}

impl<'a> Exchange<'a> {
    /// Reads a line.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(line: &'a str) -> anyhow::Result<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [request, outcome, status, millis, file, more @ ..] = &fields[..] else {
            bail!("it has {} fields, fewer than 5", fields.len())
        };
        let missing = *outcome == "missing";
        let word = if missing { "refused" } else { outcome };
        let known = Outcome::ALL.into_iter().find(|known| known.word() == word);
        let millis: f64 = millis.parse().context("milliseconds")?;
        let given = |field: &&'a str| (*field != "-").then_some(*field);
        Ok(Self {
            request,
            outcome: known.with_context(|| format!("no such outcome: {outcome}"))?,
            missing,
            status: given(status)
                .map(str::parse)
                .transpose()
                .context("HTTP status")?,
            took: Duration::try_from_secs_f64(millis / 1000.0).context("milliseconds")?,
            file: given(file),
            more: more.to_vec(),
        })
    }
}

/// The line, with its end.
impl fmt::Display for Exchange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.missing {
            true => "missing",
            false => self.outcome.word(),
        };
        write!(f, "{}\t{outcome}\t", self.request)?;
        match self.status {
            Some(status) => write!(f, "{status}")?,
            None => f.write_str("-")?,
        }
        let millis = self.took.as_secs_f64() * 1000.0;
        write!(f, "\t{millis:.6}\t{}", self.file.unwrap_or("-"))?;
        for field in &self.more {
            write!(f, "\t{field}")?;
        }
        writeln!(f)
    }
}
