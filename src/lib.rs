//! plegdoctor: finds out why a Kubernetes node says "PLEG is not healthy".
//!
//! Data flows one way, and no stage reaches back:
//!
//! ```text
//!  kubelet's log ──log──▶ parser ──▶ event ──▶ digest, incident ─┐
//!  Docker's API ──runtime::docker──▶ answers, stacks ────────────┼──▶ evidence ──rules──▶ report ──render──▶
//!  Docker's files, if it is silent ──runtime::disk──▶ stored ────┤
//!  /proc ──host──▶ node ─────────────────────────────────────────┤
//!  kubelet's /healthz, /metrics ──kubelet::ask──▶ kubelet ───────┤
//!  (what could not be seen: a gap)                               ┘
//!  Docker's API ──runtime::docker──▶ plan ──render──▶ asked ──apply──▶ Docker's API
//!  report ──fix──▶ step ──render──▶ asked ──apply──▶ processes, mounts, units ──▶ looked at again
//! ```
//!
//! - The middle is pure: no files, no clock, no environment, no async. It takes values, returns values and can't
//!   fail; a line that makes no sense is counted.
//! - The outside is touched in few places: `log` opens logs, `runtime::docker` speaks to Docker, `kubelet::ask` to the
//!   kubelet (both by `http`), `runtime::disk` reads Docker's files, `host` reads `/proc`, `cli` reads clock and
//!   environment, `apply` removes, and acts.
//! - Each outside call has a deadline and a connection of its own. No answer in time is an observation.
//! - What could not be seen is said in the report; it never looks like health.
//! - A cause is one file in `rules`, its page among it, and one row in its table. `explain` finds the pages; it reads
//!   what is pasted, and asks nobody.

// The command line.
pub mod cli;
pub mod commands;

// In: the edges that look.
pub mod capture;
mod child;
pub mod gather;
pub mod host;
mod http;
pub mod log;
pub mod runtime;

// The core: values in, values out.
pub mod duration;
pub mod id;

pub mod envelope;
pub mod klog;
pub mod time;

pub mod event;
pub mod parser;

pub mod digest;
pub mod incident;

pub mod action;
pub mod evidence;
pub mod explain;
pub mod finding;
pub mod fix;
pub mod kubelet;
pub mod node;
pub mod page;
pub mod plan;
pub mod report;
pub mod rules;
pub mod stacks;

// Out: the edges that speak and act.
pub mod apply;
pub mod render;

// Cases of `fixtures`, for the unit tests.
#[cfg(test)]
#[path = "../tests/integration/support/case.rs"]
#[expect(dead_code, reason = "the tests of whole cases use the rest")]
mod case;
