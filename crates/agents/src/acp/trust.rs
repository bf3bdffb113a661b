//! Values that let an agent do everything without asking.
//!
//! Agents have modes and options that switch all questions off. Nobody gets
//! to choose one unless whoever runs the host said so: a client could be
//! anybody, and the files are not the client's.

use agenthost_core::agent::ForbiddenValue;
use agenthost_protocol::common::{ConfigPropertySchema, SessionConfigSchema};
use agenthost_protocol::wire::{Json, Object};
use serde_json::json;

/// Words that say so in the names of agents that nobody knows, without what is
/// between the letters.
const TELLING: &[&str] = &[
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

/// Words that say so in sentences, too.
const SAYING: &[&str] = &[
    "approveeverything",
    "approveseverything",
    "neverask",
    "skipallpermission",
    "skipsallpermission",
    "withoutasking",
    "withoutconfirm",
];

/// Values that switch on what an option is called after.
const ON: &[&str] = &["all", "always", "enabled", "on", "true", "yes"];

/// Properties that are never about permission, whatever their values are called.
const HARMLESS: &[&str] = &["model", "thought_level"];

/// What is said of such a value where it can be chosen.
const ALLOWED: &str = "everything is done without asking";
const REFUSED: &str = "everything is done without asking; the host does not allow it";

/// Whether agents may be told to do everything without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Trust {
    /// They may not.
    #[default]
    Refused,
    /// They may: whoever runs the host said so.
    Allowed,
}

/// Which values of an agent let it do everything.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trusting<'a> {
    /// What is known of the agent.
    pub(crate) known: &'a [String],
    pub(crate) trust: Trust,
}

impl Trusting<'_> {
    /// Says of each such value what it does, and lists those that nobody may
    /// choose.
    pub(crate) fn mark(&self, schema: &mut SessionConfigSchema) -> Vec<ForbiddenValue> {
        let mut forbidden = Vec::new();
        let remark = match self.trust {
            Trust::Refused => REFUSED,
            Trust::Allowed => ALLOWED,
        };
        for (key, property) in &mut schema.properties {
            let property = &mut property.property;
            let offered = property.r#enum.clone();
            let offered = offered.unwrap_or_else(|| match property.r#type.as_str() {
                "boolean" => vec![json!(true)],
                _ => Vec::new(),
            });
            for (index, value) in offered.into_iter().enumerate() {
                if !self.grants_all(key, Some(property), &value) {
                    continue;
                }
                remark_on(property, index, remark);
                if self.trust == Trust::Refused {
                    forbidden.push(self.forbid(key, value));
                }
            }
        }
        forbidden
    }

    /// What nobody may choose, as far as that is known before the agent runs.
    pub(crate) fn known_forbidden(&self) -> Vec<ForbiddenValue> {
        if self.trust == Trust::Allowed {
            return Vec::new();
        }
        let known = self.known.iter().flat_map(|word| {
            [
                self.forbid("mode", json!(word)),
                self.forbid(word, json!(true)),
                self.forbid(word, json!("on")),
            ]
        });
        known.collect()
    }

    /// Takes out what nobody may choose, and says what that was.
    pub(crate) fn withhold(
        &self,
        schema: &SessionConfigSchema,
        values: &mut Object,
    ) -> Vec<ForbiddenValue> {
        let mut withheld = Vec::new();
        if self.trust == Trust::Refused {
            values.retain(|key, value| {
                let property = schema.properties.get(key);
                let property = property.map(|property| &property.property);
                let grants = self.grants_all(key, property, value);
                if grants {
                    withheld.push(self.forbid(key, value.clone()));
                }
                !grants
            });
        }
        withheld
    }

    /// Whether a value lets the agent do everything without asking.
    fn grants_all(&self, key: &str, property: Option<&ConfigPropertySchema>, value: &Json) -> bool {
        if HARMLESS.contains(&key) {
            return false;
        }
        let title = property.map_or("", |property| property.title.as_str());
        let about = self.is_known(key) || tells(key) || tells(title);
        match value {
            Json::Bool(on) => *on && about,
            Json::String(value) => {
                let on = ON.contains(&value.to_lowercase().as_str());
                let labels = property.and_then(|property| property.enum_labels.as_ref());
                let label = property.and_then(|property| said_of(property, labels, value));
                let words = property.and_then(|property| property.enum_descriptions.as_ref());
                let words = property.and_then(|property| said_of(property, words, value));
                self.is_known(value)
                    || tells(value)
                    || label.is_some_and(tells)
                    || words.is_some_and(says)
                    || on && about
            }
            _ => false,
        }
    }

    fn is_known(&self, word: &str) -> bool {
        self.known
            .iter()
            .any(|known| letters(known) == letters(word))
    }

    fn forbid(&self, key: &str, value: Json) -> ForbiddenValue {
        let shown = value.as_str().map(str::to_owned);
        let shown: String = shown
            .unwrap_or_else(|| value.to_string())
            .chars()
            .take(60)
            .collect();
        let reason = format!(
            "`{shown}` lets the agent do everything without asking, and the host does not allow that\n\
             hint: `allow_trusting = true` for this agent in the configuration of the host"
        );
        ForbiddenValue {
            key: key.to_owned(),
            value,
            reason,
        }
    }
}

/// What stands for a value in a list beside the values.
fn said_of<'a>(
    property: &ConfigPropertySchema,
    list: Option<&'a Vec<String>>,
    value: &str,
) -> Option<&'a str> {
    let mut values = property.r#enum.iter().flatten();
    let index = values.position(|other| other.as_str() == Some(value))?;
    list?.get(index).map(String::as_str)
}

fn tells(name: &str) -> bool {
    let letters = letters(name);
    let mut words = TELLING.iter().chain(SAYING);
    words.any(|word| letters.contains(word))
}

fn says(description: &str) -> bool {
    let letters = letters(description);
    SAYING.iter().any(|word| letters.contains(word))
}

fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Adds a remark to what is said of a value, or of a property that is on or
/// off.
fn remark_on(property: &mut ConfigPropertySchema, index: usize, remark: &str) {
    let add = |text: &mut String| {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(remark);
    };
    let Some(values) = &property.r#enum else {
        return add(property.description.get_or_insert_default());
    };
    let count = values.len();
    let meanings = property.enum_descriptions.get_or_insert_default();
    meanings.resize(count, String::new());
    if let Some(meaning) = meanings.get_mut(index) {
        add(meaning);
    }
    let labels = property.enum_labels.as_mut();
    if let Some(label) = labels.and_then(|labels| labels.get_mut(index)) {
        label.push_str(" ⚠");
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
