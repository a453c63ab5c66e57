//! Prints what was found and done; decides nothing.

pub mod clean;
pub mod plain;
