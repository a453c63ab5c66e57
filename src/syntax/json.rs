//! Values that print themselves as JSON and know their schema: each key is written once, with what it means.

use super::id::{ContainerId, PodUid};
use super::time::Time;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A value with a JSON Schema.
pub trait JsonSchema {
    /// The schema of what `Serialize` prints.
    fn json_schema() -> Value;
}

/// Declares a type's JSON: `/// meaning`, `key: Type` of the field with that name, or `key: Type = expression`, and
/// `=> {…}` for what the schema limits beyond the type. `, document "id", "title"` makes it a whole output
/// with `schema` as its first key.
macro_rules! json_object {
    ($(#[doc = $about:literal])* $type:ty as $it:ident $(, document $id:literal, $title:literal)? {
        $($(#[doc = $doc:literal])* $key:ident: $field:ty $(= $value:expr)? $(=> $limits:tt)?,)*
    }) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use ::serde::ser::SerializeStruct as _;
                let $it = self;
                let keys = [$(stringify!($key)),*].len();
                let mut object = serializer.serialize_struct(stringify!($type), keys)?;
                $(object.serialize_field("schema", $id)?;)?
                $(crate::syntax::json::json_object!(@field object, $it, $key: $field $(= $value)?);)*
                object.end()
            }
        }
        impl crate::syntax::json::JsonSchema for $type {
            fn json_schema() -> ::serde_json::Value {
                let schema = crate::syntax::json::object(concat!($($about),*), [$((
                    stringify!($key),
                    crate::syntax::json::key::<$field>(
                        concat!($($doc),*),
                        crate::syntax::json::json_object!(@limits $($limits)?),
                    ),
                )),*]);
                $(let schema = crate::syntax::json::document(schema, $id, $title);)?
                schema
            }
        }
    };
    (@field $object:ident, $it:ident, $key:ident: $field:ty) => {
        $object.serialize_field(stringify!($key), &$it.$key)?
    };
    (@field $object:ident, $it:ident, $key:ident: $field:ty = $value:expr) => {
        let value: $field = $value;
        $object.serialize_field(stringify!($key), &value)?
    };
    (@limits) => { ::serde_json::Value::Null };
    (@limits $limits:tt) => { ::serde_json::json!($limits) };
}

/// Declares the words that stand for an enum's variants in JSON.
macro_rules! json_words {
    ($type:ty, $name:ident { $($variant:ident => $word:literal),* $(,)? }) => {
        impl $type {
            /// Its stable word.
            pub fn $name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $word),*
                }
            }
        }
        crate::syntax::json::json_words!($type { $($variant => $word),* });
    };
    ($type:ty { $($variant:ident => $word:literal),* $(,)? }) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(match self {
                    $(Self::$variant { .. } => $word),*
                })
            }
        }
        impl crate::syntax::json::JsonSchema for $type {
            fn json_schema() -> ::serde_json::Value {
                ::serde_json::json!({"enum": [$($word),*]})
            }
        }
    };
}

pub(crate) use {json_object, json_words};

/// The schema of an object with these keys, all of which are always there, and no others.
pub fn object<const N: usize>(about: &str, keys: [(&str, Value); N]) -> Value {
    let required = keys.each_ref().map(|(key, _)| *key).to_vec();
    let properties = keys.map(|(key, schema)| (key.to_owned(), schema));
    let mut schema = json!({
        "type": "object", "additionalProperties": false, "required": required, "properties": Map::from_iter(properties),
    });
    describe(&mut schema, about);
    schema
}

/// The schema of a key's value: its type's, with what the key means, and what else limits it (null lifts a limit).
pub fn key<T: JsonSchema>(about: &str, limits: Value) -> Value {
    let mut schema = T::json_schema();
    if let (Value::Object(schema), Value::Object(limits)) = (&mut schema, limits) {
        schema.retain(|key, _| !matches!(key.as_str(), "$schema" | "$id" | "title"));
        schema.extend(limits);
        schema.retain(|_, limit| !limit.is_null());
    }
    describe(&mut schema, about);
    schema
}

/// The schema of a whole output.
pub fn document(mut schema: Value, id: &str, title: &str) -> Value {
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!(id);
    schema["title"] = json!(title);
    schema["properties"]["schema"] = json!({"const": id});
    if let Value::Array(required) = &mut schema["required"] {
        required.insert(0, json!("schema"));
    }
    schema
}

fn describe(schema: &mut Value, about: &str) {
    if !about.is_empty() {
        schema["description"] = json!(about.trim());
    }
}

/// … or null.
fn or_null(mut schema: Value) -> Value {
    if let Some(name) = schema.get("type").cloned() {
        schema["type"] = json!([name, "null"]);
    }
    if let Some(Value::Array(words)) = schema.get_mut("enum") {
        words.push(Value::Null);
    }
    schema
}

macro_rules! json_types {
    ($($type:ty => $schema:tt),* $(,)?) => {
        $(impl JsonSchema for $type {
            fn json_schema() -> Value {
                json!($schema)
            }
        })*
    };
}

json_types! {
    bool => {"type": "boolean"},
    u32 => {"type": "integer", "minimum": 0},
    u64 => {"type": "integer", "minimum": 0},
    usize => {"type": "integer", "minimum": 0},
    i64 => {"type": "integer"},
    f64 => {"type": "number", "minimum": 0},
    str => {"type": "string"},
    String => {"type": "string"},
    Time => {"type": "string", "format": "date-time"},
    ContainerId => {"type": "string", "pattern": "^[0-9a-f]{12,64}$"},
    PodUid => {"type": "string"},
}

impl<T: JsonSchema + ?Sized> JsonSchema for &T {
    fn json_schema() -> Value {
        T::json_schema()
    }
}

impl<T: JsonSchema> JsonSchema for Option<T> {
    fn json_schema() -> Value {
        or_null(T::json_schema())
    }
}

impl<T: JsonSchema> JsonSchema for [T] {
    fn json_schema() -> Value {
        json!({"type": "array", "items": T::json_schema()})
    }
}

impl<T: JsonSchema> JsonSchema for Vec<T> {
    fn json_schema() -> Value {
        <[T]>::json_schema()
    }
}

impl<K, T: JsonSchema> JsonSchema for BTreeMap<K, T> {
    fn json_schema() -> Value {
        json!({"type": "object", "additionalProperties": T::json_schema()})
    }
}

impl Serialize for ContainerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for PodUid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Point {
        x: Option<u64>,
        word: &'static str,
    }

    json_object! {
        /// A point
        Point as it, document "x/1", "Points" {
            /// Across
            x: Option<u64> => {"minimum": 1},
            kind: &str = it.word => {"enum": ["a", "b"]},
            after: f64 = 0.5 => {"minimum": null},
        }
    }

    #[test]
    fn an_object_prints_its_keys_in_order_and_its_schema_allows_no_other() {
        let point = Point { x: None, word: "a" };
        assert_eq!(
            serde_json::to_string(&point).unwrap(),
            r#"{"schema":"x/1","x":null,"kind":"a","after":0.5}"#
        );
        assert_eq!(
            Point::json_schema(),
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "x/1", "title": "Points",
                "description": "A point", "type": "object", "additionalProperties": false,
                "required": ["schema", "x", "kind", "after"],
                "properties": {
                    "schema": {"const": "x/1"},
                    "x": {"type": ["integer", "null"], "minimum": 1, "description": "Across"},
                    "kind": {"type": "string", "enum": ["a", "b"]},
                    "after": {"type": "number"},
                },
            })
        );
        // Within another one it is no document of its own.
        let inner = key::<Option<Point>>("Where", json!({}));
        assert_eq!(inner["description"], "Where");
        assert_eq!(inner["type"], json!(["object", "null"]));
        assert_eq!((inner.get("$id"), inner.get("title")), (None, None));
    }
}
