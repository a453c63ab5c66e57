//! The node's Ready condition, as pasted from `kubectl describe node` or `kubectl get node -o json`.

use crate::{
    event::{
        Time,
        classify::{Facts, ready_condition},
    },
    time::{Stamp, rfc2822, rfc3339},
};
use serde_json::Value;

/// Deepest JSON that is walked.
const DEEPEST: usize = 12;

/// Pushes the Ready conditions that `text` holds; returns whether there are any.
pub(super) fn read(text: &[u8], out: &mut Vec<Facts>) -> bool {
    out.clear();
    if matches!(text.first(), Some(b'{' | b'[')) {
        let is_about_it = memchr::memmem::find(text, b"\"Ready\"").is_some();
        if is_about_it && let Ok(value) = serde_json::from_slice::<Value>(text) {
            walk(&value, DEEPEST, out);
        }
    } else if let Ok(text) = std::str::from_utf8(text) {
        row(text, out);
    }
    !out.is_empty()
}

/// Reads `Ready  False  <heartbeat>  <transition>  KubeletNotReady  PLEG is not healthy: …`.
fn row(text: &str, out: &mut Vec<Facts>) {
    let mut columns = text
        .trim()
        .split("  ")
        .flat_map(|column| column.split('\t'))
        .map(str::trim)
        .filter(|column| !column.is_empty());
    if columns.next() != Some("Ready")
        || !matches!(columns.next(), Some("True" | "False" | "Unknown"))
    {
        return;
    }
    let columns: Vec<&str> = columns.collect();
    // Between status and reason stand one or two times, or ages.
    let Some(at) = columns.iter().position(|column| is_reason(column)) else {
        return;
    };
    let heartbeat = columns.first().filter(|_| at > 0).copied();
    push(
        columns[at],
        &columns[at + 1..].join("  "),
        heartbeat.and_then(rfc2822),
        out,
    );
}

/// Returns whether a column is a reason: one word in CamelCase.
fn is_reason(column: &str) -> bool {
    column.len() > 4
        && column.starts_with(|c: char| c.is_ascii_uppercase())
        && column.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// Finds conditions of type Ready that have a heartbeat: a node's, not a pod's.
fn walk(value: &Value, depth: usize, out: &mut Vec<Facts>) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, depth - 1, out)),
        Value::Object(object) => {
            let text = |key: &str| object.get(key).and_then(Value::as_str);
            if let (Some("Ready"), Some(reason), Some(heartbeat)) =
                (text("type"), text("reason"), text("lastHeartbeatTime"))
            {
                let time = match rfc3339(heartbeat.as_bytes()) {
                    Some((Stamp::Exact(time), _)) => Some(time),
                    _ => None,
                };
                push(reason, text("message").unwrap_or(""), time, out);
            } else {
                object.values().for_each(|item| walk(item, depth - 1, out));
            }
        }
        _ => {}
    }
}

fn push(reason: &str, message: &str, told: Option<Time>, out: &mut Vec<Facts>) {
    let from = out.len();
    ready_condition(reason, message, out);
    for facts in &mut out[from..] {
        facts.told = told;
    }
}
