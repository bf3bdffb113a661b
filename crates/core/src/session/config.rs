//! The configuration of sessions: schemas, values and completions.

use agenthost_protocol::common::{ConfigPropertySchema, SessionConfigSchema};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::session::{
    ResolveSessionConfigParams, ResolveSessionConfigResult, SessionAction, SessionConfigChanged,
    SessionConfigCompletionsParams, SessionConfigCompletionsResult, SessionConfigState,
    SessionConfigValue, SessionState,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::agent::models;
use crate::connection::quirks::ClientQuirks;
use crate::host::Host;
use crate::host::effect::{Effects, ResponseBody};
use crate::host::error::RequestFailure;
use crate::session::worktree;
use crate::tools::permissions;

/// Maximum number of properties that an agent can publish, which bounds the state of every
/// session.
const MAX_CONFIG_PROPERTIES: usize = 200;

impl Host {
    /// Handles the configuration schema of an agent. No action changes the schema of an
    /// existing session, so that session only gets the values that its schema contains, and
    /// `sessionConfigCompletions` returns the current choices. New sessions get the complete
    /// schema.
    pub(crate) fn update_config_schema(
        &mut self,
        session: &Uri,
        mut schema: SessionConfigSchema,
        values: Object,
        out: &mut Effects,
    ) {
        let Some(state) = self.session(session) else {
            return;
        };
        let provider = state.metadata.provider.clone();
        let current = values.clone();
        let changed = state.config.as_ref().and_then(|config| {
            let theirs = self.config.catalog.schemas.get(&provider);
            let theirs =
                |key: &String| theirs.is_some_and(|schema| schema.properties.contains_key(key));
            diff_config_values(config, theirs, values)
        });
        schema.properties.truncate(MAX_CONFIG_PROPERTIES);
        let before = self.config.catalog.schemas.get(&provider);
        add_defaults(&mut schema, before, &current);
        self.update_models(&provider, &schema, out);
        let is_new = self.config.catalog.schemas.get(&provider) != Some(&schema);
        self.config.catalog.schemas.insert(provider.clone(), schema);
        if is_new {
            self.store_agent_options(&provider, out);
        }
        if let Some(changed) = changed {
            self.originate(session, SessionAction::ConfigChanged(changed), out);
        }
    }

    /// Returns the schema and the resulting values (CFG-1, CFG-3). Invalid values are omitted,
    /// not refused, because the user is still choosing.
    pub(crate) fn resolve_config(
        &self,
        params: &ResolveSessionConfigParams,
    ) -> Result<ResponseBody, RequestFailure> {
        let schema = self
            .session_config_schema(params.provider.as_ref(), params.working_directory.as_ref())?;
        let provider = &self.find_agent(params.provider.as_ref())?.provider;
        let given = params.config.clone().unwrap_or_default();
        let values = with_defaults(&schema, self.retain_valid_values(provider, &schema, given));
        let result = ResolveSessionConfigResult { schema, values };
        Ok(ResponseBody::ResolveSessionConfig(Box::new(result)))
    }

    /// Returns the values that the schema contains and that may be chosen.
    pub(crate) fn retain_valid_values(
        &self,
        provider: &ProviderId,
        schema: &SessionConfigSchema,
        given: Object,
    ) -> Object {
        let fits = |(key, value): &(String, Json)| {
            let property = schema.properties.get(key);
            let allowed = self.forbidden_reason(provider, key, value).is_none();
            allowed
                && property.is_some_and(|property| check_value(&property.property, value).is_ok())
        };
        given.into_iter().filter(fits).collect()
    }

    /// Returns the listed values of a property that match the typed text (CFG-4, CFG-5).
    pub(crate) fn config_completions(
        &self,
        params: &SessionConfigCompletionsParams,
    ) -> Result<ResponseBody, RequestFailure> {
        let schema = self
            .session_config_schema(params.provider.as_ref(), params.working_directory.as_ref())?;
        let Some(property) = schema.properties.get(&params.property) else {
            let reason = format!(
                "property: there is no `{}`",
                truncate_value(&params.property)
            );
            return Err(RequestFailure::InvalidParams(reason));
        };
        let query = params.query.as_deref().unwrap_or_default().to_lowercase();
        let items = enum_choices(&property.property)
            .filter(|choice| {
                let texts = [&choice.value, &choice.label];
                texts
                    .iter()
                    .any(|text| text.to_lowercase().contains(&query))
            })
            .collect();
        let result = SessionConfigCompletionsResult { items };
        Ok(ResponseBody::SessionConfigCompletions(result))
    }

    /// Returns the schema and the values of a new session (SES-10, CFG-7).
    pub(crate) fn initial_config(
        &self,
        provider: &ProviderId,
        directory: Option<&Uri>,
        given: Option<Object>,
        quirks: ClientQuirks,
    ) -> Result<(SessionConfigSchema, Object), RequestFailure> {
        let schema = self.session_config_schema(Some(provider), directory)?;
        let mut given = given.unwrap_or_default();
        if quirks.unknown_config {
            given = self.retain_valid_values(provider, &schema, given);
        }
        for (key, value) in &given {
            let forbidden = self.forbidden_reason(provider, key, value);
            let problem = match (schema.properties.get(key), forbidden) {
                (None, _) => Err(ConfigValueError::UnknownProperty),
                (Some(_), Some(reason)) => Err(ConfigValueError::Forbidden(reason.to_owned())),
                (Some(property), None) => check_value(&property.property, value),
            };
            problem.map_err(|problem| {
                RequestFailure::InvalidParams(format!("config.{}: {problem}", truncate_value(key)))
            })?;
        }
        let values = with_defaults(&schema, given);
        let mut required = schema.required.iter().flatten();
        if let Some(missing) = required.find(|key| !values.contains_key(*key)) {
            let reason = format!("config.{missing}: needs a value");
            return Err(RequestFailure::InvalidParams(reason));
        }
        Ok((schema, values))
    }

    /// Returns the values that belong to the schema of the agent.
    pub(crate) fn agent_config_values(&self, session: &SessionState) -> Option<Object> {
        let schema = self
            .config
            .catalog
            .schemas
            .get(&session.metadata.provider)?;
        let values = session.config.as_ref()?.values.iter();
        let its = values.filter(|(key, _)| schema.properties.contains_key(*key));
        Some(
            its.map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        )
    }

    /// Returns the schema of the agent, extended by permissions and, if there is a folder, by
    /// isolation.
    fn session_config_schema(
        &self,
        provider: Option<&ProviderId>,
        directory: Option<&Uri>,
    ) -> Result<SessionConfigSchema, RequestFailure> {
        let agent = self.find_agent(provider)?;
        let schema = self.config.catalog.schemas.get(&agent.provider).cloned();
        let mut schema = schema.unwrap_or_else(|| SessionConfigSchema {
            r#type: "object".to_owned(),
            properties: Default::default(),
            required: None,
        });
        models::drop_model_property(&mut schema);
        permissions::add_permission_schema(&mut schema);
        if directory.is_some() {
            worktree::add_isolation_schema(&mut schema);
        }
        Ok(schema)
    }
}

/// Adds missing defaults: the values that the agent had in its first run. Clients show defaults
/// before a session has values.
fn add_defaults(
    schema: &mut SessionConfigSchema,
    before: Option<&SessionConfigSchema>,
    current: &Object,
) {
    for (key, property) in &mut schema.properties {
        let property = &mut property.property;
        if property.default.is_some() {
            continue;
        }
        let known = before.and_then(|schema| schema.properties.get(key));
        let known = known.and_then(|known| known.property.default.clone());
        let known = known.filter(|value| check_value(property, value).is_ok());
        property.default = known.or_else(|| current.get(key).cloned());
    }
}

/// Returns the change of the session's values after its agent has reported its own. Values that
/// the agent no longer has are removed.
fn diff_config_values(
    config: &SessionConfigState,
    is_of_agent: impl Fn(&String) -> bool,
    values: Object,
) -> Option<SessionConfigChanged> {
    let gone = |key: &String| is_of_agent(key) && !values.contains_key(key);
    let kept = config.values.iter().filter(|(key, _)| !gone(key));
    let mut kept: Object = kept
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let replace = (kept.len() < config.values.len()).then_some(true);
    let changed = values.into_iter().filter(|(key, value)| {
        config.schema.properties.contains_key(key) && config.values.get(key) != Some(value)
    });
    let changed: Object = changed.collect();
    if changed.is_empty() && replace.is_none() {
        return None;
    }
    let config = match replace {
        Some(_) => {
            kept.extend(changed);
            kept
        }
        None => changed,
    };
    Some(SessionConfigChanged { config, replace })
}

/// Returns the listed values of a property with their labels.
pub(crate) fn enum_choices(
    schema: &ConfigPropertySchema,
) -> impl Iterator<Item = SessionConfigValue> {
    let values = schema.r#enum.iter().flatten();
    values.enumerate().filter_map(|(index, value)| {
        let value = value.as_str()?.to_owned();
        let at = |texts: &Option<Vec<String>>| texts.as_ref()?.get(index).cloned();
        Some(SessionConfigValue {
            label: at(&schema.enum_labels).unwrap_or_else(|| value.clone()),
            description: at(&schema.enum_descriptions),
            value,
        })
    })
}

pub(crate) fn with_defaults(schema: &SessionConfigSchema, mut values: Object) -> Object {
    for (key, property) in &schema.properties {
        if let (false, Some(default)) = (values.contains_key(key), &property.property.default) {
            values.insert(key.clone(), default.clone());
        }
    }
    values
}

/// The reason why a value of a configuration or a setting is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ConfigValueError {
    /// The value has another type.
    #[error("expected a value of type {0}")]
    WrongType(String),
    /// The value is not one of the listed values.
    #[error("expected one of the values that are offered")]
    NotOffered,
    /// The array is too long or too short.
    #[error("wrong number of items")]
    WrongItemCount,
    /// The configuration has no such property.
    #[error("there is no such property")]
    UnknownProperty,
    /// The agent forbids the value, for this reason.
    #[error("{0}")]
    Forbidden(String),
    /// The host has no such setting.
    #[error("there is no such setting")]
    UnknownSetting,
    /// A timeout must be a whole number.
    #[error("expected a whole number of seconds")]
    NotWholeSeconds,
    /// The URI in a setting does not name a folder.
    #[error(transparent)]
    InvalidFolder(RequestFailure),
}

/// Checks a value against the schema of its property.
pub(crate) fn check_value(
    schema: &ConfigPropertySchema,
    value: &Json,
) -> Result<(), ConfigValueError> {
    let fits = match schema.r#type.as_str() {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // The type is from a newer release, so the value can't be checked.
        _ => true,
    };
    if !fits {
        return Err(ConfigValueError::WrongType(schema.r#type.clone()));
    }
    if let Some(choices) = &schema.r#enum
        && !choices.contains(value)
    {
        return Err(ConfigValueError::NotOffered);
    }
    if let Some(items) = value.as_array() {
        let count = items.len() as u64;
        let few = schema.min_items.is_some_and(|min| count < min);
        let many = schema.max_items.is_some_and(|max| count > max);
        if few || many {
            return Err(ConfigValueError::WrongItemCount);
        }
        for item in items {
            schema
                .items
                .as_ref()
                .map_or(Ok(()), |schema| check_value(schema, item))?;
        }
    }
    if let (Some(object), Some(properties)) = (value.as_object(), &schema.properties) {
        for (key, value) in object {
            let schema = properties
                .get(key)
                .or(schema.additional_properties.as_deref());
            schema.map_or(Ok(()), |schema| check_value(schema, value))?;
        }
    }
    Ok(())
}

fn truncate_value(text: &str) -> String {
    text.chars().take(60).collect()
}
