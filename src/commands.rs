//! The subcommands, a file each.

pub mod clean;
pub mod collect;
pub mod diagnose;
pub mod fix;
pub mod probe;
pub mod schema;
