//! Actions on the root channel.

use super::state::AgentInfo;
use crate::action::actions;
use crate::terminal::TerminalInfo;
use crate::wire::{Object, Wire};

actions! {
    /// An action on the root channel.
    pub enum RootAction on Root {
        /// Replaces the list of agents.
        AgentsChanged(AgentsChanged) = "root/agentsChanged", Host, V0_1;
        /// Sets the number of active sessions.
        ActiveSessionsChanged(ActiveSessionsChanged) = "root/activeSessionsChanged", Host, V0_1;
        /// Replaces the list of terminals.
        TerminalsChanged(TerminalsChanged) = "root/terminalsChanged", Host, V0_1;
        /// Changes configuration values of the host.
        ConfigChanged(RootConfigChanged) = "root/configChanged", Client, V0_1;
    }
}

/// The list of agents, or a property of an agent, changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentsChanged {
    /// The complete new list of agents.
    pub agents: Vec<AgentInfo>,
}

/// A session was created or disposed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveSessionsChanged {
    /// New number of sessions.
    pub active_sessions: u64,
}

/// The list of terminals, or a property of a terminal, changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalsChanged {
    /// The complete new list of terminals.
    pub terminals: Vec<TerminalInfo>,
}

/// Configuration values of the host changed. The action is a no-op if the host has no
/// configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RootConfigChanged {
    /// New values, by property key.
    pub config: Object,
    /// `true` to replace all values; otherwise the values are merged.
    pub replace: Option<bool>,
}
