//! A client library for any AHP host.
//!
//! **What it does.** [`ClientEngine`] is a client without I/O: it takes and returns messages as
//! text, and keeps a mirror of every subscribed channel with the same reducers as the host. It
//! compiles to WebAssembly. [`Client`] drives an engine over a WebSocket, a Unix socket or a
//! program and reconnects when the connection is lost (feature `transport`, on by default).
//!
//! **What it must never do.** It knows nothing of the implementation of a host: everything
//! goes through the protocol. It spawns no tasks; all work happens in calls of the engine, or in
//! futures that the caller awaits.
//!
//! **Where to start.** [`Client::connect`], then [`Client::next_update`];
//! [`ClientEngine`] to bring another transport; [`ResourceProvider`] serves content of the
//! client to the host.

#![warn(missing_docs)]

#[cfg(feature = "transport")]
mod client;
mod engine;
mod error;
mod optimistic;
#[cfg(feature = "transport")]
mod program;
#[cfg(feature = "transport")]
mod reconnect;
mod resources;
#[cfg(feature = "transport")]
mod transport;

#[cfg(feature = "transport")]
pub use client::{Client, ClientError, ClientOptions};
pub use engine::{
    ClientEngine, ClientResponse, ClientUpdate, DispatchedAction, EngineOptions, EnginePhase,
    HostInfo, SavedEngine,
};
pub use error::{EngineError, MAX_MESSAGE_BYTES};
pub use optimistic::{
    MAX_PENDING_ACTIONS, OptimisticState, PendingAction, StateDiverged, TooManyPending,
};
#[cfg(feature = "transport")]
pub use program::HostProgram;
pub use resources::ResourceProvider;
#[cfg(feature = "transport")]
pub use transport::{HostAddress, HostTransport, ReadyFile, TransportError};
