//! Reads `contract.txt`, which shares nothing with the printers, and holds outputs against it.

use serde_json::Value;
use std::collections::BTreeMap;

/// What a value may be.
#[derive(Debug)]
enum Shape {
    Leaf(&'static str),
    Object(Vec<(&'static str, Self)>),
    List(Box<Self>),
    Map(Box<Self>),
    Null(Box<Self>),
}

/// What is promised, by output.
#[derive(Debug)]
pub(super) struct Contract(BTreeMap<&'static str, Shape>);

impl Contract {
    /// Reads the file.
    pub(super) fn read() -> Self {
        let lines = include_str!("contract.txt").lines();
        let mut lines = lines.filter(|line| !line.starts_with('#')).peekable();
        Self(keys(&mut lines, 0).into_iter().collect())
    }

    /// Fails with the place where `value` is not what is promised of `output`.
    #[track_caller]
    pub(super) fn check(&self, output: &str, value: &Value) {
        if let Err(error) = self.follows(value, &self.0[output], output) {
            panic!("{error}: {value:#}");
        }
    }

    fn follows(&self, value: &Value, shape: &Shape, at: &str) -> Result<(), String> {
        let wrong = || Err(format!("{at} is not {shape:?}"));
        match (shape, value) {
            (Shape::Null(_), Value::Null) => Ok(()),
            (Shape::Null(shape), value) => self.follows(value, shape, at),
            (Shape::List(shape), Value::Array(items)) => items
                .iter()
                .try_for_each(|item| self.follows(item, shape, &format!("{at}[]"))),
            (Shape::Map(shape), Value::Object(entries)) => entries
                .iter()
                .try_for_each(|(key, value)| self.follows(value, shape, &format!("{at}.{key}"))),
            (Shape::Object(keys), Value::Object(entries)) => {
                if let Some(more) = entries
                    .keys()
                    .find(|key| keys.iter().all(|(own, _)| own != key))
                {
                    return Err(format!("{at} has {more}, which is not promised"));
                }
                keys.iter()
                    .try_for_each(|(key, shape)| match entries.get(*key) {
                        Some(value) => self.follows(value, shape, &format!("{at}.{key}")),
                        None => Err(format!("{at} has no {key}")),
                    })
            }
            (Shape::Leaf("bool"), Value::Bool(_)) | (Shape::Leaf("string"), Value::String(_)) => {
                Ok(())
            }
            (Shape::Leaf("integer"), Value::Number(number)) if !number.is_f64() => Ok(()),
            (Shape::Leaf("number"), Value::Number(number)) if number.is_f64() => Ok(()),
            (Shape::Leaf("time"), Value::String(text))
                if chrono::DateTime::parse_from_rfc3339(text).is_ok() =>
            {
                Ok(())
            }
            (Shape::Leaf("hex"), Value::String(text))
                if (12..=64).contains(&text.len())
                    && text.bytes().all(|b| b"0123456789abcdef".contains(&b)) =>
            {
                Ok(())
            }
            (Shape::Leaf("bool" | "string" | "integer" | "number" | "time" | "hex"), _) => wrong(),
            (Shape::Leaf(words), value) => match (self.0.get(words), value) {
                (Some(shape), value) => self.follows(value, shape, at),
                (None, Value::String(word)) if words.split('|').any(|known| known == word) => {
                    Ok(())
                }
                _ => wrong(),
            },
            _ => wrong(),
        }
    }
}

/// Reads the keys at this depth.
fn keys(
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'static str>>,
    depth: usize,
) -> Vec<(&'static str, Shape)> {
    let mut all = Vec::new();
    while let Some(line) = lines.next_if(|line| indent(line) == depth) {
        let (name, words) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let mut shape = match words {
            "" => Shape::Object(keys(lines, depth + 2)),
            words => Shape::Leaf(words),
        };
        let key = name.trim_end_matches(['?', '[', ']', '{', '}']);
        let mut marks = &name[key.len()..];
        while !marks.is_empty() {
            // The first mark is the innermost.
            let (wrap, rest): (fn(Box<Shape>) -> Shape, _) = match marks.as_bytes()[0] {
                b'?' => (Shape::Null, 1),
                b'[' => (Shape::List, 2),
                _ => (Shape::Map, 2),
            };
            (marks, shape) = (&marks[rest..], wrap(Box::new(shape)));
        }
        all.push((key, shape));
    }
    all
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
