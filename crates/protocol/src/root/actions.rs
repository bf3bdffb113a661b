//! All that can happen to the host.

use super::state::AgentInfo;
use crate::action::actions;
use crate::terminal::TerminalInfo;
use crate::wire::{Object, Wire};

actions! {
    /// Something that happened to the host.
    pub enum RootAction on Root {
        /// The agents, or something about one, changed.
        AgentsChanged(AgentsChanged) = "root/agentsChanged", Host, V0_1;
        /// A session was created or disposed.
        ActiveSessionsChanged(ActiveSessionsChanged) = "root/activeSessionsChanged", Host, V0_1;
        /// The terminals, or something about one, changed.
        TerminalsChanged(TerminalsChanged) = "root/terminalsChanged", Host, V0_1;
        /// Configuration values changed.
        ConfigChanged(RootConfigChanged) = "root/configChanged", Client, V0_1;
    }
}

/// The agents, or something about one, changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct AgentsChanged {
    /// All of them.
    pub agents: Vec<AgentInfo>,
}

/// A session was created or disposed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct ActiveSessionsChanged {
    /// How many there are now.
    pub active_sessions: u64,
}

/// The terminals, or something about one, changed.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct TerminalsChanged {
    /// All of them.
    pub terminals: Vec<TerminalInfo>,
}

/// Configuration values changed. Nothing happens if there is no
/// configuration.
#[derive(Debug, Clone, PartialEq, Wire)]
pub struct RootConfigChanged {
    /// Values by their keys.
    pub config: Object,
    /// Whether these are all values, rather than some.
    pub replace: Option<bool>,
}
