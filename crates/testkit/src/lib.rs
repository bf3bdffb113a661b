//! What the tests of agenthost share.
//!
//! **What it does.** [`Generator`] makes JSON for any wire type, from the
//! shape that the type itself declares; [`json`] compares and varies JSON;
//! [`ScriptedAgent`] is an agent that does what a script says, with
//! [`parse_event`] for the lines of it; [`acp_agent`] is another, as a process that
//! speaks ACP, [`mcp_server`] a server of tools; [`model::FakeModel`] is what real
//! agents are tried with; [`packages`] makes packages of customizations, and
//! breaks them.
//!
//! **What it never does.** Nothing of it is part of the product: only
//! dev-dependencies may name this crate.
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
