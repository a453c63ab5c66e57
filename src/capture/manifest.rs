//! `manifest.json`: when, where and with which options a capture was made, what each part holds, what could not be
//! seen. It is what no other file tells; a folder without it (a case of `fixtures`) is a capture all the same.
//!
//! The form grows by fields that may be missing; a change that old readers would misread raises the number in the
//! schema's name.

use crate::io::gap::Gap;
use crate::log::{ReadFrom, ReplayedLog};
use crate::syntax::time::Time;
use anyhow::{Context as _, bail};
use chrono::{DateTime, FixedOffset};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The file's name.
pub const NAME: &str = "manifest.json";
/// The schema that is written, and the only one that is read.
pub const SCHEMA: &str = "plegdoctor.capture/1";
/// What all schemas' names begin with.
const FAMILY: &str = "plegdoctor.capture/";

/// All that a capture tells of itself. Times are RFC 3339.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Manifest {
    /// `plegdoctor.capture/1`
    pub schema: String,
    /// The version of the plegdoctor that made it.
    pub plegdoctor: String,
    /// `collect`, or `diagnose --save`.
    pub made_by: String,
    /// When it was made, by the node's clock.
    pub made_at: String,
    /// The present that the run took for granted, in the node's zone: `--now`, or the clock.
    pub now: String,
    /// The node's name, as `uname -n` prints it.
    pub node: Option<String>,
    /// Whether names and addresses were replaced.
    pub redacted: bool,
    /// Whether environment variables, labels and commands of workloads are in it.
    pub with_workloads: bool,
    /// The options that bear on what is concluded.
    pub options: Options,
    /// What was looked at, in order.
    pub parts: Vec<Part>,
    /// The logs, in the order of their events.
    pub logs: Vec<LogFile>,
    /// What could not be seen.
    pub gaps: Vec<Gap>,
    /// What was left out on purpose.
    pub notes: Vec<String>,
    /// Whether the kernel's messages could not be read.
    pub kernel_messages_unread: bool,
}

/// The options of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// `--since`
    pub since: Option<String>,
    /// `--until`
    pub until: Option<String>,
    /// `--utc-offset`
    pub utc_offset: Option<String>,
    /// Docker's socket.
    pub docker_host: String,
    /// `--probe-timeout`, in seconds.
    pub probe_timeout_seconds: f64,
    /// `--max-unanswered`
    pub max_unanswered: u16,
    /// The host's root directory.
    pub host_root: String,
}

/// One part: a log, a daemon's answers, the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Part {
    /// `log`, `docker`, `host`, …: its files begin with that.
    pub name: String,
    /// Whether all of it was had; if not, `why` says what is missing.
    pub complete: bool,
    /// How long it took.
    pub seconds: f64,
    /// What failed, and why; of many the first.
    pub why: Vec<String>,
}

/// A log's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LogFile {
    /// In the capture.
    pub file: String,
    /// What the log is called in citations: its path, or `journal of kubelet.service`.
    pub name: String,
    /// Whether plegdoctor picked it by itself.
    pub picked: bool,
    /// `start`, `middle` (its first line is torn), or `unnumbered` (a journal's or container's lines).
    pub from: String,
    /// Where, in bytes, it goes on in the middle of a later line.
    pub skips: Vec<u64>,
    /// Bytes at its beginning that found no room.
    pub left_out: u64,
}

impl Manifest {
    /// Reads it.
    ///
    /// # Errors
    /// It is none, or of a schema that is not read here.
    pub fn parse(bytes: &[u8]) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let Head { schema } = serde_json::from_slice(bytes)
            .with_context(|| format!("its {NAME} is not plegdoctor's"))?;
        match schema.strip_prefix(FAMILY).map(str::parse::<u64>) {
            _ if schema == SCHEMA => {}
            Some(Ok(_)) => {
                bail!("its schema is {schema}, and this plegdoctor reads {SCHEMA}: use a newer one")
            }
            _ => bail!("its {NAME} is not plegdoctor's (schema {schema:?})"),
        }
        let manifest: Self =
            serde_json::from_slice(bytes).with_context(|| format!("its {NAME} is malformed"))?;
        manifest.moment()?;
        Ok(manifest)
    }

    /// Returns the present of the run.
    ///
    /// # Errors
    /// It is no time.
    pub fn moment(&self) -> anyhow::Result<Time> {
        time(&self.now, "now")
    }
}

impl Options {
    /// Returns `--since` and `--until`.
    ///
    /// # Errors
    /// One of them is no time.
    pub fn window(&self) -> anyhow::Result<(Option<Time>, Option<Time>)> {
        let since = self.since.as_deref().map(|text| time(text, "since"));
        let until = self.until.as_deref().map(|text| time(text, "until"));
        Ok((since.transpose()?, until.transpose()?))
    }

    /// Returns the zone of lines that tell none, if one was given.
    ///
    /// # Errors
    /// It is none.
    pub fn zone(&self) -> anyhow::Result<Option<FixedOffset>> {
        let zone = self.utc_offset.as_deref().map(str::parse);
        zone.transpose()
            .ok()
            .with_context(|| format!("its {NAME} is malformed: utc_offset"))
    }

    /// Returns the deadline of each call.
    ///
    /// # Errors
    /// It is none.
    pub fn probe_timeout(&self) -> anyhow::Result<Duration> {
        Duration::try_from_secs_f64(self.probe_timeout_seconds)
            .with_context(|| format!("its {NAME} is malformed: probe_timeout_seconds"))
    }
}

impl LogFile {
    /// Returns the log, for its reader.
    ///
    /// # Errors
    /// `from` is none of the known words.
    pub fn recorded<'a>(&'a self, bytes: &'a [u8]) -> anyhow::Result<ReplayedLog<'a>> {
        let Some(from) = ReadFrom::from_word(&self.from) else {
            bail!("its {NAME} is malformed: logs: from {:?}", self.from);
        };
        Ok(ReplayedLog {
            name: &self.name,
            picked: self.picked,
            from,
            skips: &self.skips,
            bytes,
        })
    }
}

impl Manifest {
    /// What could not be seen; what concerns a log is known by its name.
    pub fn gaps(&self) -> Vec<Gap> {
        let is_source = |gap: &Gap| self.logs.iter().any(|log| log.name == gap.what);
        let gap = |gap: &Gap| match is_source(gap) {
            true => Gap::in_source(&gap.what, &gap.why),
            false => gap.clone(),
        };
        self.gaps.iter().map(gap).collect()
    }
}

fn time(text: &str, what: &str) -> anyhow::Result<Time> {
    DateTime::parse_from_rfc3339(text)
        .with_context(|| format!("its {NAME} is malformed: {what}: {text:?} is not a time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(json: &str) -> String {
        format!("{:#}", Manifest::parse(json.as_bytes()).unwrap_err())
    }

    #[test]
    fn a_newer_schema_is_told_apart_from_no_manifest_at_all() {
        let newer = error(r#"{"schema":"plegdoctor.capture/2","now":7}"#);
        assert!(newer.contains("use a newer one"), "{newer}");
        for other in [r#"{"schema":"x/1"}"#, "{}", "[", "", r#"{"schema":7}"#] {
            let words = error(other);
            assert!(words.contains("not plegdoctor's"), "{words}");
        }
        let senseless = error(r#"{"schema":"plegdoctor.capture/1","now":"soon"}"#);
        assert!(senseless.contains("now"), "{senseless}");
    }

    #[test]
    fn fields_that_are_missing_or_not_known_do_no_harm() {
        let json = r#"{"schema":"plegdoctor.capture/1","now":"2026-11-30T03:40:00.5+01:00","new":{"x":1}}"#;
        let manifest = Manifest::parse(json.as_bytes()).unwrap();
        assert_eq!(
            manifest.moment().unwrap().to_rfc3339(),
            "2026-11-30T03:40:00.500+01:00"
        );
        assert!(manifest.logs.is_empty());
    }
}
