//! The `plegdoctor` program.
fn main() {}
