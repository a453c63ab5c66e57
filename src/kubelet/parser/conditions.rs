//! The node's Ready condition, as pasted from `kubectl describe node` or `kubectl get node -o json`.

use crate::kubelet::event::MessageFields;
use crate::kubelet::event::classify::ready_condition;
use crate::syntax::time::{Stamp, Time, rfc2822, rfc3339};
use serde_json::Value;

/// Deepest JSON that is searched.
const MAX_DEPTH: usize = 12;
/// Conditions kept of one text: one a node.
const MAX_CONDITIONS: usize = 256;

/// Pushes the Ready conditions in `text`; returns whether there are any.
pub(super) fn read(text: &[u8], out: &mut Vec<MessageFields>) -> bool {
    out.clear();
    if matches!(text.first(), Some(b'{' | b'[')) {
        if memchr::memmem::find(text, b"\"Ready\"").is_some()
            && let Ok(json) = serde_json::from_slice(text)
        {
            object(&json, out);
        }
    } else if let Ok(text) = std::str::from_utf8(text) {
        row(text, out);
    }
    !out.is_empty()
}

fn object(json: &Value, out: &mut Vec<MessageFields>) {
    let (conditions, left_out) = conditions(json);
    for condition in conditions {
        let time = match rfc3339(condition.heartbeat.as_bytes()) {
            Some((Stamp::Exact(time), _)) => Some(time),
            _ => None,
        };
        push(condition.reason, condition.message, time, out);
    }
    if let Some(last) = out.last_mut() {
        last.left_out += left_out;
    }
}

/// A Ready condition with a heartbeat: a node's, not a pod's.
#[derive(Debug, PartialEq)]
struct Condition<'a> {
    reason: &'a str,
    message: &'a str,
    heartbeat: &'a str,
}

/// The conditions, and how many are left out.
fn conditions(json: &Value) -> (Vec<Condition<'_>>, u64) {
    let mut found = Vec::new();
    search(json, MAX_DEPTH, &mut found);
    let left_out = found.len().saturating_sub(MAX_CONDITIONS);
    found.truncate(MAX_CONDITIONS);
    (found, left_out as u64)
}

fn search<'a>(json: &'a Value, depth: usize, found: &mut Vec<Condition<'a>>) {
    match json {
        _ if depth == 0 => {}
        Value::Array(items) => items.iter().for_each(|it| search(it, depth - 1, found)),
        Value::Object(members) => {
            let text = |key| members.get(key).and_then(Value::as_str);
            members.values().for_each(|it| search(it, depth - 1, found));
            if text("type") == Some("Ready")
                && let (Some(reason), Some(heartbeat)) = (text("reason"), text("lastHeartbeatTime"))
            {
                found.push(Condition {
                    reason,
                    message: text("message").unwrap_or_default(),
                    heartbeat,
                });
            }
        }
        _ => {}
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

fn push(reason: &str, message: &str, heartbeat: Option<Time>, out: &mut Vec<MessageFields>) {
    let from = out.len();
    ready_condition(reason, message, out);
    for fields in &mut out[from..] {
        fields.reported_at = heartbeat;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_condition_is_found_wherever_it_stands() {
        let condition = r#"{"status":"False","type":"Ready","reason":"R","message":"m \"n\"","lastHeartbeatTime":"t","n":[1,-2.5,null,true]}"#;
        let expected = Condition {
            reason: "R",
            message: "m \"n\"",
            heartbeat: "t",
        };
        for text in [
            condition.to_owned(),
            format!("[{{\"a\":{{\"type\":\"Ready\",\"reason\":\"pod\"}}}}, {condition}]"),
            format!("{{\"type\":\"Node\",\"status\":{{\"conditions\":[{condition},{{}}]}}}}"),
        ] {
            let json = serde_json::from_str(&text).unwrap();
            let found = conditions(&json).0;
            assert_eq!(found, std::slice::from_ref(&expected), "{text}");
        }
        let deep = format!("{}{condition}{}", "[".repeat(12), "]".repeat(12));
        let endless = format!("{}\"Ready\"", "[".repeat(100_000));
        for text in [
            "",
            "[",
            "{\"type\":\"Ready\"",
            &format!("{condition}x"),
            &deep,
            &endless,
        ] {
            assert!(!read(text.as_bytes(), &mut Vec::new()));
        }
        let many = format!(
            "[{}{condition}]",
            format!("{condition},").repeat(MAX_CONDITIONS)
        );
        let json = serde_json::from_str(&many).unwrap();
        let (kept, left_out) = conditions(&json);
        assert_eq!((kept.len(), left_out), (MAX_CONDITIONS, 1));
    }
}
