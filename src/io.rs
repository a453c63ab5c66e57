//! Bounded access to the outside: reads with a deadline, child processes, HTTP, decompression, trees of files.

pub mod child;
pub mod deadline;
pub mod decompress;
pub mod exchange;
pub mod files;
pub mod gap;
pub mod http;
pub mod packed;
pub mod probe;
pub mod recorder;
