//! A client of any AHP host.
//!
//! **What it does.** [`Client`] connects to a host, asks it things, and keeps a
//! mirror of every channel it is subscribed to, by the same reducers as the
//! host.
//!
//! **What it never does.** It knows nothing of how a host works: everything
//! goes over the protocol. It starts no tasks; nothing happens unless someone
//! awaits it.
//!
//! **Where to start.** [`Client::connect`], then [`Client::next_update`]; [`ResourceProvider`]
//! for what the host may read here.

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
