//! Models and the choice of one.

use indexmap::IndexMap;

use super::{ConfigSchema, Meta};
use crate::ids::{ModelId, ProviderId};
use crate::uri::Uri;
use crate::wire::{Json, Wire};

/// Whether a policy allows a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Wire)]
pub enum PolicyState {
    /// Allowed.
    Enabled,
    /// Not allowed.
    Disabled,
    /// Nobody has decided.
    Unconfigured,
}

/// A model that an agent offers.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ModelInfo {
    /// Identifier to select it by.
    pub id: ModelId,
    /// The agent that offers it.
    pub provider: ProviderId,
    /// Name for people.
    pub name: String,
    /// Size of its context, in tokens.
    pub max_context_window: Option<u64>,
    /// Longest answer, in tokens.
    pub max_output_tokens: Option<u64>,
    /// Longest prompt, in tokens.
    pub max_prompt_tokens: Option<u64>,
    /// Whether it sees images.
    pub supports_vision: Option<bool>,
    /// Whether a policy allows it.
    pub policy_state: Option<PolicyState>,
    /// Options of its own, such as how long it thinks.
    pub config_schema: Option<ConfigSchema>,
    /// Free data, for example prices.
    pub meta: Option<Meta>,
}

/// A chosen model with its options.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ModelSelection {
    /// The model.
    pub id: ModelId,
    /// Values for its `configSchema`.
    pub config: Option<IndexMap<String, Json>>,
}

/// A chosen custom agent.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentSelection {
    /// The `uri` of an agent customization.
    pub uri: Uri,
}
