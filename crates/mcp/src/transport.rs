//! Transports to MCP servers: standard input and output, streamable HTTP, server-sent events.

pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod sse;
pub(crate) mod stdio;
