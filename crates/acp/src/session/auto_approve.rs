//! Detects option values that let an agent do everything without approval.
//!
//! Agents have modes and options that disable all permission requests. Clients can't choose
//! such a value unless the operator of the host allows it: the host can't know the user of a
//! client, and the files do not belong to the client.

use agenthost_core::agent::ForbiddenValue;
use agenthost_protocol::common::{ConfigPropertySchema, SessionConfigSchema};
use agenthost_protocol::wire::{Json, Object};
use agenthost_stdx::text::truncate_chars;
use serde_json::json;

/// Parts of names that identify such values of unknown agents, in lower case without
/// separators.
const AUTO_APPROVE_NAMES: &[&str] = &[
    "allowall",
    "approveall",
    "autoapprove",
    "bypass",
    "dangerously",
    "fullaccess",
    "fullauto",
    "skippermissions",
    "trustall",
    "unrestricted",
    "yolo",
];

/// Phrases that identify such values also in descriptions.
const AUTO_APPROVE_PHRASES: &[&str] = &[
    "approveeverything",
    "approveseverything",
    "neverask",
    "skipallpermission",
    "skipsallpermission",
    "withoutasking",
    "withoutconfirm",
];

/// Values that switch on an option.
const ENABLED_VALUES: &[&str] = &["all", "always", "enabled", "on", "true", "yes"];

/// Properties that are never about approval, no matter how their values are named.
const EXEMPT_KEYS: &[&str] = &["model", "thought_level"];

/// The remark that is added to the description of such a value.
const ALLOWED_REMARK: &str = "the agent does everything without asking";
const FORBIDDEN_REMARK: &str =
    "the agent does everything without asking; the host does not allow it";

/// The policy for values that let an agent do everything without approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AutoApprovePolicy {
    /// Clients can't choose such values.
    #[default]
    Forbidden,
    /// Clients can choose such values: the operator of the host has allowed it.
    Allowed,
}

/// Rules that detect the values of an agent that disable approval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AutoApproveRules<'a> {
    /// The values that are known for this agent.
    pub(crate) known_values: &'a [String],
    pub(crate) policy: AutoApprovePolicy,
}

impl AutoApproveRules<'_> {
    /// Adds a remark to the description of each such value, and returns the forbidden values.
    pub(crate) fn annotate_schema(&self, schema: &mut SessionConfigSchema) -> Vec<ForbiddenValue> {
        let mut forbidden = Vec::new();
        let remark = match self.policy {
            AutoApprovePolicy::Forbidden => FORBIDDEN_REMARK,
            AutoApprovePolicy::Allowed => ALLOWED_REMARK,
        };
        for (key, property) in &mut schema.properties {
            let property = &mut property.property;
            let values = property.r#enum.clone();
            let values = values.unwrap_or_else(|| match property.r#type.as_str() {
                "boolean" => vec![json!(true)],
                _ => Vec::new(),
            });
            for (index, value) in values.into_iter().enumerate() {
                if !self.approves_everything(key, Some(property), &value) {
                    continue;
                }
                add_remark(property, index, remark);
                if self.policy == AutoApprovePolicy::Forbidden {
                    forbidden.push(self.forbidden_value(key, value));
                }
            }
        }
        forbidden
    }

    /// Returns the forbidden values that are known before the agent runs.
    pub(crate) fn known_forbidden(&self) -> Vec<ForbiddenValue> {
        if self.policy == AutoApprovePolicy::Allowed {
            return Vec::new();
        }
        let forbidden = self.known_values.iter().flat_map(|value| {
            [
                self.forbidden_value("mode", json!(value)),
                self.forbidden_value(value, json!(true)),
                self.forbidden_value(value, json!("on")),
            ]
        });
        forbidden.collect()
    }

    /// Removes forbidden values and returns them.
    pub(crate) fn remove_forbidden(
        &self,
        schema: &SessionConfigSchema,
        values: &mut Object,
    ) -> Vec<ForbiddenValue> {
        let mut removed = Vec::new();
        if self.policy == AutoApprovePolicy::Forbidden {
            values.retain(|key, value| {
                let property = schema.properties.get(key);
                let property = property.map(|property| &property.property);
                let approves = self.approves_everything(key, property, value);
                if approves {
                    removed.push(self.forbidden_value(key, value.clone()));
                }
                !approves
            });
        }
        removed
    }

    /// Returns `true` if a value lets the agent do everything without approval.
    fn approves_everything(
        &self,
        key: &str,
        property: Option<&ConfigPropertySchema>,
        value: &Json,
    ) -> bool {
        if EXEMPT_KEYS.contains(&key) {
            return false;
        }
        let title = property.map_or("", |property| property.title.as_str());
        let is_about_approval =
            self.is_known_value(key) || has_auto_approve_name(key) || has_auto_approve_name(title);
        match value {
            Json::Bool(is_enabled) => *is_enabled && is_about_approval,
            Json::String(value) => {
                let is_enabled = ENABLED_VALUES.contains(&value.to_lowercase().as_str());
                let labels = property.and_then(|property| property.enum_labels.as_ref());
                let label = property.and_then(|property| list_entry(property, labels, value));
                let description = property.and_then(|property| property.enum_descriptions.as_ref());
                let description =
                    property.and_then(|property| list_entry(property, description, value));
                self.is_known_value(value)
                    || has_auto_approve_name(value)
                    || label.is_some_and(has_auto_approve_name)
                    || description.is_some_and(has_auto_approve_phrase)
                    || is_enabled && is_about_approval
            }
            _ => false,
        }
    }

    fn is_known_value(&self, value: &str) -> bool {
        self.known_values
            .iter()
            .any(|known| normalize_letters(known) == normalize_letters(value))
    }

    fn forbidden_value(&self, key: &str, value: Json) -> ForbiddenValue {
        let shown_value = value.as_str().map(str::to_owned);
        let shown_value = truncate_chars(&shown_value.unwrap_or_else(|| value.to_string()), 60);
        let reason = format!(
            "`{shown_value}` lets the agent do everything without asking, and the host does not allow that\n\
             hint: set `allow_trusting = true` for this agent in the configuration of the host"
        );
        ForbiddenValue {
            key: key.to_owned(),
            value,
            reason,
        }
    }
}

/// Returns the entry of a list that runs parallel to the values of a property.
fn list_entry<'a>(
    property: &ConfigPropertySchema,
    list: Option<&'a Vec<String>>,
    value: &str,
) -> Option<&'a str> {
    let mut values = property.r#enum.iter().flatten();
    let index = values.position(|other| other.as_str() == Some(value))?;
    list?.get(index).map(String::as_str)
}

fn has_auto_approve_name(name: &str) -> bool {
    let letters = normalize_letters(name);
    let mut words = AUTO_APPROVE_NAMES.iter().chain(AUTO_APPROVE_PHRASES);
    words.any(|word| letters.contains(word))
}

fn has_auto_approve_phrase(description: &str) -> bool {
    let letters = normalize_letters(description);
    AUTO_APPROVE_PHRASES
        .iter()
        .any(|word| letters.contains(word))
}

fn normalize_letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Appends a remark to the description of a value, or of a boolean property.
fn add_remark(property: &mut ConfigPropertySchema, index: usize, remark: &str) {
    let append = |text: &mut String| {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(remark);
    };
    let Some(values) = &property.r#enum else {
        return append(property.description.get_or_insert_default());
    };
    let count = values.len();
    let descriptions = property.enum_descriptions.get_or_insert_default();
    descriptions.resize(count, String::new());
    if let Some(description) = descriptions.get_mut(index) {
        append(description);
    }
    let labels = property.enum_labels.as_mut();
    if let Some(label) = labels.and_then(|labels| labels.get_mut(index)) {
        label.push_str(" ⚠");
    }
}

#[cfg(test)]
#[path = "auto_approve_tests.rs"]
mod tests;
