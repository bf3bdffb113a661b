//! A variant that this version does not know.

use serde::ser::SerializeMap;

use super::encode::EncodeFields;
use super::{Json, Node, Object};

/// An object of a kind that a newer peer introduced, kept as it came so that
/// it can be passed on whole (FWD-1).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unknown(Box<Object>);

impl Unknown {
    /// Keeps an object as it is.
    pub fn new(object: Object) -> Self {
        Unknown(Box::new(object))
    }

    /// One of its fields, if that is a string.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Json::as_str)
    }

    /// All of its fields.
    pub fn fields(&self) -> &Object {
        &self.0
    }
}

impl From<Node<'_>> for Unknown {
    fn from(node: Node<'_>) -> Self {
        Unknown::new(node.to_object())
    }
}

impl EncodeFields for Unknown {
    fn encode_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        for (key, value) in self.0.iter() {
            map.serialize_entry(key, value)?;
        }
        Ok(())
    }
}
