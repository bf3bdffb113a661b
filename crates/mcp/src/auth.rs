//! Authorization of MCP servers: challenges, metadata of resources, tokens.

pub(crate) mod challenge;
pub(crate) mod metadata;
pub(crate) mod origin;
pub(crate) mod tokens;
