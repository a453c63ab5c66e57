//! The table of known messages, by version.

/// How strongly a message points at its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Decides.
    Decisive,
    /// Strong.
    Strong,
    /// Moderate.
    Moderate,
    /// Weak.
    Weak,
    /// Context only: most of a healthy log. Read only around incidents.
    Context,
}

/// One known message.
#[derive(Debug)]
pub struct Message {
    /// Stable name.
    pub id: &'static str,
    /// How strongly it points at its cause.
    pub weight: Weight,
}

/// All known messages, in the order of `Kind`.
pub const MESSAGES: &[Message] = &[];
