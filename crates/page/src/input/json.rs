//! Untyped JSON in inputs. The `Deserialize` implementation of `serde_json` handles raw values,
//! for which it needs its whole parser.

use std::fmt;

use agenthost_protocol::wire::{Json, Object};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Decodes any JSON value.
pub(super) fn read_json<'de, D: Deserializer<'de>>(input: D) -> Result<Json, D::Error> {
    InputJson::deserialize(input).map(|json| json.0)
}

/// Decodes any JSON object.
pub(super) fn read_object<'de, D: Deserializer<'de>>(input: D) -> Result<Object, D::Error> {
    match read_json(input)? {
        Json::Object(object) => Ok(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            Err(D::Error::custom("expected an object"))
        }
    }
}

struct InputJson(Json);

impl<'de> Deserialize<'de> for InputJson {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(JsonVisitor).map(InputJson)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut values = Vec::new();
        while let Some(InputJson(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Json::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Object::new();
        while let Some((key, InputJson(value))) = entries.next_entry()? {
            object.insert(key, value);
        }
        Ok(Json::Object(object))
    }
}
