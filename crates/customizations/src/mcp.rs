//! Servers of tools that speak the Model Context Protocol.

mod spec;

pub use spec::{McpSpec, McpWay};
