//! Automations: work that starts by itself, and the runs it makes.

mod actions;
mod commands;
mod definition;
mod reducer;
mod run;
mod state;

pub use actions::*;
pub use commands::*;
pub use definition::*;
pub use run::*;
pub use state::*;
