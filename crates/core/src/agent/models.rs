//! Publishes the models of agents to clients.
//!
//! Clients such as VS Code do not offer an agent without models, and preselect the model
//! whose name sorts first. So every agent has a placeholder model that leaves the choice to
//! the agent, both before and after its own models are known.

use std::sync::Arc;

use agenthost_protocol::chat::Message;
use agenthost_protocol::common::{ModelInfo, SessionConfigSchema};
use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::{AgentInfo, AgentsChanged, RootAction, RootState};
use agenthost_protocol::session::SessionConfigValue;
use agenthost_protocol::uri::RootChannel;

use crate::host::Host;
use crate::host::effect::Effects;
use crate::session::config::enum_choices;

/// The configuration property that lists the models of an agent.
const MODEL_PROPERTY: &str = "model";

/// Id of the placeholder: the default model of the agent.
const PLACEHOLDER_ID: &str = "default";

/// Name of the placeholder. It sorts before the names of most models, so clients that sort
/// by name preselect it.
const PLACEHOLDER_NAME: &str = "Agent default";

/// Gives every agent at least one model. An agent that is configured without models keeps
/// those that it reported in an earlier run, from the stored root state.
pub(crate) fn offer_models(agents: &mut [AgentInfo], stored_root: Option<&RootState>) {
    for agent in agents {
        let known = stored_root.into_iter().flat_map(|root| &root.agents);
        let known = known.filter(|known| known.provider == agent.provider);
        let known = known.flat_map(|known| known.models.clone());
        let models: Vec<_> = if agent.models.is_empty() {
            known.collect()
        } else {
            std::mem::take(&mut agent.models)
        };
        agent.models = with_placeholder(&agent.provider, models);
    }
}

/// Removes the placeholder from a message. A client may select it at any time, also before
/// it has received the list of the agent's models.
pub(crate) fn drop_placeholder(agent: Option<&AgentInfo>, message: &mut Arc<Message>) {
    let chosen = message.model.as_ref().map(|model| model.id.as_str());
    if chosen != Some(PLACEHOLDER_ID) {
        return;
    }
    let own = agent.is_some_and(|agent| {
        let mut models = agent.models.iter();
        models.any(|model| model.id.as_str() == PLACEHOLDER_ID && !is_placeholder(model))
    });
    if !own {
        Arc::make_mut(message).model = None;
    }
}

/// Removes the model from the configuration schema of a session: each message selects its
/// own.
pub(crate) fn drop_model_property(schema: &mut SessionConfigSchema) {
    schema.properties.shift_remove(MODEL_PROPERTY);
}

impl Host {
    /// Publishes the models that an agent lists in its configuration schema.
    pub(crate) fn update_models(
        &mut self,
        provider: &ProviderId,
        schema: &SessionConfigSchema,
        out: &mut Effects,
    ) {
        let property = schema.properties.get(MODEL_PROPERTY);
        let listed = property.into_iter();
        let listed = listed.flat_map(|property| enum_choices(&property.property));
        let models: Vec<_> = listed
            .map(|choice| new_model_info(provider, choice))
            .collect();
        if models.is_empty() {
            return;
        }
        let models = with_placeholder(provider, models);
        let mut agents = self.config.catalog.agents.iter_mut();
        let agent = agents.find(|agent| agent.provider == *provider);
        let Some(agent) = agent.filter(|agent| agent.models != models) else {
            return;
        };
        agent.models = models;
        let agents = self.config.catalog.agents.clone();
        let changed = RootAction::AgentsChanged(AgentsChanged { agents });
        self.originate(&RootChannel.into(), changed, out);
    }
}

/// Inserts the placeholder in front of the models, unless one of them has its id.
fn with_placeholder(provider: &ProviderId, mut models: Vec<ModelInfo>) -> Vec<ModelInfo> {
    if !models
        .iter()
        .any(|model| model.id.as_str() == PLACEHOLDER_ID)
    {
        let choice = SessionConfigValue {
            value: PLACEHOLDER_ID.to_owned(),
            label: PLACEHOLDER_NAME.to_owned(),
            description: None,
        };
        models.insert(0, new_model_info(provider, choice));
    }
    models
}

fn is_placeholder(model: &ModelInfo) -> bool {
    model.id.as_str() == PLACEHOLDER_ID && model.name == PLACEHOLDER_NAME
}

fn new_model_info(provider: &ProviderId, choice: SessionConfigValue) -> ModelInfo {
    ModelInfo {
        id: choice.value.as_str().into(),
        provider: provider.clone(),
        name: choice.label,
        max_context_window: None,
        max_output_tokens: None,
        max_prompt_tokens: None,
        supports_vision: None,
        policy_state: None,
        config_schema: None,
        meta: None,
    }
}
