//! Servers of tools that speak the Model Context Protocol.
//!
//! [`McpManager`] runs them, a task for each. What they offer, and what the
//! clients of a session offer, is one server to the agent of each chat: the
//! gateway. An agent starts a small program for it (the relay), which passes
//! lines between the agent and a socket of the host; some come by HTTP instead.
//!
//! Whatever a server or an agent says is bounded and believed as little as can
//! be: a list has a longest, a message, too, and names are made plain.

mod allowed;
mod answers;
mod challenge;
mod forwards;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod gateway;
mod guard;
mod http;
mod lines;
mod link;
mod metadata;
mod names;
mod origin;
mod process;
mod relay;
mod room;
mod running;
mod runs;
mod seal;
mod servers;
mod spec;
mod sse;
mod tail;
mod tokens;
mod tools;
mod trouble;

pub use gateway::{GatewayAddress, HttpGateway, HttpGatewayTarget};
pub(crate) use origin::parse_web_url;
pub use relay::{RelayError, RelayTarget, relay};
pub use servers::{McpConfig, McpManager, McpStartError};
pub use spec::{McpServerSpec, McpTransport};

/// Longest message that is taken from a server or an agent, in bytes.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
