//! Agents that speak the Agent Client Protocol on standard input and output.
//!
//! **What it does.** [`AcpAgent`] is any program that speaks ACP, as an
//! [`Agent`](agenthost_agents::Agent) of the host; [`known_agents`] are those
//! that are known by name. From the outside in: `agent` is what the host sees,
//! `bridge` works for one session of the host, `connection` is the agent that
//! runs for it, `process_pool` shares processes between sessions, `transport`
//! carries messages over the pipes of a process. `services` is what the host
//! does for agents: files and terminals.
//!
//! **What it must never do.** It never touches a channel's state and never
//! holds the host. `mapper` decides what becomes of messages and does no I/O.
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
pub use registry::discovery::{find_known_agent, find_program};
pub use registry::probe::session_list::{AgentSessionInfo, list_agent_sessions};
pub use registry::probe::sign_in::{SignInKind, SignInMethod, TerminalSignIn};
pub use registry::probe::{
    ProbeReport, SignInState, probe_agent, program_version, sign_in, sign_in_command,
};
pub use registry::profile::{AcpProfile, HostToolAccess, SessionMultiplicity};
pub use registry::{HistoryFidelity, KnownAgent, TokenBinding, known_agents};
pub use services::AcpService;
pub use session::auto_approve::AutoApprovePolicy;
pub use session::mcp_servers::AgentMcpServer;
