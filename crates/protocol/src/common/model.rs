//! Models, and the selection of a model or custom agent.

use indexmap::IndexMap;

use super::{ConfigSchema, Meta};
use crate::ids::{ModelId, ProviderId};
use crate::uri::Uri;
use crate::wire::{Json, Wire};

/// The decision of a policy about a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum PolicyState {
    /// The policy permits the model.
    Enabled,
    /// The policy forbids the model.
    Disabled,
    /// The policy has no decision about the model.
    Unconfigured,
}

/// A model that an agent offers.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ModelInfo {
    /// Id with which the model is selected.
    pub id: ModelId,
    /// Agent that offers the model.
    pub provider: ProviderId,
    /// Display name for the user interface.
    pub name: String,
    /// Size of the context window, in tokens.
    pub max_context_window: Option<u64>,
    /// Maximum length of a response, in tokens.
    pub max_output_tokens: Option<u64>,
    /// Maximum length of a prompt, in tokens.
    pub max_prompt_tokens: Option<u64>,
    /// `true` if the model accepts images.
    pub supports_vision: Option<bool>,
    /// Decision of the policy about the model.
    pub policy_state: Option<PolicyState>,
    /// Schema of the model's options, such as the reasoning effort.
    pub config_schema: Option<ConfigSchema>,
    /// Extension data, for example prices.
    pub meta: Option<Meta>,
}

/// A selected model with its options.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ModelSelection {
    /// Id of the model.
    pub id: ModelId,
    /// Values for the `configSchema` of the model.
    pub config: Option<IndexMap<String, Json>>,
}

/// A selected custom agent.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentSelection {
    /// The `uri` of an agent customization.
    pub uri: Uri,
}
