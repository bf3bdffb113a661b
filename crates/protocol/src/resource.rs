//! Files and other resources: commands in both directions, and watches.

mod commands;
mod watch;

pub use commands::*;
pub use watch::*;
