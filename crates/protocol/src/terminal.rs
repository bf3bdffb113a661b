//! Terminals: programs with a screen, shared by everyone who watches.

mod actions;
mod commands;
mod plain_output;
mod reducer;
mod state;

pub use actions::*;
pub use commands::*;
pub use plain_output::{OutputTail, PlainOutput};
pub use state::*;
