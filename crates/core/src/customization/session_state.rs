//! Customizations of sessions beside their state in the protocol.

use std::collections::{BTreeMap, BTreeSet};

use agenthost_protocol::ids::CustomizationId;
use agenthost_protocol::session::LoadState;
use agenthost_protocol::uri::Uri;

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
}

/// What is known of the customizations of a session beside their state, for as
/// long as somebody reads them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionCustomizations {
    /// What can stand at the beginning of a message.
    pub(crate) commands: Vec<SlashCommand>,
    /// The tools of servers that run.
    pub(crate) mcp_tools: Vec<McpTool>,
    /// When its hooks of tools are run.
    pub(crate) tool_hooks: BTreeSet<ToolHookPhase>,
    /// Servers whose state is of this run of the host.
    pub(crate) started_servers: BTreeSet<CustomizationId>,
    /// Whether what there is was found in this run of the host.
    pub(crate) is_discovered: bool,
    /// Whether an agent came for tools.
    pub(crate) tools_requested: bool,
    /// Servers that a person stopped: no turn starts them.
    pub(crate) stopped_by_user: BTreeSet<CustomizationId>,
    /// Servers that may not be started as things are: nobody allowed their code.
    pub(crate) blocked_as_untrusted: BTreeSet<CustomizationId>,
    /// Servers that failed.
    pub(crate) failures: BTreeMap<CustomizationId, ServerFailure>,
    /// What is wrong with servers that run.
    pub(crate) problems: BTreeMap<CustomizationId, String>,
    /// How far reading has got, apart from that.
    pub(crate) load_states: BTreeMap<CustomizationId, LoadState>,
    /// What clients brought, as it was last told.
    pub(super) plugins_sent: Vec<ClientPlugin>,
    /// The tools that custom agents are to use, by chat, as it was last told.
    /// Where there is none, all.
    pub(crate) tool_filters: BTreeMap<Uri, Vec<String>>,
    /// What is off, as it was last told.
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
        self.by_session.get_mut(session)
    }

    /// Returns the tracked sessions.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Uri> {
        self.by_session.keys()
    }

    pub(super) fn insert(&mut self, session: Uri) {
        self.by_session
            .insert(session, SessionCustomizations::default());
    }

    pub(super) fn remove(&mut self, session: &Uri) -> Option<SessionCustomizations> {
        self.by_session.remove(session)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut SessionCustomizations> {
        self.by_session.values_mut()
    }
}
