//! Converts configuration values and model options, which are strings in 0.4 where a property
//! has an `enum`.

use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::common::{ConfigPropertySchema, ModelSelection};
use agenthost_protocol::uri::{RootChannel, Uri};
use agenthost_protocol::wire::{Json, Object};

use crate::edit::{object_mut, text_field};
use crate::state_source::TranslationContext;

/// Converts the options of a selected model to strings.
pub(super) fn stringify_model_options(model: &mut Object) {
    for (_, value) in object_mut(model, "config").into_iter().flatten() {
        stringify_value(value);
    }
}

/// Converts the `enum` and default of a property to strings.
pub(super) fn stringify_choices(property: &mut Object) {
    let Some(Json::Array(choices)) = property.get_mut("enum") else {
        return;
    };
    choices.iter_mut().for_each(stringify_value);
    if let Some(default) = property.get_mut("default") {
        stringify_value(default);
    }
}

/// Converts the values of properties with an `enum` to strings. The `enum` itself is already
/// converted.
pub(super) fn stringify_values(config: &mut Object) {
    let schema = config
        .get("schema")
        .and_then(|schema| schema.get("properties"));
    let properties = schema.and_then(Json::as_object).cloned();
    let Some(properties) = properties else {
        return;
    };
    for (key, value) in object_mut(config, "values").into_iter().flatten() {
        let property = properties.get(key.as_str());
        if property.is_some_and(|property| property.get("enum").is_some()) {
            stringify_value(value);
        }
    }
}

/// Converts changed values of properties with an `enum` to strings.
pub(super) fn stringify_changes(
    context: &TranslationContext<'_>,
    channel: &Uri,
    action: &mut Object,
) {
    for (key, value) in object_mut(action, "config").into_iter().flatten() {
        if config_property(context, channel, key).is_some_and(|property| property.r#enum.is_some())
        {
            stringify_value(value);
        }
    }
}

/// Converts changed strings back to the typed values of the `enum`.
pub(super) fn parse_changes(context: &TranslationContext<'_>, channel: &Uri, action: &mut Object) {
    for (key, value) in object_mut(action, "config").into_iter().flatten() {
        if let Some(property) = config_property(context, channel, key)
            && let Some(choice) = match_choice(&property, value)
        {
            *value = choice;
        }
    }
}

/// Converts model options back to typed values: according to the current value if it is equal,
/// otherwise according to the schema of the model.
pub(super) fn parse_model_options(
    context: &TranslationContext<'_>,
    current: Option<&ModelSelection>,
    model: &mut Object,
) {
    let id = text_field(model, "id").unwrap_or_default().to_owned();
    let current = current.filter(|current| current.id.as_str() == id);
    let current = current.and_then(|current| current.config.as_ref());
    for (key, value) in object_mut(model, "config").into_iter().flatten() {
        let known = current.and_then(|config| config.get(key.as_str()));
        let same = known.filter(|known| {
            value
                .as_str()
                .is_some_and(|text| stringifies_to(known, text))
        });
        let read = same.cloned().or_else(|| {
            let property = model_option(context, &id, key)?;
            match_choice(&property, value).or_else(|| parse_typed(&property, value))
        });
        if let Some(read) = read {
            *value = read;
        }
    }
}

fn stringify_value(value: &mut Json) {
    if !value.is_string() {
        *value = Json::String(value.to_string());
    }
}

fn match_choice(property: &ConfigPropertySchema, value: &Json) -> Option<Json> {
    let text = value.as_str()?;
    let mut choices = property.r#enum.iter().flatten();
    choices.find(|choice| stringifies_to(choice, text)).cloned()
}

fn stringifies_to(value: &Json, text: &str) -> bool {
    let mut value = value.clone();
    stringify_value(&mut value);
    value.as_str() == Some(text)
}

fn parse_typed(property: &ConfigPropertySchema, value: &Json) -> Option<Json> {
    let text = value.as_str()?;
    match property.r#type.as_str() {
        "number" | "integer" | "boolean" => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Returns the schema of a configuration property of a channel.
fn config_property(
    context: &TranslationContext<'_>,
    channel: &Uri,
    key: &str,
) -> Option<ConfigPropertySchema> {
    match context.states.state(channel)? {
        ChannelState::Session(session) => {
            let schema = &session.config.as_ref()?.schema;
            let property = schema.properties.get(key)?;
            Some(property.property.clone())
        }
        ChannelState::Root(root) => {
            let schema = &root.config.as_ref()?.schema;
            schema.properties.get(key).cloned()
        }
        ChannelState::Chat(_)
        | ChannelState::Terminal(_)
        | ChannelState::Changeset(_)
        | ChannelState::ResourceWatch(_)
        | ChannelState::Canvas(_)
        | ChannelState::AutomationRun(_)
        | ChannelState::Annotations(_)
        | ChannelState::Automations(_) => None,
    }
}

/// Returns the schema of an option of a model.
fn model_option(
    context: &TranslationContext<'_>,
    model: &str,
    key: &str,
) -> Option<ConfigPropertySchema> {
    let Some(ChannelState::Root(root)) = context.states.state(&Uri::from(RootChannel)) else {
        return None;
    };
    let mut models = root.agents.iter().flat_map(|agent| &agent.models);
    let model = models.find(|other| other.id.as_str() == model)?;
    let schema = model.config_schema.as_ref()?;
    schema.properties.get(key).cloned()
}
