//! What could not be seen, as a value.

/// Something that could not be seen. Never taken for health.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// What could not be seen.
    pub what: String,
    /// Why, and what would cure it.
    pub why: String,
}
