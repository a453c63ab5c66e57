//! Go's quoted strings (`%q`), read leniently: a cut one ends where the text ends.

use std::borrow::Cow;

/// The string that `text` starts with (a `"`), and how many bytes of `text` it takes.
pub fn unquote_prefix(text: &str) -> (Cow<'_, str>, usize) {
    let Some(body) = text.strip_prefix('"') else {
        return (Cow::Borrowed(""), 0);
    };
    match memchr::memchr2(b'"', b'\\', body.as_bytes()) {
        None => return (Cow::Borrowed(body), text.len()),
        Some(end) if body.as_bytes()[end] == b'"' => {
            return (Cow::Borrowed(&body[..end]), end + 2);
        }
        Some(_) => {}
    }
    let mut out = Vec::with_capacity(body.len().min(1024));
    let mut rest = body;
    loop {
        let Some(end) = memchr::memchr2(b'"', b'\\', rest.as_bytes()) else {
            out.extend_from_slice(rest.as_bytes());
            return (lossy(out), text.len());
        };
        out.extend_from_slice(&rest.as_bytes()[..end]);
        if rest.as_bytes()[end] == b'"' {
            let used = text.len() - rest.len() + end + 1;
            return (lossy(out), used);
        }
        let used = escape(&rest[end + 1..], &mut out);
        rest = &rest[end + 1 + used..];
    }
}

/// `text` without its quotes if it is one quoted string, else as it is.
pub fn unquote(text: &str) -> Cow<'_, str> {
    match unquote_prefix(text) {
        (plain, used) if used == text.len() && used > 0 => plain,
        _ => Cow::Borrowed(text),
    }
}

/// Writes what the escape after a backslash stands for; returns its length in bytes.
fn escape(text: &str, out: &mut Vec<u8>) -> usize {
    let Some(letter) = text.chars().next() else {
        return 0;
    };
    let simple = match letter {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        'x' => return coded(text, 1, 2, 16, out),
        'u' => return coded(text, 1, 4, 16, out),
        'U' => return coded(text, 1, 8, 16, out),
        '0'..='7' => return coded(text, 0, 3, 8, out),
        other => {
            out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            return other.len_utf8();
        }
    };
    out.push(simple);
    1
}

/// Writes the byte or character with the code of `digits` digits at `at`.
fn coded(text: &str, at: usize, digits: usize, radix: u32, out: &mut Vec<u8>) -> usize {
    let code = text
        .get(at..at + digits)
        .and_then(|code| u32::from_str_radix(code, radix).ok());
    match code {
        Some(code) if digits <= 3 => out.push(u8::try_from(code).unwrap_or(b'?')),
        Some(code) => {
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        None => {
            out.push(b'\\');
            return 0;
        }
    }
    at + digits
}

fn lossy(bytes: Vec<u8>) -> Cow<'static, str> {
    Cow::Owned(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_go_are_undone() {
        for (quoted, plain, used) in [
            (r#""plain" rest"#, "plain", 7),
            (r#""a\"b\\c""#, r#"a"b\c"#, 9),
            (r#""tab\tnew\nline""#, "tab\tnew\nline", 16),
            (r#""\u00b5s \U0001F600 \x41\101""#, "µs 😀 AA", 29),
            (r#""cut in the mid"#, "cut in the mid", 15),
            (r#""cut at \"#, "cut at ", 9),
            (r#""bad \xzz""#, r"bad \xzz", 10),
            (r#""bad \u00"#, r"bad \u00", 9),
            ("no quote", "", 0),
        ] {
            let (text, length) = unquote_prefix(quoted);
            assert_eq!((text.as_ref(), length), (plain, used), "{quoted}");
        }
    }

    #[test]
    fn nested_quotes_open_level_by_level() {
        let outer = r#""for \"a\" with \"rpc: \\\"transport\\\"\"""#;
        let text = unquote(outer);
        assert_eq!(text, r#"for "a" with "rpc: \"transport\"""#);
        let inner = &text[text.find("\"rpc").unwrap()..];
        assert_eq!(unquote(inner), r#"rpc: "transport""#);
    }
}
