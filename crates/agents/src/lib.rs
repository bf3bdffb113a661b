//! What runs below the host.
//!
//! **What it does.** [`Agent`] is what an agent has to be; [`AgentSupervisor`] runs
//! each session's agent as a task of its own and passes commands and events
//! between it and the host. [`TurnMapper`] turns what agents say into actions
//! that are always legal. [`ShellAgent`] is the agent that is always there.
//!
//! **What it never does.** It never holds the host, never waits for it but
//! for room in its bounded queue, and never touches a channel's state.
//!
//! **Where to start.** [`Agent`], then `shell`.

mod agent;
mod shell;
mod spill;
mod supervisor;
mod tokens;
mod tool_relay;
mod turn_mapper;

pub use agent::{Agent, AgentEventSender, HostGone, SessionContext, SessionFuture};
pub use shell::ShellAgent;
pub use supervisor::AgentSupervisor;
pub use tokens::{SessionTokens, TokenStore};
pub use tool_relay::{
    GATEWAY_SERVER_NAME, HttpTarget, McpPreference, McpReach, SessionGateway, ToolRelay,
};
pub use turn_mapper::{ToolAnnounced, ToolContent, ToolReady, ToolStart, TurnEvent, TurnMapper};
