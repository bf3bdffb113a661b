//! Text that is either plain or Markdown.

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire;
use crate::wire::{DecodeError, FieldShape, Node, Shape, Wire};

/// Text for the user: a JSON string is plain, `{"markdown": "…"}` may be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MaybeMarkdown {
    /// Text that is shown verbatim.
    Plain(String),
    /// Text that is rendered as Markdown.
    Markdown(String),
}

impl MaybeMarkdown {
    /// Returns the source text of either variant.
    pub fn as_str(&self) -> &str {
        match self {
            MaybeMarkdown::Plain(text) | MaybeMarkdown::Markdown(text) => text,
        }
    }
}

impl Default for MaybeMarkdown {
    fn default() -> Self {
        MaybeMarkdown::Plain(String::new())
    }
}

impl From<&str> for MaybeMarkdown {
    fn from(text: &str) -> Self {
        MaybeMarkdown::Plain(text.to_owned())
    }
}

impl From<String> for MaybeMarkdown {
    fn from(text: String) -> Self {
        MaybeMarkdown::Plain(text)
    }
}

impl Wire for MaybeMarkdown {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        if node.is_text() {
            return node.text().map(|text| MaybeMarkdown::Plain(text.into()));
        }
        if !node.is_object() {
            return Err(DecodeError::expected("a string or an object", node));
        }
        node.tag("markdown")
            .map(|text| MaybeMarkdown::Markdown(text.into()))
    }

    fn shape() -> Shape {
        Shape::Either(vec![String::shape, || Shape::Object {
            name: "Markdown",
            fields: vec![FieldShape::of::<String>("markdown")],
        }])
    }
}

impl Serialize for MaybeMarkdown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MaybeMarkdown::Plain(text) => serializer.serialize_str(text),
            MaybeMarkdown::Markdown(text) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("markdown", text)?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for MaybeMarkdown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        wire::deserialize(deserializer)
    }
}
