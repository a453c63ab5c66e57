//! Prometheus' text prometheus_text format (0.0.4), line by line: a name, labels, a value, perhaps a time.
//!
//! Our own hundred lines: the parsers on crates.io stop at the first odd line or keep every sample of every metric,
//! and a kubelet's answer has tens of thousands of which a few hundred matter.

#[derive(Clone, Debug, PartialEq)]
pub struct Sample<'a> {
    pub name: &'a str,
    pub labels: Vec<(&'a str, String)>,
    /// Its value; may be infinite or not a number.
    pub value: f64,
}

impl Sample<'_> {
    pub fn label(&self, name: &str) -> Option<&str> {
        let label = self.labels.iter().find(|(own, _)| *own == name);
        label.map(|(_, value)| value.as_str())
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Line<'a> {
    Sample(Sample<'a>),
    /// A comment (`# HELP`, `# TYPE` among them), or empty.
    Comment,
    Odd,
}

/// Most labels of a sample; the kubelet's have two or three.
const MAX_LABELS: usize = 64;

pub fn line(text: &str) -> Line<'_> {
    let text = text.trim_matches([' ', '\t', '\r']);
    if text.is_empty() || text.starts_with('#') {
        return Line::Comment;
    }
    sample(text).map_or(Line::Odd, Line::Sample)
}

/// The name of the metric that a line is a sample of, without reading the rest.
pub fn name(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t']);
    let end = text.find(|c: char| !is_name(c)).unwrap_or(text.len());
    &text[..end]
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

fn sample(text: &str) -> Option<Sample<'_>> {
    let name = name(text);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let rest = text[name.len()..].trim_start_matches([' ', '\t']);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_ascii_whitespace();
    // Go's and Rust's words for a number are the same here: NaN, +Inf, 1.796e+09.
    let value = words.next()?.parse().ok()?;
    // A time in milliseconds may follow; the kubelet's own metrics have none.
    let timed = words.next().is_none_or(|word| word.parse::<i64>().is_ok());
    (timed && words.next().is_none()).then_some(Sample {
        name,
        labels,
        value,
    })
}

/// Reads labels up to and with the closing brace; returns what follows.
fn labels(text: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let name = name(rest);
        let value = rest[name.len()..].trim_start_matches([' ', '\t']);
        let value = value.strip_prefix('=')?.trim_start_matches([' ', '\t']);
        let (value, after) = quoted(value.strip_prefix('"')?)?;
        if name.is_empty() || labels.len() == MAX_LABELS {
            return None;
        }
        labels.push((name, value));
        rest = after;
    }
}

/// Reads up to and with the closing quote; returns what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                // Unknown escapes stand for themselves, as Prometheus takes them.
                c => value.extend(['\\', c]),
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Sample<'_> {
        match line(text) {
            Line::Sample(sample) => sample,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn samples_are_read_in_every_form() {
        assert_eq!(read("a 1").value, 1.0);
        assert_eq!(
            read("\ta:b_2\t1.796011664e+09 1700000000000\r").name,
            "a:b_2"
        );
        assert_eq!(read("a +Inf").value, f64::INFINITY);
        assert_eq!(read("a -Inf").value, f64::NEG_INFINITY);
        assert!(read("a NaN").value.is_nan());
        assert!(read("a{} 3").labels.is_empty());
        let sample = read(r#"a { b = "x" , c="y, } \" \\ \n \q", } 3 -5"#);
        assert_eq!(sample.label("b"), Some("x"));
        assert_eq!(sample.label("c"), Some("y, } \" \\ \n \\q"));
        assert_eq!(sample.label("d"), None);
        assert_eq!(sample.value, 3.0);
    }

    #[test]
    fn comments_are_no_samples() {
        for text in ["", "   ", "# HELP a b", "#", "\r"] {
            assert_eq!(line(text), Line::Comment, "{text:?}");
        }
    }

    #[test]
    fn odd_lines_are_counted_and_read_no_further() {
        for text in [
            "a",
            "1a 1",
            "a x",
            "a 1 2 3",
            "a 1 soon",
            "a{b=\"c\" 1",
            "a{b=c} 1",
            "a{=\"c\"} 1",
            "a{b} 1",
            "a{b=\"c\\",
            "{a=\"b\"} 1",
            "größe 1",
            "<html>",
            "\u{0}",
        ] {
            assert_eq!(line(text), Line::Odd, "{text:?}");
        }
        let many = format!("a{{{}}} 1", "b=\"c\",".repeat(MAX_LABELS + 1));
        assert_eq!(line(&many), Line::Odd);
    }
}
