//! Limits on peers that have not authenticated, for every listener of the host.
//!
//! **What it does.** [`PendingConnections`] bounds the connections that have not authenticated
//! yet and evicts the oldest one when a new one needs its slot. [`LogLimiter`] bounds the log
//! lines that such peers can cause.
//!
//! **What it must never do.** It reads no sockets and checks no credentials. A connection that
//! has been promoted is out of its reach.
//!
//! **Where to start.** [`PendingConnections::admit`], which an accept loop calls for each
//! connection.

mod connection_slots;
mod log_limiter;

pub use connection_slots::{PendingConnections, PendingLimits, PendingSlot};
pub use log_limiter::LogLimiter;
