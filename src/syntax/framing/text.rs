//! Envelopes that are text in front of a message: stamp, host, tag, in the orders that programs write them.

use super::{Layer, Owner, owner_of};
use crate::syntax::klog;
use crate::syntax::time::{Stamp, journal_short, plain, rfc3339, time_of_day, unix};

/// Longest stamp of a form that is only recognised by its time of day (localised month names).
const MAX_FOREIGN_STAMP: usize = 40;
const MAX_WORD: usize = 255;

pub(super) fn open(text: &[u8]) -> Option<Layer> {
    match text.first()? {
        0x1e => Some(bare(1, None)),
        b' ' | b'\t' => None,
        b'd' if text.starts_with(b"data: ") => Some(bare(6, None)),
        b'<' => priority(text),
        b'[' => monotonic(text).or_else(|| prefix(text)),
        b'0'..=b'9' => numeric(text),
        _ => worded(text),
    }
}

fn bare(len: usize, stamp: Option<Stamp>) -> Layer {
    Layer {
        len,
        stamp,
        host: None,
        owner: Owner::Unnamed,
        partial: false,
    }
}

/// `<30>` of the syslog protocols; RFC 5424 goes on with a version.
fn priority(text: &[u8]) -> Option<Layer> {
    let end = text.iter().take(5).position(|&b| b == b'>')?;
    if end < 2 || !text[1..end].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let at = end + 1;
    if text.get(at..at + 2) != Some(b"1 ") {
        return Some(bare(at, None));
    }
    let mut at = at + 2;
    let stamp = rfc3339(&text[at..]).map(|(stamp, _)| stamp);
    at = next_word(text, at);
    let host = (at, word_end(text, at));
    at = next_word(text, at);
    let app = &text[at..word_end(text, at)];
    let owner = if app == b"-" {
        Owner::Unnamed
    } else {
        owner_of(app)
    };
    at = next_word(text, next_word(text, next_word(text, at)));
    // Structured data: `-`, or elements in brackets.
    at = if text.get(at) == Some(&b'[') {
        let close = memchr::memmem::find(&text[at..], b"] ");
        close.map_or(text.len(), |close| at + close + 2)
    } else {
        next_word(text, at)
    };
    if text[at..].starts_with("\u{feff}".as_bytes()) {
        at += 3;
    }
    Some(Layer {
        len: at,
        stamp,
        host: (&text[host.0..host.1] != b"-").then_some(host),
        owner,
        partial: false,
    })
}

/// `[792882.470286] host kubelet[2261]: `: no wall clock.
fn monotonic(text: &[u8]) -> Option<Layer> {
    let close = text.iter().take(24).position(|&b| b == b']')?;
    let inside = text[1..close].trim_ascii();
    let is_number = inside.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    if inside.len() < 3 || !is_number || !inside.contains(&b'.') {
        return None;
    }
    tagged(text, close + 1, None)
}

/// Stamps that start with a digit.
fn numeric(text: &[u8]) -> Option<Layer> {
    if let Some((stamp, len)) = rfc3339(text) {
        return after_stamp(text, len, Some(stamp));
    }
    if let Some((time, len)) = unix(text) {
        return after_stamp(text, len, Some(Stamp::Exact(time)));
    }
    if let Some((_, len)) = time_of_day(text) {
        return tagged(text, len, None);
    }
    prefix(text).or_else(|| foreign(text))
}

/// Stamps that start with a word: `Mar 14 …`, `Tue 2023-03-14 …`; and prefixes that are no stamps.
fn worded(text: &[u8]) -> Option<Layer> {
    if let Some((stamp, len)) = journal_short(text) {
        return after_stamp(text, len, Some(Stamp::Yearless(stamp)));
    }
    let word = word_end(text, 0);
    if (2..16).contains(&word)
        && let Some((local, used)) = text.get(word + 1..).and_then(plain)
    {
        let at = word + 1 + used;
        let zone = at + 1..word_end(text, at + 1);
        let stamp = match &text.get(zone.clone()) {
            Some(b"UTC" | b"GMT" | b"Z") => Stamp::Exact(local.and_utc().fixed_offset()),
            _ => Stamp::Local(local),
        };
        return after_stamp(text, zone.end, Some(stamp));
    }
    prefix(text).or_else(|| foreign(text))
}

/// A stamp in another language: all that is believed of it is that a tag follows its time of day.
fn foreign(text: &[u8]) -> Option<Layer> {
    let window = &text[..text.len().min(MAX_FOREIGN_STAMP)];
    let at = (1..window.len()).find(|&at| {
        window[at - 1] == b' '
            && window[at].is_ascii_digit()
            && time_of_day(&window[at..]).is_some()
    })?;
    let (_, used) = time_of_day(&text[at..])?;
    tagged(text, at + used, None)
}

/// What follows a stamp: a container log's stream, a message, or host and tag.
fn after_stamp(text: &[u8], at: usize, stamp: Option<Stamp>) -> Option<Layer> {
    if text.get(at) != Some(&b' ') {
        return None;
    }
    let rest = &text[at + 1..];
    let stream = rest
        .strip_prefix(b"stderr ")
        .or_else(|| rest.strip_prefix(b"stdout "));
    if let Some(tagged) = stream
        && let Some(end) = tagged.iter().take(20).position(|&b| b == b' ')
        && matches!(tagged[0], b'F' | b'P')
        && matches!(tagged[1], b' ' | b':')
    {
        return Some(Layer {
            partial: tagged[0] == b'P',
            ..bare(at + 1 + 7 + end + 1, stamp)
        });
    }
    tagged_or_bare(text, at, stamp)
}

fn tagged_or_bare(text: &[u8], at: usize, stamp: Option<Stamp>) -> Option<Layer> {
    let start = at + 1;
    let rest = text.get(start..)?;
    if rest.starts_with(b"{") || klog::header(rest).is_some() {
        return Some(bare(start, stamp));
    }
    tagged(text, at, stamp).or_else(|| Some(bare(start, stamp)))
}

/// ` host tag[pid]: ` or ` tag[pid]: ` at `at`; a blank or two.
fn tagged(text: &[u8], at: usize, stamp: Option<Stamp>) -> Option<Layer> {
    let mut start = at + text.get(at..)?.iter().take_while(|&&b| b == b' ').count();
    if start == at {
        return None;
    }
    let mut host = None;
    for _ in 0..3 {
        let end = word_end(text, start);
        let word = text.get(start..end)?;
        if word.is_empty() || word.len() > MAX_WORD {
            return None;
        }
        if let Some(tag) = word.strip_suffix(b":") {
            return Some(Layer {
                len: message_start(text, end),
                stamp,
                host,
                owner: owner_of(without_pid(tag)),
                partial: false,
            });
        }
        if klog::header(&text[start..]).is_some() {
            return Some(Layer {
                host,
                ..bare(start, stamp)
            });
        }
        host = host.or(Some((start, end)));
        start = next_word(text, start);
    }
    None
}

/// `10.200.1.3: {"ts":…`, `kubelet[2261]: E0314 …`: a name and nothing else before a record.
fn prefix(text: &[u8]) -> Option<Layer> {
    let end = word_end(text, 0);
    let name = text[..end.min(MAX_WORD)].strip_suffix(b":")?;
    let len = message_start(text, end);
    let inside = text.get(len..)?;
    if !inside.starts_with(b"{\"") && klog::header(inside).is_none() {
        return None;
    }
    let owner = match owner_of(without_pid(name)) {
        other if other.is_another() && without_pid(name).len() == name.len() => Owner::Unnamed,
        owner => owner,
    };
    Some(Layer {
        host: (owner == Owner::Unnamed).then_some((0, name.len())),
        owner,
        ..bare(len, None)
    })
}

/// One blank is the envelope's; more only before a klog header, since they may be a message's indentation.
fn message_start(text: &[u8], at: usize) -> usize {
    let start = at + usize::from(text.get(at) == Some(&b' '));
    let blanks = text[start..].iter().take_while(|&&b| b == b' ').count();
    if blanks > 0 && klog::header(&text[start + blanks..]).is_some() {
        start + blanks
    } else {
        start
    }
}

fn without_pid(tag: &[u8]) -> &[u8] {
    match tag.iter().rposition(|&b| b == b'[') {
        Some(open) if open > 0 && tag.ends_with(b"]") => &tag[..open],
        _ => tag,
    }
}

fn word_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or(b"");
    memchr::memchr(b' ', rest).map_or(text.len().max(at), |end| at + end)
}

/// The start of the word after the one at `at`, past one blank; the text's end if there is none.
fn next_word(text: &[u8], at: usize) -> usize {
    (word_end(text, at) + 1).min(text.len())
}
