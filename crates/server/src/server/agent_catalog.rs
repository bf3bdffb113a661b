//! The catalog of agents that the host offers to clients, and its replacement while the host
//! runs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use agenthost_agents::{Agent, AgentSupervisor};
use agenthost_core::AgentCatalog;
use agenthost_customizations::{CustomizationSettings, configured_customizations};
use tokio::sync::mpsc;

use crate::config::ServerConfig;
use crate::connection::message::LoopEvent;
use crate::workers::customization::PACKAGES_DIR;

/// Builds the catalog from the agents of the supervisor and the customizations that are
/// configured.
#[derive(Debug, Clone)]
pub(crate) struct CatalogBuilder {
    customizations: Option<CustomizationSettings>,
    packages: PathBuf,
}

impl CatalogBuilder {
    pub(crate) fn new(config: &ServerConfig) -> Self {
        let customizations = config.customizations.as_ref();
        CatalogBuilder {
            customizations: customizations.map(|customizations| customizations.settings.clone()),
            packages: config.data_directory.join(PACKAGES_DIR),
        }
    }

    pub(crate) fn build(&self, agents: &AgentSupervisor) -> AgentCatalog {
        let mut catalog = AgentCatalog {
            customizable: self.customizations.as_ref().map(|_| Default::default()),
            ..AgentCatalog::default()
        };
        for agent in agents.agents() {
            let mut info = agent.info();
            let provider = info.provider.clone();
            if let Some(schema) = agent.config_schema() {
                catalog.schemas.insert(provider.clone(), schema);
            }
            let forbidden = agent.forbidden_values();
            catalog.forbidden_values.insert(provider.clone(), forbidden);
            if agent.supports_steering() {
                catalog.steerable.insert(provider.clone());
            }
            if let (Some(customizable), true) = (&mut catalog.customizable, agent.is_customizable())
            {
                customizable.insert(provider.clone());
            }
            if let Some(settings) = &self.customizations {
                // The customizations that sessions of the agent will have.
                let all = configured_customizations(settings, &self.packages, &provider);
                info.customizations = (!all.is_empty()).then_some(all);
            }
            catalog.agents.push(info);
        }
        catalog
    }
}

/// All agents of a host, the default one first.
pub(crate) struct AgentList(pub(crate) Vec<Arc<dyn Agent>>);

impl fmt::Debug for AgentList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|agent| agent.info().provider);
        f.debug_list().entries(names).finish()
    }
}

/// Replaces the agents of a running host.
#[derive(Debug, Clone)]
pub struct AgentReplacer {
    events: mpsc::Sender<LoopEvent>,
}

impl AgentReplacer {
    pub(crate) fn new(events: mpsc::Sender<LoopEvent>) -> Self {
        AgentReplacer { events }
    }

    /// Replaces the agents for new sessions; a running agent goes on. An agent that is the same
    /// `Arc` as before counts as unchanged. Without effect if the host has stopped.
    pub async fn replace(&self, agents: Vec<Arc<dyn Agent>>) {
        let replaced = LoopEvent::AgentsReplaced(AgentList(agents));
        if self.events.send(replaced).await.is_err() {
            tracing::debug!("agents were not replaced: the host has stopped");
        }
    }
}
