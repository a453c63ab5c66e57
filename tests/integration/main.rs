//! Tests of the whole, one module each.

mod messages; // log lines in, events out
