//! One test crate: it links once and shares its helpers.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

/// `diagnose` as a whole on real daemons that are well, dead, hung or gone.
mod broken;
/// Captures: what is saved is judged the same elsewhere, and holds no secret.
mod captures;
/// `clean` on real containers: what goes, what stays, whatever happens in between.
mod clean;
/// The command line: usage, logs, output, what is joined with what.
mod cli;
/// A container's log, read through Docker.
mod container_log;
/// A real Docker daemon, asked, broken and mended.
mod disk;
/// The host's edge: files that hang their reader.
mod edge;
mod engine;
/// `events`: the known messages, for scripts.
mod events;
/// `explain`: what findings, messages and pasted lines mean.
mod explain;
/// `diagnose --fix` on real daemons.
mod fix;
/// The private daemon cleans up after itself.
mod harness;
/// A layer that another mount namespace holds.
mod held;
/// The host, looked at while a daemon is broken.
mod host;
/// Journals copied from another machine, by the journalctl of this one.
mod journals;
/// The JSON output, read back with types of its own.
mod json;
/// The kubelet's own endpoints.
mod kubelet;
/// Who may name what.
mod layering;
/// Where the log comes from: standard input, files, journalctl.
mod logs;
/// Log lines in, events out: each message in each release's form, behind each envelope.
mod messages;
/// The table of odd inputs names what there is.
mod odd_inputs;
/// What no real daemon does on demand: answers played over a Unix socket.
mod played;
/// `probe`: the live part alone.
mod probe;
/// How far reading a log is, on a terminal.
mod progress;
/// The README tells the truth.
mod readme;
/// The table of rules, and what belongs to each row.
mod rules;
/// Shims and containers that do not fit.
mod shims;
/// Ways in which an OCI runtime or a process hangs, each on a real daemon or kernel.
mod sick;
/// Cases whose daemon answers over a real socket, and daemons that answer badly.
mod sockets;
/// The machine's programs, asked for real.
mod software;
/// Daemons to ask: real ones and played ones.
mod support;
/// Turns of phrase that stay out of every text.
mod words;
