//! Automations, which start sessions on a schedule or an event, and their runs.

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
