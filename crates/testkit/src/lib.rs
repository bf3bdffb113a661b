//! Shared test support of agenthost.
//!
//! **What it does.** [`Generator`] generates JSON for any wire type, from the shape that
//! the type itself declares. [`json`] compares and normalizes JSON. [`ScriptedAgent`] is an
//! agent that runs a script, with [`parse_event`] for its lines. [`acp_agent`] is another
//! one, as a process that speaks ACP. [`mcp_server`] is an MCP server. [`model::FakeModel`]
//! is a model for tests with real agents. [`packages`] generates customization packages and
//! breaks them.
//!
//! **What it never does.** It is not a part of the product: it is only used in
//! dev-dependencies.
//!
//! **Where to start.** [`Generator::generate`], [`ScriptedAgent`].

pub mod acp_agent;
mod event;
mod generator;
pub mod json;
pub mod mcp_server;
pub mod model;
pub mod packages;
mod scripted_agent;

pub use event::{EventTarget, parse_event};
pub use generator::{Generator, GeneratorOptions};
pub use scripted_agent::ScriptedAgent;
