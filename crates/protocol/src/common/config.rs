//! Configuration schemas: a subset of JSON Schema with display hints.

use indexmap::IndexMap;

use crate::outcome::Outcome;
use crate::wire::{Json, Object, Wire};

/// The schema of a configuration property.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ConfigPropertySchema {
    /// Type of the value: `string`, `number`, `boolean`, `array`, `object` …
    pub r#type: String,
    /// Label of the property.
    pub title: String,
    /// Explanation of the property.
    pub description: Option<String>,
    /// Value that is used if none is given.
    pub default: Option<Json>,
    /// Permitted values of the property.
    pub r#enum: Option<Vec<Json>>,
    /// Labels of the values of `enum`, in the same order.
    pub enum_labels: Option<Vec<String>>,
    /// Explanations of the values of `enum`, in the same order.
    pub enum_descriptions: Option<Vec<String>>,
    /// `true` if clients show the value, but users can't change it.
    pub read_only: Option<bool>,
    /// Schema of the items of an array.
    pub items: Option<Box<ConfigPropertySchema>>,
    /// Minimum number of items of an array.
    pub min_items: Option<u64>,
    /// Maximum number of items of an array.
    pub max_items: Option<u64>,
    /// Properties of an object, in display order.
    pub properties: Option<IndexMap<String, ConfigPropertySchema>>,
    /// Required properties of an object.
    pub required: Option<Vec<String>>,
    /// Schema of additional properties of an object.
    pub additional_properties: Option<Box<ConfigPropertySchema>>,
}

impl ConfigPropertySchema {
    /// Creates a schema with only a type and a label.
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

/// The schema of a configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ConfigSchema {
    /// Always the string `object`.
    pub r#type: String,
    /// Properties by key, in display order.
    pub properties: IndexMap<String, ConfigPropertySchema>,
    /// Keys that must have a value.
    pub required: Option<Vec<String>>,
}

/// The schema of a configuration property of a session.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigPropertySchema {
    /// Fields that all configuration properties share.
    #[wire(flatten)]
    pub property: ConfigPropertySchema,
    /// `true` if the values are too many for `enum` and are listed by
    /// `sessionConfigCompletions`.
    pub enum_dynamic: Option<bool>,
    /// `true` if the value can be changed after the creation of the session (CFG-6).
    pub session_mutable: Option<bool>,
}

/// The schema of a session configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct SessionConfigSchema {
    /// Always the string `object`.
    pub r#type: String,
    /// Properties by key, in display order.
    pub properties: IndexMap<String, SessionConfigPropertySchema>,
    /// Keys that must have a value.
    pub required: Option<Vec<String>>,
}

/// Merges or replaces configuration values. Returns [`Outcome::NoOp`] if there is no
/// configuration.
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
