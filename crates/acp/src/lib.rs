//! Runs any program that speaks the Agent Client Protocol (ACP) as an agent of the host.
//!
//! **Contents.** [`AcpAgent`] implements the [`Agent`](agenthost_agents::Agent) trait for a
//! program that speaks ACP on standard input and output; [`known_agents`] lists the agents that
//! the host knows by name. From the outside in: `agent` implements the trait, `bridge` runs one
//! task for each session of the host, `connection` is the connection of that task to the agent,
//! `process_pool` shares processes between sessions, and `transport` reads and writes messages
//! on the pipes of a process. `services` handles the requests of agents for files and terminals
//! of the host.
//!
//! **Restrictions.** This crate never touches the state of a channel and never holds the host.
//! `mapper` converts messages to events and does no I/O.
//!
//! **Where to start.** [`AcpAgent`], then `bridge`, then `mapper`.

mod agent;
mod bridge;
mod connection;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzz;
mod mapper;
mod process_pool;
mod registry;
mod services;
mod session;
mod transport;

pub use agent::AcpAgent;
pub use error::{AcpError, AgentStep, AgentTimeout, SignInError, StartError, UnsupportedFeature};
pub use process_pool::launch::{AgentLaunch, SpawnError};
pub use registry::credentials::{CredentialFile, CredentialPlaces};
pub use registry::discovery::{find_known_agent, find_program};
pub use registry::probe::session_list::{
    AgentSessionInfo, delete_agent_sessions, list_agent_sessions,
};
pub use registry::probe::sign_in::{SignInKind, SignInMethod, TerminalSignIn};
pub use registry::probe::{
    ProbeReport, SignInState, probe_agent, program_version, sign_in, sign_in_command,
};
pub use registry::profile::{AcpProfile, HostToolAccess, SessionMultiplicity};
pub use registry::{HistoryFidelity, KnownAgent, TokenBinding, known_agents};
pub use services::AcpService;
pub use session::auto_approve::AutoApprovePolicy;
pub use session::mcp_servers::AgentMcpServer;
