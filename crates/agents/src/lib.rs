//! What runs below the host.
//!
//! **What it does.** [`Agent`] is what an agent has to be; [`AgentSupervisor`] runs
//! each session's agent as a task of its own and passes commands and events
//! between it and the host. [`TurnMapper`] turns what agents say into actions
//! that are always legal. [`ShellAgent`] is the agent that is always there;
//! [`AcpAgent`] is any program that speaks ACP, and [`known_agents`] are those
//! that are known by name.
//!
//! **What it never does.** It never holds the host, never waits for it but
//! for room in its bounded queue, and never touches a channel's state.
//!
//! **Where to start.** [`Agent`], then `shell`.

mod acp;
mod agent;
mod agents;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod installed;
mod known;
mod large;
mod mapper;
mod relay;
mod shell;
mod tokens;

pub use acp::{
    AcpAgent, AcpProfile, AcpService, AgentLaunch, AgentMcpServer, AgentMcpTransport,
    AgentSessionInfo, AutoApprovePolicy, HostToolAccess, ProbeReport, SessionMultiplicity,
    SignInKind, SignInMethod, SignInState, TerminalSignIn, list_agent_sessions, probe_agent,
    program_version, sign_in, sign_in_command,
};
pub use agent::{Agent, AgentEventSender, HostGone, SessionContext, SessionFuture};
pub use agents::AgentSupervisor;
pub use installed::{find_known_agent, find_program};
pub use known::{HistoryFidelity, KnownAgent, TokenBinding, known_agents};
pub use mapper::{ToolAnnounced, ToolContent, ToolReady, ToolStart, TurnEvent, TurnMapper};
pub use relay::{GATEWAY_SERVER_NAME, HttpTarget, McpPreference, ToolRelay};
pub use shell::ShellAgent;
pub use tokens::{SessionTokens, TokenStore};
