//! The root channel: agents, terminals, configuration and sessions of the host.

mod actions;
mod commands;
mod notifications;
mod reducer;
mod state;

pub use actions::*;
pub use commands::*;
pub use notifications::*;
pub use state::*;
