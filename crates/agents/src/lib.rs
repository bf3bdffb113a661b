//! Runs the agents of sessions and connects them with the host.
//!
//! **What it does.** [`Agent`] is the trait that agents implement. [`AgentSupervisor`] runs
//! the agent of each session as a task and passes commands and events between it and the
//! host. [`TurnMapper`] converts agent events to chat actions that are always legal.
//! [`ShellAgent`] is a built-in agent that is always available.
//!
//! **What it never does.** It never holds the host, only waits for capacity in its bounded
//! queue, and never changes the state of a channel.
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
