//! Terminals: programs with a screen, shared by everyone who watches.

mod actions;
mod commands;
mod reducer;
mod state;

pub use actions::*;
pub use commands::*;
pub use state::*;
