//! Daemons to ask.

/// The reader of cases.
pub(crate) mod case;
/// A private Docker daemon, and ways to break it.
pub(crate) mod daemon;
/// A file system whose server can be stopped.
pub(crate) mod fuse;
/// A client that shares no code with the program.
pub(crate) mod http;
/// Output against its schema.
pub(crate) mod json;
/// A case's report, and lines of `expect`.
pub(crate) mod judge;
/// A server played on a TCP port.
pub(crate) mod port;
/// Processes and mounts, by their numbers and paths.
pub(crate) mod process;
/// The program, run as a script would.
pub(crate) mod program;
/// A proxy that shows each request to the test first.
pub(crate) mod proxy;
/// A daemon played over a Unix socket.
pub(crate) mod replay;
