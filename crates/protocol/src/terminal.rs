//! The terminal channel: a pseudoterminal of the host that clients can watch and write to.

mod actions;
mod commands;
mod plain_output;
mod reducer;
mod state;

pub use actions::*;
pub use commands::*;
pub use plain_output::{OutputTail, PlainOutput};
pub use state::*;
