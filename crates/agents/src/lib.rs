//! What runs below the host.
//!
//! **What it does.** [`Agent`] is what an agent has to be; [`Agents`] runs
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
    AcpAgent, AcpLaunch, AcpMcpServer, AcpMcpWay, AcpProfile, AcpService, AgentSessions,
    Examination, HostTools, OwnSession, SignInMethod, SignInWay, SignedIn, TerminalSignIn, Trust,
    examine, own_sessions, program_version, sign_in, sign_in_command,
};
pub use agent::{Agent, Events, HostGone, Session, SessionFuture};
pub use agents::Agents;
pub use installed::{find_known, find_program};
pub use known::{KnownAgent, LoadQuality, TokenUse, known_agents};
pub use mapper::{ToolContent, ToolReady, ToolSeen, ToolStart, TurnEvent, TurnMapper};
pub use relay::{HOST_TOOLS, TakesServers, ToolRelay, WebEntry};
pub use shell::ShellAgent;
pub use tokens::{SessionTokens, Tokens};
