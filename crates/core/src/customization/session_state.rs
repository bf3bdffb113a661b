//! Data about the customizations of sessions that is not part of the protocol state.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::LoadState;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::agent::SlashCommand;
use crate::customization::driver::ClientPlugin;
use crate::tools::mcp::ServerFailure;
use crate::tools::mcp::driver::McpTool;
use crate::tools::tool_use::ToolHookPhase;

/// The sessions whose customizations are tracked.
#[derive(Debug, Clone, Default)]
pub(crate) struct CustomizationRegistry {
    by_session: BTreeMap<Uri, SessionCustomizations>,
    /// The keys of trusted code that were last sent to the driver.
    pub(super) published_trust: BTreeSet<String>,
    /// Sessions whose data may have changed since [`CustomizationRegistry::take_changed`].
    changed: BTreeSet<Uri>,
}

/// Data about the customizations of one session, held while the session is tracked.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionCustomizations {
    /// Slash commands that the customizations define.
    pub(crate) commands: Vec<SlashCommand>,
    /// The tools of running MCP servers.
    pub(crate) mcp_tools: Vec<McpTool>,
    /// The phases in which tool hooks of this session run.
    pub(crate) tool_hooks: BTreeSet<ToolHookPhase>,
    /// Servers whose published state comes from this run of the host.
    pub(crate) started_servers: BTreeSet<CustomizationId>,
    /// `true` once the driver has listed the customizations in this run of the host.
    pub(crate) is_discovered: bool,
    /// `true` once an agent has requested tools at the gateway.
    pub(crate) tools_requested: bool,
    /// Servers that a user stopped. Turns don't start them again.
    pub(crate) stopped_by_user: BTreeSet<CustomizationId>,
    /// Servers that may not start, because their code is not trusted.
    pub(crate) blocked_as_untrusted: BTreeSet<CustomizationId>,
    pub(crate) failures: BTreeMap<CustomizationId, ServerFailure>,
    /// Error messages about servers that run.
    pub(crate) problems: BTreeMap<CustomizationId, String>,
    /// Load states as the driver reported them, without server failures and problems.
    pub(crate) load_states: BTreeMap<CustomizationId, LoadState>,
    /// The client plugins that were last sent to the driver.
    pub(super) plugins_sent: Vec<ClientPlugin>,
    /// The tool filters of custom agents by chat, as last sent. A chat without an entry may use
    /// all tools.
    pub(crate) tool_filters: BTreeMap<Uri, Vec<String>>,
    /// The disabled ids that were last sent to the driver.
    pub(super) disabled_sent: BTreeSet<CustomizationId>,
}

impl CustomizationRegistry {
    pub(crate) fn contains(&self, session: &Uri) -> bool {
        self.by_session.contains_key(session)
    }

    pub(crate) fn get(&self, session: &Uri) -> Option<&SessionCustomizations> {
        self.by_session.get(session)
    }

    pub(crate) fn get_mut(&mut self, session: &Uri) -> Option<&mut SessionCustomizations> {
        let found = self.by_session.get_mut(session);
        if found.is_some() && !self.changed.contains(session) {
            self.changed.insert(session.clone());
        }
        found
    }

    /// Forgets the keys that were sent, because the driver has ended.
    pub(crate) fn forget_trust(&mut self) {
        self.published_trust.clear();
    }

    /// Returns the sessions whose data may have changed since the last call.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Uri> {
        std::mem::take(&mut self.changed)
    }

    /// Replaces all data with that of an earlier process of the host.
    pub(crate) fn restore(&mut self, by_session: BTreeMap<Uri, SessionCustomizations>) {
        self.by_session = by_session;
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Uri> {
        self.by_session.keys()
    }

    pub(super) fn insert(&mut self, session: Uri) {
        self.changed.insert(session.clone());
        self.by_session
            .insert(session, SessionCustomizations::default());
    }

    pub(super) fn remove(&mut self, session: &Uri) -> Option<SessionCustomizations> {
        self.changed.insert(session.clone());
        self.by_session.remove(session)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut SessionCustomizations> {
        self.changed.extend(self.by_session.keys().cloned());
        self.by_session.values_mut()
    }
}
