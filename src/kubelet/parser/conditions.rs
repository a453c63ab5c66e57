//! The node's Ready condition, as pasted from `kubectl describe node` or `kubectl get node -o json`.

use super::walk;
use crate::{
    kubelet::event::{MessageFields, classify::ready_condition},
    syntax::time::{Stamp, Time, rfc2822, rfc3339},
};

/// Pushes the Ready conditions that `text` holds; returns whether there are any.
pub(super) fn read(text: &[u8], out: &mut Vec<MessageFields>) -> bool {
    out.clear();
    if matches!(text.first(), Some(b'{' | b'[')) {
        if memchr::memmem::find(text, b"\"Ready\"").is_some() {
            object(text, out);
        }
    } else if let Ok(text) = std::str::from_utf8(text) {
        row(text, out);
    }
    !out.is_empty()
}

fn object(text: &[u8], out: &mut Vec<MessageFields>) {
    let (conditions, left_out) = walk::conditions(text);
    for condition in conditions {
        let time = match rfc3339(condition.heartbeat.as_bytes()) {
            Some((Stamp::Exact(time), _)) => Some(time),
            _ => None,
        };
        push(&condition.reason, &condition.message, time, out);
    }
    if let Some(last) = out.last_mut() {
        last.left_out += left_out;
    }
}

/// Reads `Ready  False  <heartbeat>  <transition>  KubeletNotReady  PLEG is not healthy: …`.
fn row(text: &str, out: &mut Vec<MessageFields>) {
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

/// Whether a column is a reason: one word in CamelCase.
fn is_reason(column: &str) -> bool {
    column.len() > 4
        && column.starts_with(|c: char| c.is_ascii_uppercase())
        && column.bytes().all(|b| b.is_ascii_alphanumeric())
}

fn push(reason: &str, message: &str, told: Option<Time>, out: &mut Vec<MessageFields>) {
    let from = out.len();
    ready_condition(reason, message, out);
    for fields in &mut out[from..] {
        fields.told = told;
    }
}
