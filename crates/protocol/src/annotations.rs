//! Annotations: comment threads that are anchored to files of a session.

mod actions;
mod reducer;
mod state;

pub use actions::*;
pub use state::*;
