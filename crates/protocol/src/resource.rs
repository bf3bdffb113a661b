//! Files and other resources: requests in both directions, and watches.

mod commands;
mod watch;

pub use commands::*;
pub use watch::*;
