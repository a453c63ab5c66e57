//! What is asked of a single line: its times, whether it is fatal, whether it reports losses; and cheap guesses
//! at lines that are not parsed.

use crate::kubelet::event::{MessageFields, classify};
use crate::syntax::framing::{Owner, Unframed};
use crate::syntax::klog::Severity;
use crate::syntax::time::{Stamp, Yearless, epoch_millis};
use crate::syntax::{framing, klog};
use std::borrow::Cow;

/// Pushes what `text` says; a fatal line that is nothing else known is known as that.
pub(super) fn classify_into(text: &str, severity: Severity, fields: &mut Vec<MessageFields>) {
    fields.clear();
    if text.starts_with('{') {
        classify::record(text.as_bytes(), fields);
    } else if severity == Severity::Fatal {
        classify::fatal(text, fields);
    } else {
        classify::text(text, fields);
    }
}

/// `bytes` as text; valid text, the usual case, is checked by the faster of std's two ways.
pub(super) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// klog's own stamp, and that of the record or the envelope context it.
pub(super) fn stamps_of(unframed: &Unframed<'_>) -> (Option<Yearless>, Option<Stamp>) {
    let klog = unframed.header.map(|header| header.stamp);
    (klog, record_stamp(unframed).or(unframed.stamp))
}

pub(super) fn record_stamp(unframed: &Unframed<'_>) -> Option<Stamp> {
    let digits = unframed.message.strip_prefix(b"{\"ts\":")?;
    let end = memchr::memchr2(b',', b'}', digits).unwrap_or(digits.len());
    let millis = std::str::from_utf8(&digits[..end])
        .ok()?
        .trim()
        .parse()
        .ok()?;
    epoch_millis(millis).map(Stamp::Exact)
}

/// What a line shows of its time: klog's own stamp, and that of what stands context it.
pub(crate) fn stamps(raw: &[u8]) -> Option<(Option<Yearless>, Option<Stamp>)> {
    if !may_have_time(raw) {
        return None;
    }
    let (own, envelope) = stamps_of(&framing::unframe(raw));
    (own.is_some() || envelope.is_some()).then_some((own, envelope))
}

pub(super) fn is_fatal(raw: &[u8]) -> bool {
    raw.first() == Some(&b'F') && klog::header(raw).is_some()
}

/// Whether a message says that lines of this log were lost.
pub(super) fn is_loss(message: &str) -> bool {
    if let Some((_, rest)) = message.split_once("Suppressed ") {
        return rest.contains(" messages from ")
            && ["kubelet", "kubelite", "k3s", "rke2", "origin-node", "edge"]
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

/// Whether the kubelet wrote a line that is not parsed and has a time. Only unusual envelopes are taken off for that: in a
/// log of all programs most lines are not the kubelet's.
pub(crate) fn is_own(raw: &[u8]) -> bool {
    if !may_have_time(raw) {
        return false;
    }
    if is_klog(raw) || raw.starts_with(b"{\"ts\"") {
        return true;
    }
    if let Some(log) = raw.strip_prefix(b"{\"log\":\"") {
        return log.starts_with(br#"{\"ts\""#) || is_klog(log);
    }
    let head = &raw[..raw.len().min(160)];
    if head.first().is_some_and(u8::is_ascii_digit)
        && let Some(stamp) = memchr::memchr(b' ', head)
    {
        // A container's log as its runtime keeps it (`<stamp> stderr F <message>`), or as a client prints it.
        let rest = &raw[stamp + 1..];
        let stream = rest.starts_with(b"stderr ") || rest.starts_with(b"stdout ");
        let message = if stream {
            rest.get(9..).unwrap_or(b"")
        } else {
            rest
        };
        if is_klog(message) || message.starts_with(b"{\"ts\"") {
            return true;
        }
        if stream {
            return false;
        }
    }
    if matches!(head.first(), Some(b'{' | b'<')) {
        return is_own_inside(raw);
    }
    let Some(end) = memchr::memmem::find(head, b": ") else {
        return is_own_inside(raw);
    };
    let start = memchr::memrchr(b' ', &head[..end]).map_or(0, |blank| blank + 1);
    // Behind klog's `file.go:12] ` it is no tag.
    if memchr::memchr(b']', head.get(1..start).unwrap_or(b"")).is_some() {
        return is_own_inside(raw);
    }
    let tag = &head[start..end];
    let ident = memchr::memchr(b'[', tag).map_or(tag, |pid| &tag[..pid]);
    // The kubelet's line may be inside another program's.
    framing::owner_of(ident).is_kubelet() || (may_have_time(&raw[end + 2..]) && is_own_inside(raw))
}

fn is_own_inside(raw: &[u8]) -> bool {
    let unframed = framing::unframe(raw);
    match unframed.owner {
        Owner::Kubelet(_) => true,
        Owner::Kernel | Owner::Systemd | Owner::Other => false,
        Owner::Unnamed => unframed.header.is_some() || record_stamp(&unframed).is_some(),
    }
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
