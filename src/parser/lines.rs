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
    if let Some(log) = raw.strip_prefix(b"{\"log\":\"") {
        return log.starts_with(br#"{\"ts\""#) || is_klog(log);
    }
    if raw.starts_with(b"{\"ts\"") || is_klog(raw) {
        return true;
    }
    let head = &raw[..raw.len().min(160)];
    // A container's log as its runtime keeps it, and any container's.
    for stream in [&b" stderr "[..], b" stdout "] {
        if let Some(at) = memchr::memmem::find(head, stream) {
            let message = raw.get(at + stream.len() + 2..).unwrap_or_default();
            return message.starts_with(b"{\"ts\"") || is_klog(message);
        }
    }
    // What systemd says of the kubelet's unit is not the kubelet's.
    if memchr::memmem::find(head, b" systemd[").is_some() {
        return false;
    }
    [&b" kubelet"[..], b"\"kubelet", b" k3s", b" rke2"]
        .iter()
        .any(|name| memchr::memmem::find(head, name).is_some())
}

/// A cheap guess at whether klog's header stands in front: `I1130 03:26:06.839445`.
fn is_klog(raw: &[u8]) -> bool {
    let Some([level, month @ .., b' ', _, _, b':', _, _, b':', _, _, b'.']) =
        raw.first_chunk::<15>()
    else {
        return false;
    };
    b"IWEF".contains(level) && month.iter().all(u8::is_ascii_digit)
}
