//! The subcommands, a file each.

pub mod clean;
pub mod collect;
pub mod diagnose;
pub mod events;
pub mod explain;
pub mod fix;
pub mod observe;
pub mod probe;
mod progress;
mod prompt;
mod removal;
pub mod schema;
