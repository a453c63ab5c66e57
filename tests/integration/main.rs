//! One test crate: it links once and shares its helpers.

/// A container's log, read through Docker.
mod container_log;
/// A real Docker daemon, asked, broken and mended.
mod engine;
/// The private daemon cleans up after itself.
mod harness;
/// What no real daemon does on demand: answers played over a Unix socket.
mod played;
/// Daemons to ask: real ones and played ones.
mod support;
