//! Servers of tools that speak the Model Context Protocol.
//!
//! [`ToolServers`] runs them, a task for each. What they offer, and what the
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

pub use gateway::{GatewayAddress, WebGateway, WebPlace};
pub(crate) use origin::web_address;
pub use relay::{RelayError, RelayTarget, relay};
pub use servers::{ToolServers, ToolServersConfig, ToolServersError};
pub use spec::{McpSpec, McpWay};

/// Longest message that is taken from a server or an agent, in bytes.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;
