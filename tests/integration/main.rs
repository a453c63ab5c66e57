//! One test crate: it links once and shares its helpers.

/// A real Docker daemon, asked, broken and mended.
mod engine;
/// What no real daemon does on demand: answers played over a Unix socket.
mod played;
/// Daemons to ask: real ones and played ones.
mod support;
