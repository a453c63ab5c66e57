//! Error tails: what a failed call ended in. A line is classified by its head and its tail separately.

/// What kind of end a call came to. The first that fits, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorClass {
    /// gRPC message over a limit; `ErrorTail::sizes` has got and limit.
    TooLarge,
    /// The container or sandbox is not there (any more): a race with its removal.
    NotFound,
    /// The runtime's socket is missing or refuses, or the daemon died during the call.
    Unavailable,
    /// A removal that cannot finish: something is still mounted, or a removal is already going on.
    Busy,
    /// An earlier create of the same name is still going on.
    NameReserved,
    /// A process or thread could not be made.
    NoResources,
    /// A time-out, the kubelet's or the runtime's.
    Deadline,
    /// The caller gave up.
    Canceled,
    /// Anything else.
    Other,
}

/// The error at the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorTail {
    /// What kind.
    pub class: ErrorClass,
    /// Its text, as logged (unquoted).
    pub text: String,
    /// `TooLarge`: bytes of the message, and the limit.
    pub sizes: Option<(u64, u64)>,
}
