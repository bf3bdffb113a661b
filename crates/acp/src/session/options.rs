//! The modes, models and options of an agent session.
//!
//! Agents report them in three encodings, which this module unifies. The first option about
//! modes gets the key `mode`, and the first about models the key `model`, no matter how the
//! agent names them, so that clients find them under the same key with every agent.

use agenthost_protocol::common::{
    ConfigPropertySchema, SessionConfigPropertySchema, SessionConfigSchema,
};
use agenthost_protocol::wire::Object;
use serde_json::{Value, json};

use crate::transport::schema::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOptions,
};

/// The key of the mode option.
const MODE_KEY: &str = "mode";

/// The key of the model option.
pub(crate) const MODEL_KEY: &str = "model";

/// The key of the agent session that a new session of the host imports.
pub(crate) const AGENT_SESSION_KEY: &str = "agentSession";

/// The options of an agent session with their current values.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SessionOptions(Vec<OptionChoice>);

#[derive(Debug, Clone, PartialEq)]
struct OptionChoice {
    key: String,
    method: OptionMethod,
    property: ConfigPropertySchema,
    value: Value,
    /// The last value that was sent to the agent, until its response arrives.
    pending: Option<Value>,
}

/// The request that changes an option.
#[derive(Debug, Clone, PartialEq)]
enum OptionMethod {
    /// The config option with this id.
    Option(String),
    /// The legacy request for modes.
    Mode,
    /// The legacy request for models.
    Model,
}

impl SessionOptions {
    /// Reads the options from the response that opened a session.
    pub(crate) fn parse(session: &Value) -> Self {
        let mut options = SessionOptions::default();
        if let Some(listed) = session.get("configOptions") {
            options.replace(listed);
        }
        let legacy_options = [
            (
                MODE_KEY,
                OptionMethod::Mode,
                "modes",
                "currentModeId",
                "availableModes",
                "id",
            ),
            (
                MODEL_KEY,
                OptionMethod::Model,
                "models",
                "currentModelId",
                "availableModels",
                "modelId",
            ),
        ];
        for (key, method, field, current, available, id) in legacy_options {
            let Some(listing) = session.get(field).filter(|_| !options.has_option(key)) else {
                continue;
            };
            let listed = listing.get(available).and_then(Value::as_array);
            let values = listed.into_iter().flatten().filter_map(|item| {
                let text = |key: &str| item.get(key)?.as_str().map(str::to_owned);
                let value = text(id)?;
                Some((
                    value.clone(),
                    text("name").unwrap_or(value),
                    text("description"),
                ))
            });
            let title = if key == MODE_KEY { "Mode" } else { "Model" };
            options.0.push(OptionChoice {
                key: key.to_owned(),
                method,
                property: select_property(title.to_owned(), None, values.collect()),
                value: listing.get(current).cloned().unwrap_or_default(),
                pending: None,
            });
        }
        options
    }

    /// Replaces all config options. Legacy modes and models stay, unless an option has the same
    /// key.
    pub(crate) fn replace(&mut self, listed: &Value) {
        let listed = listed.as_array().into_iter().flatten();
        let listed = listed.filter_map(|option| {
            serde_json::from_value::<SessionConfigOption>(option.clone()).ok()
        });
        let mut replaced = SessionOptions::default();
        for option in listed {
            let key = match &option.category {
                Some(SessionConfigOptionCategory::Mode) if !replaced.has_option(MODE_KEY) => {
                    MODE_KEY.to_owned()
                }
                Some(SessionConfigOptionCategory::Model) if !replaced.has_option(MODEL_KEY) => {
                    MODEL_KEY.to_owned()
                }
                _ => option.id.to_string(),
            };
            let Some(choice) =
                parse_choice(key, option).filter(|choice| !replaced.has_option(&choice.key))
            else {
                continue;
            };
            replaced.0.push(choice);
        }
        let legacy = std::mem::take(&mut self.0).into_iter();
        let legacy = legacy.filter(|choice| !matches!(choice.method, OptionMethod::Option(_)));
        let legacy: Vec<_> = legacy
            .filter(|choice| !replaced.has_option(&choice.key))
            .collect();
        replaced.0.extend(legacy);
        *self = replaced;
    }

    /// Records that the agent switched to another mode.
    pub(crate) fn set_mode(&mut self, mode: &str) {
        self.set(MODE_KEY, &json!(mode));
    }

    /// Records that a new value was sent to the agent.
    pub(crate) fn mark_pending(&mut self, key: &str, value: &Value) {
        if let Some(choice) = self.0.iter_mut().find(|choice| choice.key == key) {
            choice.pending = Some(value.clone());
        }
    }

    /// Records that the agent has answered a request, with a result or an error.
    pub(crate) fn mark_settled(&mut self, key: &str, value: &Value) {
        if let Some(choice) = self.0.iter_mut().find(|choice| choice.key == key) {
            choice.pending.take_if(|pending| pending == value);
        }
    }

    /// Sets the current value of an option.
    pub(crate) fn set(&mut self, key: &str, value: &Value) {
        if let Some(choice) = self.0.iter_mut().find(|choice| choice.key == key) {
            choice.value.clone_from(value);
        }
    }

    /// Returns the method and parameters of the request that changes an option; `None` if there
    /// is nothing to change, or if the value is not listed.
    pub(crate) fn change_request(
        &self,
        session: &str,
        key: &str,
        value: &Value,
    ) -> Option<(&'static str, Value)> {
        let choice = self.0.iter().find(|choice| choice.key == key)?;
        let listed = choice.property.r#enum.as_ref();
        // Agents may accept models that they do not list.
        let is_unlisted = listed.is_some_and(|listed| key != MODEL_KEY && !listed.contains(value));
        let latest = choice.pending.as_ref().unwrap_or(&choice.value);
        if latest == value || is_unlisted {
            return None;
        }
        Some(match &choice.method {
            OptionMethod::Option(id) => {
                let mut params = json!({"sessionId": session, "configId": id, "value": value});
                if let (Value::Bool(_), Some(params)) = (value, params.as_object_mut()) {
                    params.insert("type".to_owned(), json!("boolean"));
                }
                ("session/set_config_option", params)
            }
            OptionMethod::Mode => {
                let params = json!({"sessionId": session, "modeId": value});
                ("session/set_mode", params)
            }
            OptionMethod::Model => {
                let params = json!({"sessionId": session, "modelId": value});
                ("session/set_model", params)
            }
        })
    }

    /// Returns the model with this id or label, and the current model.
    pub(crate) fn find_model(&self, name: &str) -> Option<(Value, Value)> {
        let choice = self.0.iter().find(|choice| choice.key == MODEL_KEY)?;
        let listed = choice.property.r#enum.iter().flatten();
        let labels = choice.property.enum_labels.iter().flatten();
        let mut models = listed.zip(labels);
        let same = |text: &str| text.eq_ignore_ascii_case(name);
        let found = models.find(|(value, label)| value.as_str().is_some_and(same) || same(label));
        found.map(|(value, _)| (value.clone(), choice.value.clone()))
    }

    /// Returns the schema of all options.
    pub(crate) fn schema(&self) -> SessionConfigSchema {
        let mut schema = placeholder_schema();
        for choice in &self.0 {
            let property = SessionConfigPropertySchema {
                property: choice.property.clone(),
                enum_dynamic: None,
                session_mutable: Some(true),
            };
            schema.properties.insert(choice.key.clone(), property);
        }
        let has = |key: &str| self.has_option(key);
        schema
            .properties
            .retain(|key, _| key == AGENT_SESSION_KEY || has(key));
        schema
    }

    /// Returns the current values of all options.
    pub(crate) fn values(&self) -> Object {
        let values = self.0.iter();
        let values = values.map(|choice| (choice.key.clone(), choice.value.clone()));
        values.collect()
    }

    /// Returns `true` if the session has no options.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has_option(&self, key: &str) -> bool {
        self.0.iter().any(|choice| choice.key == key)
    }
}

/// Returns the schema before the agent has reported its options. It announces a mode and a
/// model without their values, which only the agent knows.
pub(crate) fn placeholder_schema() -> SessionConfigSchema {
    let keys = [(MODE_KEY, "Mode"), (MODEL_KEY, "Model")];
    let properties = keys.map(|(key, title)| {
        let property = SessionConfigPropertySchema {
            property: property("string", title.to_owned(), None),
            enum_dynamic: Some(true),
            session_mutable: Some(true),
        };
        (key.to_owned(), property)
    });
    SessionConfigSchema {
        r#type: "object".to_owned(),
        properties: properties
            .into_iter()
            .chain([agent_session_property()])
            .collect(),
        required: None,
    }
}

/// Returns the property that lets a new session continue an existing agent session.
fn agent_session_property() -> (String, SessionConfigPropertySchema) {
    let description = "The id of an existing agent session to continue";
    let property = property(
        "string",
        "Agent session".to_owned(),
        Some(description.to_owned()),
    );
    let property = SessionConfigPropertySchema {
        property,
        enum_dynamic: None,
        session_mutable: Some(false),
    };
    (AGENT_SESSION_KEY.to_owned(), property)
}

fn parse_choice(key: String, option: SessionConfigOption) -> Option<OptionChoice> {
    let (property, value) = match option.kind {
        SessionConfigKind::Select(chosen) => {
            let listed = match chosen.options {
                SessionConfigSelectOptions::Ungrouped(listed) => listed,
                SessionConfigSelectOptions::Grouped(groups) => {
                    groups.into_iter().flat_map(|group| group.options).collect()
                }
                _ => return None,
            };
            let values = listed.into_iter();
            let values = values.map(|item| (item.value.to_string(), item.name, item.description));
            let property = select_property(option.name, option.description, values.collect());
            (property, json!(chosen.current_value))
        }
        SessionConfigKind::Boolean(chosen) => {
            let property = property("boolean", option.name, option.description);
            (property, json!(chosen.current_value))
        }
        _ => return None,
    };
    Some(OptionChoice {
        key,
        method: OptionMethod::Option(option.id.to_string()),
        pending: None,
        property,
        value,
    })
}

/// Returns a property that selects one of several values, each with a label and an optional
/// description.
fn select_property(
    title: String,
    description: Option<String>,
    values: Vec<(String, String, Option<String>)>,
) -> ConfigPropertySchema {
    let has_descriptions = values
        .iter()
        .any(|(_, _, description)| description.is_some());
    let descriptions = values.iter();
    let descriptions =
        descriptions.map(|(_, _, description)| description.clone().unwrap_or_default());
    ConfigPropertySchema {
        r#enum: Some(values.iter().map(|(value, _, _)| json!(value)).collect()),
        enum_labels: Some(values.iter().map(|(_, label, _)| label.clone()).collect()),
        enum_descriptions: has_descriptions.then(|| descriptions.collect()),
        ..property("string", title, description)
    }
}

fn property(kind: &str, title: String, description: Option<String>) -> ConfigPropertySchema {
    ConfigPropertySchema {
        description,
        ..ConfigPropertySchema::new(kind, title)
    }
}
