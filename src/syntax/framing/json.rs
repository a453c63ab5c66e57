//! One JSON object's keys and values, read in place and leniently: log lines are cut and broken.
//!
//! Values come as written; `string` undoes a string's escapes. No tree is built.

use std::borrow::Cow;

/// The members of an object, in order; stops where the text stops making sense.
#[derive(Debug)]
pub struct Members<'a> {
    text: &'a [u8],
    at: usize,
}

/// Reads the object that `text` starts with (a `{`).
pub fn members(text: &[u8]) -> Members<'_> {
    Members { text, at: 1 }
}

impl<'a> Iterator for Members<'a> {
    /// Key (without quotes, escapes kept) and value (as written).
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.skip(|b| b.is_ascii_whitespace() || b == b',');
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        let end = string_end(self.text, self.at);
        let key = self.text.get(self.at + 1..end.checked_sub(1)?)?;
        self.at = end;
        self.skip(|b| b.is_ascii_whitespace());
        if self.text.get(self.at) != Some(&b':') {
            return None;
        }
        self.at += 1;
        self.skip(|b| b.is_ascii_whitespace());
        let start = self.at;
        self.at = value_end(self.text, start);
        (self.at > start).then(|| (key, &self.text[start..self.at]))
    }
}

impl Members<'_> {
    /// The index after the object's last member that was read.
    pub fn position(&self) -> usize {
        self.at
    }

    fn skip(&mut self, what: impl Fn(u8) -> bool) {
        while self.text.get(self.at).is_some_and(|&b| what(b)) {
            self.at += 1;
        }
    }
}

/// The text that a value as written stands for: a string's characters, anything else as it is.
pub fn string(value: &[u8]) -> Cow<'_, [u8]> {
    let Some(body) = value.strip_prefix(b"\"") else {
        return Cow::Borrowed(value);
    };
    let closed = string_end(value, 0) == value.len() && value.len() > 1 && value.ends_with(b"\"");
    let body = if closed {
        &body[..body.len() - 1]
    } else {
        body
    };
    let Some(first) = memchr::memchr(b'\\', body) else {
        return Cow::Borrowed(body);
    };
    let mut out = Vec::with_capacity(body.len());
    out.extend_from_slice(&body[..first]);
    let mut at = first;
    while let Some(&byte) = body.get(at) {
        if byte == b'\\' {
            at += 1 + unescape(&body[at + 1..], &mut out);
        } else {
            let end = memchr::memchr(b'\\', &body[at..]).map_or(body.len(), |next| at + next);
            out.extend_from_slice(&body[at..end]);
            at = end;
        }
    }
    Cow::Owned(out)
}

/// Writes what the escape after a backslash stands for; returns its length.
fn unescape(text: &[u8], out: &mut Vec<u8>) -> usize {
    let byte = match text.first() {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 8,
        Some(b'f') => 12,
        Some(b'u') => return unicode(text, out),
        Some(&other) => other,
        None => return 0,
    };
    out.push(byte);
    1
}

fn unicode(text: &[u8], out: &mut Vec<u8>) -> usize {
    let unit = |at: usize| {
        let digits = std::str::from_utf8(text.get(at..at + 4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(high) = unit(1) else {
        return 1;
    };
    let (code, used) = match (high, text.get(5..7), unit(7)) {
        (0xd800..0xdc00, Some(b"\\u"), Some(low @ 0xdc00..0xe000)) => {
            (0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 11)
        }
        _ => (high, 5),
    };
    let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    used
}

fn string_end(text: &[u8], at: usize) -> usize {
    let mut from = at + 1;
    while let Some(found) = text
        .get(from..)
        .and_then(|t| memchr::memchr2(b'"', b'\\', t))
    {
        if text[from + found] == b'"' {
            return from + found + 1;
        }
        from += found + 2;
    }
    text.len()
}

fn value_end(text: &[u8], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = at;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at = string_end(text, at);
                if depth == 0 {
                    return at;
                }
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, String)> {
        members(text.as_bytes())
            .map(|(key, value)| {
                (
                    String::from_utf8_lossy(key).into_owned(),
                    String::from_utf8_lossy(&string(value)).into_owned(),
                )
            })
            .collect()
    }

    #[test]
    fn members_come_in_order_with_their_values() {
        let text = r#"{"ts":1796010357319.6838, "msg" : "a \"b\"\n","pod":{"name":"x","n":[1,"}"]},"v":0}"#;
        let expected = [
            ("ts", "1796010357319.6838"),
            ("msg", "a \"b\"\n"),
            ("pod", r#"{"name":"x","n":[1,"}"]}"#),
            ("v", "0"),
        ];
        let read = read(text);
        let read: Vec<_> = read.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(read, expected);
    }

    #[test]
    fn escapes_are_undone() {
        for (written, text) in [
            (r#""\u003cnil\u003e""#, "<nil>"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""a\/b\\""#, r"a/b\"),
            (r#""cut \u00"#, "cut 00"),
            (r#""cut \"#, "cut "),
            (r#"""#, ""),
            ("12", "12"),
        ] {
            assert_eq!(String::from_utf8_lossy(&string(written.as_bytes())), text);
        }
    }

    #[test]
    fn broken_objects_end_early() {
        for text in ["{", "{}", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{a:1}", ""] {
            assert!(read(text).is_empty(), "{text}");
        }
        assert_eq!(read(r#"{"a":"cut of"#), [("a".into(), "cut of".into())]);
    }
}
