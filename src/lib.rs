//! plegdoctor: diagnoses Kubernetes nodes with "PLEG is not healthy".
//!
//! Data flows one way, and no stage reaches back:
//!
//! ```text
//!  logs ──log──▶ kubelet: parser ▶ event ▶ incident, summary ─┐
//!  Docker's API ──runtime::docker──▶ answers, stacks ─────────┼──▶ evidence ──rules──▶ findings ──report──▶ render
//!  Docker's files, if it is silent ──runtime::disk────────────┤
//!  /proc, /sys ──node::observe──▶ node ───────────────────────┤
//!  /healthz, /metrics ──kubelet::ask──▶ kubelet ──────────────┤
//!  (what could not be seen: a gap) ───────────────────────────┘
//!  finding::plan ──shown, asked──▶ remedy::apply ──▶ Docker's API
//!  report ──remedy::fix──▶ step ──shown, asked──▶ remedy::apply ──▶ processes, mounts, units ──▶ observed again
//! ```
//!
//! - The middle is pure: no files, no clock, no environment, no async. It takes values, returns values and can't
//!   fail; a line that makes no sense is counted.
//! - The outside is touched in few places: `io` bounds it; `log` opens logs, `runtime::docker` speaks to Docker,
//!   `kubelet::ask` to the kubelet, `runtime::disk` reads Docker's files, `node::observe` reads `/proc`, `cli` reads
//!   clock and environment, `remedy::apply` removes and acts.
//! - Each outside call has a deadline and a connection of its own. No answer in time is an observation.
//! - What could not be seen is said in the report; it never looks like health.
//! - A cause is one file in `rules`, one row in its table, and one page in `docs/findings`; `rules` says how to add one.
//!   `explain` prints the pages and reads pasted lines; it makes no calls.

// The rooms, from the ground up: each uses only those before it.

/// Ids, spans of time, stamps, klog headers, and the framing around log lines.
pub mod syntax;

/// Bounded access to the outside: deadlines, child processes, HTTP, decompression, trees of files.
pub mod io;

/// Processes, threads, mounts, disks and pressure: the model, and reading it.
pub mod node;

/// A container runtime's answers: the model, asking Docker, reading Docker's files.
pub mod runtime;

/// The kubelet's messages, outages and summary; its metrics, health checks and settings.
pub mod kubelet;

/// Where log lines come from: files, journals, archives, a container's log, following one.
pub mod log;

/// All that was observed, and what could not be seen.
pub mod evidence;

/// Conclusions, actions and their outcomes, as plain data.
pub mod finding;

/// One file for each cause, and their table.
pub mod rules;

/// Order, verdict, timeline, and what is ruled out.
pub mod report;

/// Pages on findings and messages; pasted lines explained.
pub mod explain;

/// What may be done, how it is done, and how it is verified.
pub mod remedy;

/// Saving what was observed, and reading it back.
pub mod capture;

/// Text and JSON.
pub mod render;

/// Options; the only reader of clock and environment.
pub mod cli;

/// The subcommands.
pub mod commands;

// Cases of `fixtures`, for the unit tests.
#[cfg(test)]
#[path = "../tests/integration/support/case.rs"]
#[expect(dead_code, reason = "the tests of whole cases use the rest")]
mod case;
