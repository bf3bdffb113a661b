//! Agents that speak the Agent Client Protocol on standard input and output.
//!
//! From the outside in: `agent` is what the host sees, `bridge` works for one
//! session of the host, `live` is the agent that runs for it, `wire` the
//! connection, `process` and `lines` the program and its pipes. What becomes of
//! what agents send is decided by `mapper` and the files it uses, which touch
//! nothing else. What the host does for agents is in `services`.

mod agent;
mod asking;
mod bridge;
mod chat;
mod chunks;
mod content;
mod family;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod line_diff;
mod lines;
mod live;
mod mapper;
mod marks;
mod mcp;
mod mending;
mod offered;
mod option_label;
mod options;
mod own_sessions;
mod probe;
mod process;
mod profile;
mod prompt;
mod questions;
mod replay;
mod screens;
mod services;
mod shared;
mod sign_in;
mod tail;
mod told;
mod tools;
mod transcript;
mod trust;
mod wire;

pub use agent::AcpAgent;
pub use mcp::{AgentMcpServer, AgentMcpTransport};
pub use own_sessions::{AgentSessionInfo, list_agent_sessions};
pub use probe::{ProbeReport, SignInState, probe_agent, program_version, sign_in, sign_in_command};
pub use process::AgentLaunch;
pub use profile::{AcpProfile, HostToolAccess, SessionMultiplicity};
pub use services::AcpService;
pub use sign_in::{SignInKind, SignInMethod, TerminalSignIn};
pub use trust::AutoApprovePolicy;
