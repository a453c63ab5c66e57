//! klog's own forms: the text header, and what stands behind it.
//!
//! `values` reads structured `key=value` text, `quote` Go's quoting. Which message it is, is decided elsewhere.

mod quote;
mod values;

pub use quote::{unquote, unquote_prefix};
pub use values::{Values, is_open_block};

use super::time::Yearless;

/// Letter that opens a klog line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Severity {
    #[default]
    Info,
    Warning,
    Error,
    /// `F`: the kubelet ends after it.
    Fatal,
}

/// A klog text header, `E0314 09:26:53.589793    2261 kubelet.go:1765] `.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    pub severity: Severity,
    pub stamp: Yearless,
    /// Length in bytes: where the message starts.
    pub len: usize,
}

/// Bytes of letter and stamp: `E0314 09:26:53.589793`.
const STAMP: usize = 21;
/// Longest thread id with its padding, file name and line that are believed.
const MAX_PLACE: usize = 300;

pub fn header(text: &[u8]) -> Option<Header> {
    let severity = match text.first()? {
        b'I' => Severity::Info,
        b'W' => Severity::Warning,
        b'E' => Severity::Error,
        b'F' => Severity::Fatal,
        _ => return None,
    };
    let stamp = Yearless::klog(&text[1..])?;
    let rest = &text[STAMP..text.len().min(STAMP + MAX_PLACE)];
    let bracket = memchr::memchr(b']', rest)?;
    let place = &rest[..bracket];
    let line_number = place
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_digit())
        .count();
    let colon = place.len().checked_sub(line_number + 1)?;
    if place.first() != Some(&b' ') || line_number == 0 || place[colon] != b':' {
        return None;
    }
    let blank = usize::from(rest.get(bracket + 1) == Some(&b' '));
    Some(Header {
        severity,
        stamp,
        len: STAMP + bracket + 1 + blank,
    })
}

/// Where a header starts that something else was glued to the front of.
pub fn find_header(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(colon) = memchr::memchr(b':', text.get(from..)?) {
        let colon = from + colon;
        // In a header the first colon is the ninth byte.
        if let Some(start) = colon.checked_sub(8)
            && header(&text[start..]).is_some()
        {
            return Some(start);
        }
        from = colon + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_where_the_message_starts() {
        for (line, message) in [
            (
                "E0314 09:26:53.589793    2261 kubelet.go:1765] skipping",
                "skipping",
            ),
            (
                "I0314 09:26:53.589793 1234567 kubelet/kubelet.go:1991] x] y",
                "x] y",
            ),
            ("F1231 23:59:59.999999       1 a.go:1] ", ""),
            ("W0229 00:00:00.000000       1 a.go:1]", ""),
        ] {
            let header = header(line.as_bytes()).unwrap();
            assert_eq!(&line[header.len..], message, "{line}");
        }
    }

    #[test]
    fn what_only_looks_like_a_header_is_refused() {
        for line in [
            "",
            "E",
            "E0314",
            "E1314 09:26:53.589793    2261 kubelet.go:1765] x",
            "E0314 24:26:53.589793    2261 kubelet.go:1765] x",
            "E0314 09:26:53.589793    2261 kubelet.go] x",
            "E0314 09:26:53.58979     2261 kubelet.go:1765] x",
            "E0314 09:26:53.589793    2261 kubelet.go:1765 x",
            "D0314 09:26:53.589793    2261 kubelet.go:1765] x",
            "Error 09:26:53.589793    2261 kubelet.go:1765] x",
        ] {
            assert_eq!(header(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_header_behind_something_glued_is_found() {
        let line = br#"{"a": "b:c"}E1014 17:16:32.144529    2261 kubelet.go:1] skipping"#;
        assert_eq!(find_header(line), Some(12));
        assert_eq!(find_header(b"a:b:c: no header"), None);
        assert_eq!(find_header(b"::::::::::"), None);
    }
}
