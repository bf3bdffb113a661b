//! The models that agents offer to clients.
//!
//! Clients such as VS Code let nobody choose an agent without models, and choose
//! the first by name where nobody chose. So every agent has a placeholder that
//! leaves the choice to the agent, before its own models are known and after.

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

/// The property that lists an agent's models among what can be configured.
const MODEL_PROPERTY: &str = "model";

/// The id of the placeholder: whichever model the agent uses by itself.
const PLACEHOLDER_ID: &str = "default";

/// What the placeholder is called. It comes before the names of most models,
/// and clients that sort by name choose it by default.
const PLACEHOLDER_NAME: &str = "Agent default";

/// Gives every agent at least one model. Those that an agent has told of since
/// it was configured are remembered in the host's own state.
pub(crate) fn offer_models(agents: &mut [AgentInfo], stored_root: Option<&RootState>) {
    for agent in agents {
        let known = stored_root.into_iter().flat_map(|root| &root.agents);
        let known = known.filter(|known| known.provider == agent.provider);
        let known = known.flat_map(|known| known.models.clone());
        let models: Vec<_> = match agent.models.is_empty() {
            true => known.collect(),
            false => std::mem::take(&mut agent.models),
        };
        agent.models = with_placeholder(&agent.provider, models);
    }
}

/// Removes the placeholder from a message. It may be chosen at any time: a
/// client may not have heard yet that the models are known.
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

/// Removes the choice of a model from what can be configured about a session:
/// each message can choose one.
pub(crate) fn drop_model_property(schema: &mut SessionConfigSchema) {
    schema.properties.shift_remove(MODEL_PROPERTY);
}

impl Host {
    /// Offers what an agent lists as its models.
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
        let mut agents = self.config.agents.iter_mut();
        let agent = agents.find(|agent| agent.provider == *provider);
        let Some(agent) = agent.filter(|agent| agent.models != models) else {
            return;
        };
        agent.models = models;
        let agents = self.config.agents.clone();
        let changed = RootAction::AgentsChanged(AgentsChanged { agents });
        self.originate(&RootChannel.into(), changed, out);
    }
}

/// Models with the placeholder before them, unless one has its id.
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
