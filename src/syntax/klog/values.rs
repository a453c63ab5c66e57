//! Structured klog text behind its quoted message: `err="…" pod="ns/name" podUID=… event=&{ID:… Type:…}`.
//!
//! How a value is printed depends on klog's release and the value's type: quoted, bare, a Go struct or slice
//! (`%+v`, bare, with blanks inside), JSON, or a block of lines (`key=<` … ` >`).

use super::quote;
use std::borrow::Cow;

#[derive(Debug)]
pub struct Values<'a> {
    rest: &'a str,
}

impl<'a> Values<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { rest: text }
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = (&'a str, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.rest.trim_start_matches([' ', '\n', '\t']);
        let equals = memchr::memchr(b'=', text.as_bytes())?;
        let key = &text[..equals];
        // Words without `=` in between are no keys: what stands last before the `=` is.
        let key = key.rsplit(' ').next().unwrap_or(key);
        let (value, used) = value(&text[equals + 1..]);
        self.rest = &text[equals + 1 + used..];
        Some((key, value))
    }
}

/// Whether `text` ends in a block of lines (`key=<`) that is not closed yet.
pub fn is_open_block(text: &[u8]) -> bool {
    if memchr::memchr(b'\n', text).is_none() {
        return text.ends_with(b"=<");
    }
    memchr::memmem::rfind(text, b"=<\n").map_or_else(
        || text.ends_with(b"=<"),
        |start| memchr::memmem::find(&text[start..], b"\n >").is_none(),
    )
}

fn value(text: &str) -> (Cow<'_, str>, usize) {
    match text.as_bytes().first() {
        Some(b'"') => quote::unquote_prefix(text),
        Some(b'<') if text[1..].trim_start_matches(' ').starts_with('\n') => block(text),
        Some(b'{' | b'[' | b'&') => {
            let end = balanced(text);
            (Cow::Borrowed(&text[..end]), end)
        }
        Some(_) => {
            let end = memchr::memchr2(b' ', b'\n', text.as_bytes()).unwrap_or(text.len());
            (Cow::Borrowed(&text[..end]), end)
        }
        None => (Cow::Borrowed(""), 0),
    }
}

/// A block's lines without their TABs, up to the line ` >`.
fn block(text: &str) -> (Cow<'_, str>, usize) {
    let start = text.find('\n').map_or(text.len(), |newline| newline + 1);
    let close = text[start.saturating_sub(1)..]
        .find("\n >")
        .map(|end| start - 1 + end);
    let end = close.unwrap_or(text.len());
    let body = text.get(start..end).unwrap_or("");
    let lines: Vec<&str> = body
        .split('\n')
        .map(|line| line.strip_prefix('\t').unwrap_or(line))
        .collect();
    let used = close.map_or(text.len(), |end| end + 3);
    (Cow::Owned(lines.join("\n")), used)
}

/// The length of a Go struct, map or slice, or of JSON: brackets are counted, quoted text is skipped.
///
/// `%+v` quotes nothing, so a text inside may hold brackets of its own; where they don't balance, the value
/// ends with the text.
fn balanced(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_i32;
    let mut quoted = false;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b' ' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        Values::new(text)
            .map(|(key, value)| (key.to_owned(), value.into_owned()))
            .collect()
    }

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(pairs(text), expected, "{text}");
    }

    #[test]
    fn quoted_and_bare_values_are_read() {
        check(
            r#" err="a \"b\" c=\"d\"" pod="prod/web-0" podUID=0d81 numErrs=3 x="(MISSING)" y=(MISSING)"#,
            &[
                ("err", r#"a "b" c="d""#),
                ("pod", "prod/web-0"),
                ("podUID", "0d81"),
                ("numErrs", "3"),
                ("x", "(MISSING)"),
                ("y", "(MISSING)"),
            ],
        );
    }

    #[test]
    fn structs_and_json_are_counted_by_brackets() {
        check(
            r#"containerID={Type:docker ID:9f2c} event=&{ID:a Type:b Data:c} pods=[a/b c/d] last=1"#,
            &[
                ("containerID", "{Type:docker ID:9f2c}"),
                ("event", "&{ID:a Type:b Data:c}"),
                ("pods", "[a/b c/d]"),
                ("last", "1"),
            ],
        );
        check(
            r#"condition={"type":"Ready","message":"a } \" b"} pods=["a/b","c/d"] z="""#,
            &[
                ("condition", r#"{"type":"Ready","message":"a } \" b"}"#),
                ("pods", r#"["a/b","c/d"]"#),
                ("z", ""),
            ],
        );
    }

    #[test]
    fn a_block_of_lines_is_one_value() {
        check(
            "err=<\n\tfirst:\n\t\tsecond\n > containerID=\"3f1c\" cmd=[\"/bin/true\"]",
            &[
                ("err", "first:\n\tsecond"),
                ("containerID", "3f1c"),
                ("cmd", "[\"/bin/true\"]"),
            ],
        );
        check("err=<\n\tnever closed", &[("err", "never closed")]);
        assert!(is_open_block(b"\"m\" err=<"));
        assert!(is_open_block(b"\"m\" err=<\n\tfirst"));
        assert!(!is_open_block(b"\"m\" err=<\n\tfirst\n > a=1"));
        assert!(!is_open_block(b"\"m\" err=\"x\""));
    }

    #[test]
    fn cut_values_end_with_the_text() {
        check("containerID=\"f0>", &[("containerID", "f0>")]);
        check("event=&{ID:a Type", &[("event", "&{ID:a Type")]);
        check("err=", &[("err", "")]);
        check("err", &[]);
    }
}
