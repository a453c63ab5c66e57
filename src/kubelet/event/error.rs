//! Error tails: what a failed call ended in. A line is classified by its head and its tail separately.
//!
//! Literals by runtime and version: gRPC's codes (and old kubelets' numbers for them), dockershim and
//! cri-dockerd, dockerd, containerd, CRI-O.

use aho_corasick::{AhoCorasick, MatchKind};
use std::sync::{Arc, LazyLock};

/// Longest text kept, in bytes.
const MAX_TEXT: usize = 600;
/// The tail that a sick node logs most.
const DEADLINE: &str = "rpc error: code = DeadlineExceeded desc = context deadline exceeded";

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
    Deadline,
    Canceled,
    Other,
}

/// The error at the end of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorTail {
    pub class: ErrorClass,
    /// As logged, unquoted.
    pub text: Arc<str>,
    /// `TooLarge`: bytes of the message, and the limit.
    pub sizes: Option<(u64, u64)>,
}

impl ErrorTail {
    /// Classifies `text`, an error as logged, without its quotes.
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        let class = classify(text);
        let sizes = (class == TooLarge).then(|| sizes(text)).flatten();
        Self {
            class,
            text: bounded(text, MAX_TEXT).into(),
            sizes,
        }
    }
}

/// How runtimes begin what a network plugin said: dockershim and cri-dockerd, containerd, CRI-O.
const OF_NETWORK: &[&str] = &[
    "etworkPlugin ",
    "failed to setup network for sandbox",
    "failed to destroy network for sandbox",
    "failed to create pod network sandbox",
    "failed to destroy network for pod sandbox",
];

impl ErrorTail {
    /// Whether a network plugin failed, and the runtime, which is well, only passes on what it said.
    pub fn is_of_network(&self) -> bool {
        OF_NETWORK.iter().any(|sign| self.text.contains(sign))
    }
}

/// As much of `text` as `limit` bytes hold, whole characters only.
pub(crate) fn bounded(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// What decides a class. `Socket` decides only next to `Refusal`: a refused registry is no refused runtime.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Is(ErrorClass),
    Socket,
    Refusal,
}

use ErrorClass::{
    Busy, Canceled, Deadline, NameReserved, NoResources, NotFound, TooLarge, Unavailable,
};

const SIGNS: &[(&str, Sign)] = &[
    ("message larger than max (", Sign::Is(TooLarge)),
    ("code = NotFound", Sign::Is(NotFound)),
    ("code = 5 desc", Sign::Is(NotFound)),
    ("No such container", Sign::Is(NotFound)),
    ("no such container", Sign::Is(NotFound)),
    ("No such exec instance", Sign::Is(NotFound)),
    ("an error occurred when try to find", Sign::Is(NotFound)),
    ("could not find container", Sign::Is(NotFound)),
    ("could not find pod", Sign::Is(NotFound)),
    ("with ID starting with", Sign::Is(NotFound)),
    ("no PodsandBox found", Sign::Is(NotFound)),
    ("code = Unavailable", Sign::Is(Unavailable)),
    ("code = 14 desc", Sign::Is(Unavailable)),
    ("Cannot connect to the Docker daemon", Sign::Is(Unavailable)),
    ("error during connect: ", Sign::Is(Unavailable)),
    ("transport is closing", Sign::Is(Unavailable)),
    ("error reading from server: EOF", Sign::Is(Unavailable)),
    ("grpc: the connection is unavailable", Sign::Is(Unavailable)),
    ("server is not initialized yet", Sign::Is(Unavailable)),
    ("dial unix", Sign::Socket),
    ("unix://", Sign::Socket),
    ("read unix", Sign::Socket),
    ("connection refused", Sign::Refusal),
    ("connection reset by peer", Sign::Refusal),
    ("connect: no such file or directory", Sign::Refusal),
    ("device or resource busy", Sign::Is(Busy)),
    ("is already in progress", Sign::Is(Busy)),
    ("failed to remove root filesystem", Sign::Is(Busy)),
    ("nable to remove filesystem", Sign::Is(Busy)),
    ("is reserved for", Sign::Is(NameReserved)),
    ("name is reserved", Sign::Is(NameReserved)),
    ("is already in use by container", Sign::Is(NameReserved)),
    ("ubelet may be retrying requests", Sign::Is(NameReserved)),
    ("esource temporarily unavailable", Sign::Is(NoResources)),
    ("cannot allocate memory", Sign::Is(NoResources)),
    ("pthread_create failed", Sign::Is(NoResources)),
    ("context deadline exceeded", Sign::Is(Deadline)),
    ("code = DeadlineExceeded", Sign::Is(Deadline)),
    ("code = 4 desc", Sign::Is(Deadline)),
    ("operation timeout", Sign::Is(Deadline)),
    ("RST_STREAM with error code: CANCEL", Sign::Is(Deadline)),
    // Waiting for volumes: no call of the runtime.
    (
        "timed out waiting for the condition",
        Sign::Is(ErrorClass::Other),
    ),
    // The bus waited for systemd, and the runtime answered with that.
    (
        "org.freedesktop.systemd1': timed out",
        Sign::Is(ErrorClass::Other),
    ),
    ("timed out", Sign::Is(Deadline)),
    ("i/o timeout", Sign::Is(Deadline)),
    ("Client.Timeout exceeded", Sign::Is(Deadline)),
    ("code = Canceled", Sign::Is(Canceled)),
    ("code = 1 desc", Sign::Is(Canceled)),
    ("context canceled", Sign::Is(Canceled)),
];

static AUTOMATON: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(SIGNS.iter().map(|(literal, _)| literal))
        .ok()
});

/// The first class, in `ErrorClass`'s order, of which `text` shows a sign.
fn classify(text: &str) -> ErrorClass {
    if text == DEADLINE {
        return Deadline;
    }
    let Some(automaton) = AUTOMATON.as_ref() else {
        return ErrorClass::Other;
    };
    let mut class = ErrorClass::Other;
    let (mut socket, mut refusal) = (false, false);
    for found in automaton.find_iter(text) {
        match SIGNS[found.pattern().as_usize()].1 {
            Sign::Is(sign) => class = class.min(sign),
            Sign::Socket => socket = true,
            Sign::Refusal => refusal = true,
        }
    }
    if socket && refusal {
        class = class.min(Unavailable);
    }
    class
}

/// Got and limit of `message larger than max (20086028 vs. 16777216)`.
fn sizes(text: &str) -> Option<(u64, u64)> {
    let bytes = text.as_bytes();
    let open = memchr::memchr_iter(b'(', bytes).find(|&at| bytes[..at].ends_with(b"max "))?;
    let number = |at: usize| {
        let digits = bytes.get(at..)?.iter().take_while(|b| b.is_ascii_digit());
        let end = at + digits.count();
        Some((text.get(at..end)?.parse().ok()?, end))
    };
    let (got, end) = number(open + 1)?;
    let limit = bytes.get(end..)?.strip_prefix(b" vs. ")?;
    let (limit, _) = number(bytes.len() - limit.len())?;
    Some((got, limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tail_has_its_class() {
        for (text, class) in [
            (DEADLINE, Deadline),
            (
                "rpc error: code = 4 desc = context deadline exceeded",
                Deadline,
            ),
            ("operation timeout: context deadline exceeded", Deadline),
            (
                "rpc error: code = DeadlineExceeded desc = stream terminated by RST_STREAM with error code: CANCEL",
                Deadline,
            ),
            (
                "rpc error: code = Unknown desc = an error occurs during waiting for container \"abc\" to be killed: wait container \"abc\": context deadline exceeded",
                Deadline,
            ),
            ("command \"/bin/true\" timed out", Deadline),
            (
                "applying cgroup configuration for process caused \\\"Failed to activate service 'org.freedesktop.systemd1': timed out\\\"",
                ErrorClass::Other,
            ),
            (
                "rpc error: code = Canceled desc = context canceled",
                Canceled,
            ),
            (
                "rpc error: code = ResourceExhausted desc = grpc: received message larger than max (5 vs. 4)",
                TooLarge,
            ),
            (
                "rpc error: code = Unknown desc = Error: No such container: 9f2c",
                NotFound,
            ),
            (
                "rpc error: code = 2 desc = Error: No such container: 9f2c",
                NotFound,
            ),
            (
                "rpc error: code = NotFound desc = an error occurred when try to find container \"x\": not found",
                NotFound,
            ),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
                Unavailable,
            ),
            (
                "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing dial unix /run/x.sock: connect: connection refused\"",
                Unavailable,
            ),
            (
                "rpcerror: code = Unavailabledesc = transport is closing",
                Unavailable,
            ),
            (
                "dial unix /run/x.sock: connect: no such file or directory",
                Unavailable,
            ),
            (
                "container abc: driver \"overlay2\" failed to remove root filesystem: unlinkat /x: device or resource busy",
                Busy,
            ),
            ("removal of container abc is already in progress", Busy),
            (
                "failed to reserve sandbox name \"n\": name \"n\" is reserved for \"abc\"",
                NameReserved,
            ),
            (
                "Conflict. The container name \"/k8s_POD\" is already in use by container \"abc\"",
                NameReserved,
            ),
            (
                "fork/exec /usr/bin/runc: resource temporarily unavailable",
                NoResources,
            ),
            ("", ErrorClass::Other),
            (
                "OCI runtime create failed: executable file not found in $PATH",
                ErrorClass::Other,
            ),
            (
                "failed to set up network: dial tcp 10.0.0.1:443: connect: connection refused",
                ErrorClass::Other,
            ),
            (
                "rpc error: code = Unknown desc = stat /etc/x: no such file or directory",
                ErrorClass::Other,
            ),
        ] {
            assert_eq!(ErrorTail::new(text).class, class, "{text}");
        }
    }

    #[test]
    fn sizes_are_read_in_both_directions() {
        for text in [
            "grpc: trying to send message larger than max (20086028 vs. 16777216)",
            "received message larger than max (20086028 vs. 16777216): unknown",
        ] {
            assert_eq!(ErrorTail::new(text).sizes, Some((20_086_028, 16_777_216)));
        }
        assert_eq!(ErrorTail::new("message larger than max (1 vs.").sizes, None);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let text = format!("{}ä", "x".repeat(MAX_TEXT - 1));
        assert_eq!(ErrorTail::new(&text).text.len(), MAX_TEXT - 1);
    }
}
