//! Stores the configuration options that agents reported at run time.
//!
//! After a restart they are available before the agent runs. Without them a client could
//! not select a mode, or any other option, for its first session.

use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::ids::ProviderId;

use crate::agent::ForbiddenValue;
use crate::host::Host;
use crate::host::config::HostConfig;
use crate::host::effect::{Effects, StoreWrite};

/// The configuration schema of an agent's sessions, and the values that must not be
/// selected.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOptions {
    /// The properties that sessions of the agent have.
    pub schema: SessionConfigSchema,
    /// Values that must not be selected.
    pub forbidden: Vec<ForbiddenValue>,
}

/// Restores the stored options of the configured agents. Values that the host's
/// configuration forbids stay forbidden.
pub(crate) fn restore_agent_options(
    config: &mut HostConfig,
    stored: Vec<(ProviderId, AgentOptions)>,
) {
    for (provider, options) in stored {
        let mut agents = config.catalog.agents.iter();
        if !agents.any(|agent| agent.provider == provider) {
            continue;
        }
        config
            .catalog
            .schemas
            .insert(provider.clone(), options.schema);
        let forbidden = config.catalog.forbidden_values.entry(provider).or_default();
        for value in options.forbidden {
            if !forbidden.contains(&value) {
                forbidden.push(value);
            }
        }
    }
}

impl Host {
    /// Stores the current options of an agent.
    pub(crate) fn store_agent_options(&self, provider: &ProviderId, out: &mut Effects) {
        let Some(schema) = self.config.catalog.schemas.get(provider) else {
            return;
        };
        let forbidden = self.config.catalog.forbidden_values.get(provider);
        let options = AgentOptions {
            schema: schema.clone(),
            forbidden: forbidden.cloned().unwrap_or_default(),
        };
        out.write(StoreWrite::AgentOptions(
            provider.clone(),
            Box::new(options),
        ));
    }
}
