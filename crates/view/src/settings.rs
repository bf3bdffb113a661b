//! The settings of a host as a form.
//!
//! The host publishes their schema, and clients change the values.

use agenthost_protocol::common::ConfigPropertySchema;
use agenthost_protocol::root::RootConfigState;
use agenthost_protocol::wire::Json;
use serde::Serialize;

use crate::visible_text::{visible_label, visible_text};

/// Maximum number of settings in the form.
const MAX_FIELDS: usize = 200;

/// Maximum number of values of a choice.
const MAX_OPTIONS: usize = 500;

/// Maximum number of entries of a list or a map.
const MAX_ENTRIES: usize = 2_000;

/// Maximum size of the value of a setting as JSON, in bytes. Larger values are not editable.
const MAX_VALUE_BYTES: usize = 256_000;

/// Maximum length of a label, in characters.
const MAX_LABEL_CHARS: usize = 120;

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1_000;

/// The settings of a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingsForm {
    /// Settings in the order of the schema.
    pub fields: Vec<SettingField>,
    /// Number of settings beyond the limit of the form.
    pub omitted: usize,
}

/// A setting of a host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingField {
    /// Key of the setting.
    pub key: String,
    /// Label of the setting.
    pub label: String,
    /// Explanation of the setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Type of the value.
    pub kind: SettingKind,
    /// Type of the items of a list or of the values of a map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_kind: Option<SettingKind>,
    /// Permitted values, also of the items of a list.
    pub options: Vec<SettingOption>,
    /// Value, or else the default, as it is. Absent for lists, maps and values above the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// The value as text that has no invisible characters.
    pub text: String,
    /// Entries of a list or a map.
    pub entries: Vec<SettingEntry>,
    /// The default as text, if the value differs from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_text: Option<String>,
    /// `true` if the host does not let clients change the value, or the value is too large.
    pub read_only: bool,
    /// `true` if the value cannot be shown as a whole.
    pub truncated: bool,
}

/// An entry of a list or a map.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SettingEntry {
    /// Key of the entry of a map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The item of a list, or the value in a map.
    pub value: Json,
    /// The entry as text that has no invisible characters.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SettingOption {
    pub value: Json,
    /// Display name of the value.
    pub label: String,
    /// Explanation of the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// The type of a setting, which decides how it is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SettingKind {
    Boolean,
    /// One of the permitted values.
    Choice,
    Text,
    Number,
    /// A number without a fraction.
    Integer,
    /// A list of values that are neither lists nor objects.
    List,
    /// Values by key that are neither lists nor objects.
    Map,
    /// Anything else, edited as JSON.
    Json,
}

impl SettingKind {
    fn of_schema(schema: &ConfigPropertySchema) -> Self {
        let is_simple = |schema: &Option<Box<ConfigPropertySchema>>| {
            let kind = schema.as_deref().map(SettingKind::of_schema);
            kind.is_some_and(SettingKind::is_scalar)
        };
        if schema.r#enum.is_some() {
            return SettingKind::Choice;
        }
        match schema.r#type.as_str() {
            "boolean" => SettingKind::Boolean,
            "string" => SettingKind::Text,
            "number" => SettingKind::Number,
            "integer" => SettingKind::Integer,
            "array" if is_simple(&schema.items) => SettingKind::List,
            "object" if schema.properties.is_none() && is_simple(&schema.additional_properties) => {
                SettingKind::Map
            }
            _ => SettingKind::Json,
        }
    }

    fn is_scalar(self) -> bool {
        match self {
            SettingKind::Boolean
            | SettingKind::Choice
            | SettingKind::Text
            | SettingKind::Number
            | SettingKind::Integer => true,
            SettingKind::List | SettingKind::Map | SettingKind::Json => false,
        }
    }
}

impl SettingsForm {
    pub fn compute(config: &RootConfigState) -> Self {
        let properties = config.schema.properties.iter();
        let fields = properties.take(MAX_FIELDS).map(|(key, schema)| {
            let chosen = config.values.get(key);
            SettingField::compute(key, schema, chosen)
        });
        SettingsForm {
            fields: fields.collect(),
            omitted: config.schema.properties.len().saturating_sub(MAX_FIELDS),
        }
    }
}

impl SettingField {
    fn compute(key: &str, schema: &ConfigPropertySchema, chosen: Option<&Json>) -> Self {
        let value = chosen.or(schema.default.as_ref());
        let mut kind = SettingKind::of_schema(schema);
        if value.is_some_and(|value| !fits(kind, value)) {
            kind = SettingKind::Json;
        }
        let inner = match kind {
            SettingKind::List => schema.items.as_deref(),
            SettingKind::Map => schema.additional_properties.as_deref(),
            SettingKind::Boolean
            | SettingKind::Choice
            | SettingKind::Text
            | SettingKind::Number
            | SettingKind::Integer
            | SettingKind::Json => None,
        };
        let entries = value.map_or_else(Vec::new, |value| entries_of(kind, value));
        let count = value.map_or(0, entry_count);
        let too_many = inner.is_some() && count > entries.len();
        let too_large = value.is_some_and(|value| value.to_string().len() > MAX_VALUE_BYTES);
        let differs = chosen.is_some() && chosen != schema.default.as_ref();
        let default = schema.default.as_ref().filter(|_| differs);
        let options = options_of(inner.unwrap_or(schema));
        let labelled = |value: &Json| {
            let mut options = options.iter();
            let option = options.find(|option| option.value == *value);
            option.map_or_else(|| text_of(kind, value), |option| option.label.clone())
        };
        SettingField {
            key: key.to_owned(),
            label: visible_label(&schema.title, MAX_LABEL_CHARS),
            description: description_of(schema.description.as_deref()),
            kind,
            item_kind: inner.map(SettingKind::of_schema),
            text: match (inner, too_large) {
                (None, false) => value.map(&labelled).unwrap_or_default(),
                (Some(_), _) | (None, true) => String::new(),
            },
            default_text: default.map(&labelled),
            value: value.filter(|_| inner.is_none() && !too_large).cloned(),
            entries: if too_large { Vec::new() } else { entries },
            read_only: schema.read_only == Some(true) || too_large || too_many,
            truncated: too_large || too_many,
            options,
        }
    }
}

/// Returns `true` if a value can be edited as this type. A value can be older than the schema.
fn fits(kind: SettingKind, value: &Json) -> bool {
    match kind {
        SettingKind::Boolean => value.is_boolean(),
        SettingKind::Text => value.is_string(),
        SettingKind::Number | SettingKind::Integer => value.is_number(),
        SettingKind::List => value.is_array(),
        SettingKind::Map => value.is_object(),
        SettingKind::Choice | SettingKind::Json => true,
    }
}

fn entry_count(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.len(),
        Json::Object(entries) => entries.len(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
    }
}

fn entries_of(kind: SettingKind, value: &Json) -> Vec<SettingEntry> {
    let text = |value: &Json| text_of(SettingKind::Text, value);
    match (kind, value) {
        (SettingKind::List, Json::Array(items)) => {
            let entries = items.iter().take(MAX_ENTRIES).map(|item| SettingEntry {
                name: None,
                value: item.clone(),
                text: text(item),
            });
            entries.collect()
        }
        (SettingKind::Map, Json::Object(map)) => {
            let entries = map.iter().take(MAX_ENTRIES).map(|(name, value)| {
                let label = visible_label(name, MAX_LABEL_CHARS);
                SettingEntry {
                    name: Some(name.clone()),
                    value: value.clone(),
                    text: format!("{label}: {}", text(value)),
                }
            });
            entries.collect()
        }
        _ => Vec::new(),
    }
}

fn text_of(kind: SettingKind, value: &Json) -> String {
    match value {
        Json::String(text) if kind != SettingKind::Json => visible_text(text),
        other if kind == SettingKind::Json => visible_text(&format!("{other:#}")),
        other => visible_text(&other.to_string()),
    }
}

fn description_of(text: Option<&str>) -> Option<String> {
    let text = text.filter(|text| !text.is_empty())?;
    Some(visible_label(text, MAX_DESCRIPTION_CHARS))
}

fn options_of(schema: &ConfigPropertySchema) -> Vec<SettingOption> {
    let labels = schema.enum_labels.as_deref().unwrap_or_default();
    let descriptions = schema.enum_descriptions.as_deref().unwrap_or_default();
    let values = schema.r#enum.iter().flatten().take(MAX_OPTIONS).enumerate();
    let options = values.map(|(index, value)| SettingOption {
        value: value.clone(),
        label: match labels.get(index) {
            Some(label) => visible_label(label, MAX_LABEL_CHARS),
            None => visible_label(&text_of(SettingKind::Text, value), MAX_LABEL_CHARS),
        },
        description: description_of(descriptions.get(index).map(String::as_str)),
    });
    options.collect()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
