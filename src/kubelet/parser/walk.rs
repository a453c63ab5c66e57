//! Finds a node's Ready conditions in JSON while it is read: of the rest nothing is kept, however much there is.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Deepest JSON that is walked.
const DEEPEST: usize = 12;
/// Most conditions that are kept of one text: one a node.
const MOST: usize = 256;

/// A Ready condition with a heartbeat: a node's, not a pod's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Condition {
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) heartbeat: String,
}

/// Returns the conditions in `text`, and how many are left out; nothing if it is no JSON.
pub(super) fn conditions(text: &[u8]) -> (Vec<Condition>, u64) {
    let mut found = Found::default();
    let mut json = serde_json::Deserializer::from_slice(text);
    let walk = Walk {
        depth: DEEPEST,
        found: &mut found,
    };
    match walk.deserialize(&mut json).and_then(|_| json.end()) {
        Ok(()) => (found.conditions, found.left_out),
        Err(_) => (Vec::new(), 0),
    }
}

#[derive(Default)]
struct Found {
    conditions: Vec<Condition>,
    left_out: u64,
}

/// Walks through one value, and gives it if it is text.
struct Walk<'a> {
    depth: usize,
    found: &'a mut Found,
}

impl Walk<'_> {
    fn inside(&mut self) -> Walk<'_> {
        Walk {
            depth: self.depth - 1,
            found: self.found,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        match self.depth {
            0 => json.deserialize_ignored_any(IgnoredAny).map(|_| None),
            _ => json.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element_seed(self.inside())?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut kind, mut reason, mut message, mut heartbeat) = (None, None, None, None);
        while let Some(key) = members.next_key::<String>()? {
            let value = members.next_value_seed(self.inside())?;
            match key.as_str() {
                "type" => kind = value,
                "reason" => reason = value,
                "message" => message = value,
                "lastHeartbeatTime" => heartbeat = value,
                _ => {}
            }
        }
        if kind.as_deref() == Some("Ready")
            && let (Some(reason), Some(heartbeat)) = (reason, heartbeat)
        {
            let found = self.found;
            match found.conditions.len() < MOST {
                true => found.conditions.push(Condition {
                    reason,
                    message: message.unwrap_or_default(),
                    heartbeat,
                }),
                false => found.left_out += 1,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nodes_condition_is_found_wherever_it_stands() {
        let condition = r#"{"status":"False","type":"Ready","reason":"R","message":"m \"n\"","lastHeartbeatTime":"t","n":[1,-2.5,null,true]}"#;
        let expected = Condition {
            reason: "R".to_owned(),
            message: "m \"n\"".to_owned(),
            heartbeat: "t".to_owned(),
        };
        for text in [
            condition.to_owned(),
            format!("[{{\"a\":{{\"type\":\"Ready\",\"reason\":\"pod\"}}}}, {condition}]"),
            format!("{{\"type\":\"Node\",\"status\":{{\"conditions\":[{condition},{{}}]}}}}"),
        ] {
            assert_eq!(
                conditions(text.as_bytes()).0,
                std::slice::from_ref(&expected),
                "{text}"
            );
        }
        let deep = format!("{}{condition}{}", "[".repeat(12), "]".repeat(12));
        let endless = "[".repeat(100_000);
        for text in [
            "",
            "[",
            "{\"type\":\"Ready\"",
            &format!("{condition}x"),
            &deep,
            &endless,
        ] {
            assert_eq!(conditions(text.as_bytes()), (vec![], 0));
        }
        let many = format!("[{}{condition}]", format!("{condition},").repeat(MOST));
        let (kept, left_out) = conditions(many.as_bytes());
        assert_eq!((kept.len(), left_out), (MOST, 1));
    }
}
