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
//! **Where to start.** `drive` is the loop; `attend` is a connection, which
//! `socket` and `lines` carry; `gate` is who gets in.

mod accept;
mod attend;
mod batch;
mod config;
mod connection;
mod customizing;
mod deliveries;
mod delivery;
mod drive;
mod encode;
mod garbled;
mod gate;
mod later;
mod lines;
mod older;
mod outbox;
mod pace;
mod pongs;
mod serve;
mod socket;
mod startup;
mod surveys;
mod tls;
mod wire_log;

pub use agenthost_core::{FileAccess, GrantedRoot};
pub use config::{ServerConfig, ServerLimits};
pub use customizing::{CustomizationsConfig, PACKAGES_DIR, RelayProgram};
pub use serve::{HOST_FILE, ServeError, Server, serve};
pub use tls::{TlsError, TlsFiles};
pub use wire_log::WireLogConfig;
