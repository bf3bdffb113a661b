//! The session channel: an agent that works in some directories, with one or more chats.
//!
//! Start with [`SessionState`]. [`SessionAction`] lists the actions that change it, and
//! `SessionState::reduce` applies them.

mod actions;
mod active_client;
mod commands;
mod customization;
mod input_needed;
mod mcp_server;
mod reducer;
mod state;
mod summary;

pub use actions::*;
pub use active_client::*;
pub use commands::*;
pub use customization::*;
pub use input_needed::*;
pub use mcp_server::*;
pub use state::*;
pub use summary::*;
