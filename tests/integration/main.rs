//! One test crate: it links once and shares its helpers.

/// `clean` on real containers: what goes, what stays, whatever happens in between.
mod clean;
/// A real Docker daemon, asked, broken and mended.
mod engine;
/// The private daemon cleans up after itself.
mod harness;
/// What no real daemon does on demand: answers played over a Unix socket.
mod played;
/// Daemons to ask: real ones and played ones.
mod support;
