//! The shell around the host: the loop, listeners, authentication, limits.
//!
//! **What it does.** [`serve`] opens the store, starts the loop that owns the
//! host, and listens. The loop takes inputs in batches, appends what they
//! changed to the log, and only then lets their effects out.
//!
//! **What it never does.** It decides nothing about the protocol: what a
//! client may do is the core's business. It never logs what people or agents
//! say.
//!
//! **Where to start.** `host_loop` is the loop; `connection` is the task of one
//! connection, over a `transport`; `auth` decides which connections are
//! accepted; `delivery` sends to clients; `legacy` serves clients of older
//! versions; `workers` does what takes time.

mod auth;
mod config;
mod connection;
mod delivery;
mod host_loop;
mod legacy;
mod server;
mod transport;
mod wire_log;
mod workers;

pub use agenthost_core::{FileAccess, GrantedRoot};
pub use config::{ServerConfig, ServerLimits};
pub use server::{HOST_FILE, ServeError, Server, serve};
pub use transport::tls::{TlsError, TlsFiles};
pub use wire_log::WireLogConfig;
pub use workers::customization::{CustomizationsConfig, PACKAGES_DIR, RelayProgram};
