//! Union variants that this version does not define.

use serde::ser::SerializeMap;

use super::encode::EncodeFields;
use super::{Json, Node, Object};

/// An object of an unknown kind, retained unchanged so that it can be forwarded (FWD-1).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Unknown(Box<Object>);

impl Unknown {
    /// Wraps an object without validation.
    pub fn new(object: Object) -> Self {
        Unknown(Box::new(object))
    }

    /// Returns a field, if its value is a string.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.0.get(field).and_then(Json::as_str)
    }

    /// Returns all fields of the object.
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
