//! What scripts read: each output's keys with their meaning, values and schema.

mod clean;
pub mod event;
mod explain;
mod finding;
mod host;
mod incident;
mod kubelet;
mod probe;
mod runtime;
mod words;

pub use explain::Explained;
pub use probe::Probed;

use crate::finding::outcome::ActionRecord;
use crate::io::gap::Gap;
use crate::kubelet::Kubelet;
use crate::kubelet::summary::Source;
use crate::node::Host;
use crate::report::{Report, RuledOut, Undecided, Verdict};
use crate::runtime::Runtime;
use crate::syntax::id::PodName;
use crate::syntax::json::json_object;
use crate::syntax::time::Time;
use chrono::TimeDelta;
use finding::Ranked;
use incident::Outage;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::io::Write;

/// Writes an output as one JSON object and a newline.
///
/// # Errors
/// What `out` says.
pub fn write(output: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, output)?;
    writeln!(out)
}

json_object! {
    /// What `plegdoctor diagnose --format json` prints. All keys are always present; what is absent is null or empty.
    Report as it, document "plegdoctor.report/1", "plegdoctor.report/1" {
        /// plegdoctor's version
        version: &str = env!("CARGO_PKG_VERSION"),
        /// The current time: the clock, or --now
        generated_at: Time,
        /// The node's name, if the log has it
        node: Option<String>,
        /// The answer in one word
        verdict: Verdict,
        /// The answer in one sentence
        summary: String,
        /// What was concluded: the primary cause first, then what contributes to it, then other matters
        findings: Vec<Ranked<'_>> = it.findings.iter().zip(&it.roles).map(Ranked).collect(),
        /// What was examined and is not the cause of the primary finding; empty where nothing is wrong
        ruled_out: Vec<RuledOut>,
        /// What could not be judged, for want of evidence: not ruled out
        undecided: Vec<Undecided>,
        /// What --fix did or left, in order; empty without --fix. With it the rest of the report is of the last look
        actions: Vec<ActionRecord>,
        /// When the PLEG was unhealthy, in order
        incidents: Vec<Outage<'_>> = it.incidents.iter().zip(&it.timelines).map(Outage).collect(),
        /// The containers that matter, those blamed first
        containers: Vec<crate::runtime::Container>,
        log: Log<'_> = Log(it),
        /// What the runtime answered; null if it was not asked
        runtime: Option<Runtime>,
        /// The host's state; null if it was not examined
        host: Option<Host>,
        /// The kubelet's own answers (/healthz, /metrics); null if it was not asked, or has no endpoint here
        kubelet: Option<Kubelet>,
        /// The calls in the daemon's own stacks, taken while plegdoctor's calls were pending; null if none were, or no
        /// stacks came
        stacks: Option<&crate::runtime::PendingStacks> = it.runtime.as_ref().and_then(|runtime| runtime.docker().stacks.as_ref()),
        gaps: Vec<Gap>,
        notes: Vec<String>,
    }
}

struct Log<'a>(&'a Report);

json_object! {
    Log<'_> as it {
        /// What was read
        sources: &[Source] = &it.0.sources,
        /// How often each message was seen, by its name
        events: &BTreeMap<&'static str, u64> = &it.0.events,
    }
}

json_object! {
    Source as it {
        /// Its path, or what it is
        name: String,
        /// Bytes read
        bytes: u64,
        /// Lines read
        lines: u64,
        /// Time of the first of the kubelet's lines
        first: Option<Time>,
        /// Time of the last of the kubelet's lines
        last: Option<Time>,
    }
}

json_object! {
    Gap as it {
        /// What could not be seen
        what: String,
        /// Why, and what would cure it
        why: String,
    }
}

fn pod_name(pod: Option<&PodName>) -> Option<&str> {
    pod.map(|pod| &*pod.name)
}

fn namespace(pod: Option<&PodName>) -> Option<&str> {
    pod.map(|pod| &*pod.namespace)
}

fn seconds(duration: TimeDelta) -> f64 {
    let micros = duration.num_microseconds().unwrap_or(i64::MAX);
    std::time::Duration::from_micros(u64::try_from(micros).unwrap_or(0)).as_secs_f64()
}
