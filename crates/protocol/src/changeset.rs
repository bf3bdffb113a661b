//! Changesets: file changes as a channel, with operations on them.

mod actions;
mod commands;
mod reducer;
mod state;

pub use actions::*;
pub use commands::*;
pub use state::*;
