//! The root channel: what belongs to the host as a whole.

mod actions;
mod commands;
mod notifications;
mod reducer;
mod state;

pub use actions::*;
pub use commands::*;
pub use notifications::*;
pub use state::*;
