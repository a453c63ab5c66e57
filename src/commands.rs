//! The subcommands: each gathers, decides, acts and prints, and returns the exit code.

pub mod clean;
