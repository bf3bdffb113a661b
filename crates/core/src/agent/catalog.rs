//! Replaces the agents of the host while it runs.

use std::collections::BTreeSet;

use agenthost_protocol::ids::ProviderId;
use agenthost_protocol::root::AgentInfo;
use agenthost_protocol::wire::Json;

use crate::agent::content::{clean_agents, clean_schema};
use crate::agent::models::offer_models;
use crate::host::Host;
use crate::host::config::AgentCatalog;
use crate::host::effect::Effects;
use crate::host::effect::audit::{AuditActor, AuditKind, MAX_AUDIT_ITEMS, audit_details};

impl Host {
    /// Replaces the agents and publishes the new list (ROOT-3). A session goes on with the agent
    /// that it runs with. Agents that are not in `changed` keep what they reported so far:
    /// schema, models and forbidden values.
    pub(crate) fn replace_agents(
        &mut self,
        mut catalog: AgentCatalog,
        changed: &BTreeSet<ProviderId>,
        out: &mut Effects,
    ) {
        let names = changed.iter().take(MAX_AUDIT_ITEMS);
        let names: Vec<_> = names.map(|name| Json::from(name.as_str())).collect();
        let details = audit_details([("changed", Some(Json::from(names)))]);
        out.audit(AuditKind::AgentsChanged, AuditActor::Host, None, details);
        clean_agents(&mut catalog.agents);
        catalog.schemas.values_mut().for_each(clean_schema);
        let before = &mut self.config.catalog;
        for agent in &mut catalog.agents {
            let provider = &agent.provider;
            // The options of a changed agent are probably the same. If not, it reports the new
            // ones when it runs.
            if let Some(schema) = before.schemas.remove(provider) {
                catalog.schemas.insert(provider.clone(), schema);
            }
            if !changed.contains(provider)
                && let Some(forbidden) = before.forbidden_values.remove(provider)
            {
                catalog.forbidden_values.insert(provider.clone(), forbidden);
            }
            let mut known = before.agents.iter();
            if let Some(known) = known.find(|known| known.provider == *provider) {
                copy_read_customizations(known, agent);
            }
        }
        offer_models(&mut catalog.agents, self.root());
        self.config.catalog = catalog;
        self.publish_agent_list(out);
        self.refresh_settings_schema(out);
    }
}

/// Copies containers that were read already. They are read once for each host.
fn copy_read_customizations(known: &AgentInfo, agent: &mut AgentInfo) {
    for shown in agent.customizations.iter_mut().flatten() {
        let mut read = known.customizations.iter().flatten();
        if let Some(read) = read.find(|read| read.id() == shown.id()) {
            *shown = read.clone();
        }
    }
}
