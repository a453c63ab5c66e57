//! What is asked of a single line: its times, whether it is fatal, whether it tells of losses; and cheap guesses
//! at lines that are not parsed.

use crate::{
    envelope::Peeled,
    event::{
        Severity,
        classify::{self, Facts},
    },
    klog,
    time::{Stamp, Yearless, epoch_millis},
};
use std::borrow::Cow;

/// Pushes what `text` says; a fatal line that is nothing else known is known as that.
pub(super) fn classify_into(text: &str, severity: Severity, facts: &mut Vec<Facts>) {
    facts.clear();
    if text.starts_with('{') {
        classify::record(text.as_bytes(), facts);
    } else if severity == Severity::Fatal {
        classify::fatal(text, facts);
    } else {
        classify::text(text, facts);
    }
}

/// Returns `bytes` as text; valid text, the usual case, is checked by the faster of std's two ways.
pub(super) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Returns klog's stamp and the message after its header.
pub(super) fn times<'a>(peeled: &'a Peeled<'_>) -> (Option<Yearless>, &'a [u8]) {
    match klog::header(&peeled.message) {
        Some(header) => (Some(header.stamp), &peeled.message[header.len..]),
        None => (None, &peeled.message),
    }
}

/// Returns the time of a klog JSON record, `{"ts":1796010357319.6838,…}`.
pub(super) fn record_stamp(peeled: &Peeled<'_>) -> Option<Stamp> {
    let digits = peeled.message.strip_prefix(b"{\"ts\":")?;
    let end = memchr::memchr2(b',', b'}', digits).unwrap_or(digits.len());
    let millis = std::str::from_utf8(&digits[..end])
        .ok()?
        .trim()
        .parse()
        .ok()?;
    epoch_millis(millis).map(Stamp::Exact)
}

pub(super) fn is_fatal(raw: &[u8]) -> bool {
    raw.first() == Some(&b'F') && klog::header(raw).is_some()
}

/// Returns whether a message says that lines of this log were lost.
pub(super) fn is_loss(message: &str) -> bool {
    if let Some((_, rest)) = message.split_once("Suppressed ") {
        return rest.contains(" messages from ")
            && ["kubelet", "k3s", "rke2", "origin-node", "edge"]
                .iter()
                .any(|unit| rest.contains(unit));
    }
    message.contains("due to rate-limiting")
}

/// A cheap guess, for lines that are not parsed, at whether a time stands in front.
pub(super) fn may_have_time(raw: &[u8]) -> bool {
    match raw {
        [b'I' | b'W' | b'E' | b'F', digit, ..] if digit.is_ascii_digit() => true,
        [b'{' | b'<' | b'[' | b'0'..=b'9', ..] => true,
        [b'A'..=b'Z' | b'a'..=b'z', _, _, b' ' | b'.' | b't', ..] => raw.len() > 20,
        _ => false,
    }
}

/// A cheap guess, for lines that are not parsed, at whether the kubelet wrote them.
pub(super) fn looks_like_kubelet(raw: &[u8]) -> bool {
    if matches!(raw, [b'I' | b'W' | b'E' | b'F', digit, ..] if digit.is_ascii_digit())
        || raw.starts_with(b"{\"ts\"")
        || raw.starts_with(b"{\"log\"")
    {
        return true;
    }
    let head = &raw[..raw.len().min(160)];
    // What systemd says of the kubelet's unit is not the kubelet's.
    if memchr::memmem::find(head, b" systemd[").is_some() {
        return false;
    }
    [
        &b" kubelet"[..],
        b"\"kubelet",
        b" k3s",
        b" rke2",
        b" stderr F ",
    ]
    .iter()
    .any(|name| memchr::memmem::find(head, name).is_some())
}
