//! Changesets: views of file changes, with things to do about them.

mod actions;
mod commands;
mod reducer;
mod state;

pub use actions::*;
pub use commands::*;
pub use state::*;
