//! A client library for any AHP host.
//!
//! **What it does.** [`Client`] connects to a host, sends requests, dispatches actions, and
//! keeps a mirror of every channel it is subscribed to, with the same reducers as the host.
//!
//! **What it must never do.** It knows nothing of the implementation of a host: everything
//! goes through the protocol. It spawns no tasks; all work happens in futures that the
//! caller awaits.
//!
//! **Where to start.** [`Client::connect`], then [`Client::next_update`];
//! [`ResourceProvider`] serves content of the client to the host.

mod client;
mod mirror;
mod optimistic;
mod reconnect;
mod resources;
mod transport;

pub use client::{Client, ClientError, ClientOptions, ClientUpdate};
pub use optimistic::{
    MAX_PENDING_ACTIONS, OptimisticState, PendingAction, StateDiverged, TooManyPending,
};
pub use resources::ResourceProvider;
pub use transport::{HostAddress, ReadyFile, TransportError};
