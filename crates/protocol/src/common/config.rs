//! Configuration as data: a JSON Schema with hints for display.

use indexmap::IndexMap;

use crate::outcome::Outcome;
use crate::wire::{Json, Object, Wire};

/// One configurable property.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ConfigPropertySchema {
    /// `string`, `number`, `boolean`, `array`, `object` …
    pub r#type: String,
    /// Label.
    pub title: String,
    /// Explanation.
    pub description: Option<String>,
    /// Value if none is given.
    pub default: Option<Json>,
    /// The values allowed.
    pub r#enum: Option<Vec<Json>>,
    /// A label for each value of `enum`, in its order.
    pub enum_labels: Option<Vec<String>>,
    /// An explanation for each value of `enum`, in its order.
    pub enum_descriptions: Option<Vec<String>>,
    /// Shown, but not for the user to change.
    pub read_only: Option<bool>,
    /// What an array holds.
    pub items: Option<Box<ConfigPropertySchema>>,
    /// Fewest items of an array.
    pub min_items: Option<u64>,
    /// Most items of an array.
    pub max_items: Option<u64>,
    /// Properties of an object, in the order they are shown.
    pub properties: Option<IndexMap<String, ConfigPropertySchema>>,
    /// Properties that an object must have.
    pub required: Option<Vec<String>>,
    /// What further properties of an object look like.
    pub additional_properties: Option<Box<ConfigPropertySchema>>,
}

impl ConfigPropertySchema {
    /// Something that can be configured, with nothing said about it yet.
    pub fn new(kind: impl Into<String>, title: impl Into<String>) -> Self {
        ConfigPropertySchema {
            r#type: kind.into(),
            title: title.into(),
            description: None,
            default: None,
            r#enum: None,
            enum_labels: None,
            enum_descriptions: None,
            read_only: None,
            items: None,
            min_items: None,
            max_items: None,
            properties: None,
            required: None,
            additional_properties: None,
        }
    }
}

/// All properties of a configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ConfigSchema {
    /// Always `object`.
    pub r#type: String,
    /// The properties by their keys, in the order they are shown.
    pub properties: IndexMap<String, ConfigPropertySchema>,
    /// Keys that must have a value.
    pub required: Option<Vec<String>>,
}

/// One configurable property of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigPropertySchema {
    /// What every property has.
    #[wire(flatten)]
    pub property: ConfigPropertySchema,
    /// There are too many values to list: ask `sessionConfigCompletions`.
    pub enum_dynamic: Option<bool>,
    /// May be changed while the session lives (CFG-6).
    pub session_mutable: Option<bool>,
}

/// All properties of a session's configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigSchema {
    /// Always `object`.
    pub r#type: String,
    /// The properties by their keys, in the order they are shown.
    pub properties: IndexMap<String, SessionConfigPropertySchema>,
    /// Keys that must have a value.
    pub required: Option<Vec<String>>,
}

/// Merges or replaces configuration values, if there is a configuration.
pub(crate) fn change_config(
    values: Option<&mut Object>,
    changes: &Object,
    replace: Option<bool>,
) -> Outcome {
    let Some(values) = values else {
        return Outcome::NoOp;
    };
    if replace == Some(true) {
        values.clone_from(changes);
    } else {
        values.extend(changes.clone());
    }
    Outcome::Applied
}
