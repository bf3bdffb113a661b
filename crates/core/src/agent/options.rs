//! What agents were found to offer when they ran.
//!
//! It is known again after a restart, before the agent runs: otherwise a client
//! could choose neither a mode nor anything else for the first session.

use agenthost_protocol::common::SessionConfigSchema;
use agenthost_protocol::ids::ProviderId;

use crate::agent::ForbiddenValue;
use crate::host::Host;
use crate::host::config::HostConfig;
use crate::host::effect::{Effects, StoreWrite};

/// What can be configured about the sessions of an agent, and what may not be
/// chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentOptions {
    /// The properties.
    pub schema: SessionConfigSchema,
    /// Values that nobody may choose.
    pub forbidden: Vec<ForbiddenValue>,
}

/// Offers what agents offered before. What the host was configured to forbid
/// stays forbidden.
pub(crate) fn restore_agent_options(
    config: &mut HostConfig,
    stored: Vec<(ProviderId, AgentOptions)>,
) {
    for (provider, options) in stored {
        let mut agents = config.agents.iter();
        if !agents.any(|agent| agent.provider == provider) {
            continue;
        }
        config.schemas.insert(provider.clone(), options.schema);
        let forbidden = config.forbidden_values.entry(provider).or_default();
        for value in options.forbidden {
            if !forbidden.contains(&value) {
                forbidden.push(value);
            }
        }
    }
}

impl Host {
    /// Remembers what an agent offers now.
    pub(crate) fn store_agent_options(&self, provider: &ProviderId, out: &mut Effects) {
        let Some(schema) = self.config.schemas.get(provider) else {
            return;
        };
        let forbidden = self.config.forbidden_values.get(provider);
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
