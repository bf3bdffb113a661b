//! The I/O shell around the host: the loop that owns it, listeners, authentication and limits.
//!
//! **What it does.** [`serve`] opens the store, starts the loop that owns the host, and listens
//! for clients. The loop takes inputs in batches, appends their writes to the log, and runs
//! their effects only after that.
//!
//! **What it never does.** The server makes no protocol decisions: the core decides which
//! requests and actions of a client are allowed. The server never logs the content of messages,
//! neither of users nor of agents; only the wire log has it, if the configuration enables that.
//!
//! **Where to start.** `host_loop` is the loop; `connection` is the task of one connection,
//! over a `transport`; `auth` decides which connections are accepted; `delivery` sends messages
//! to clients; `page` serves the web page; `legacy` translates for clients of legacy versions;
//! `workers` runs jobs that take time; its `drivers` are agents and terminals, which `runner` keeps
//! in a process of their own.

mod auth;
mod config;
mod connection;
mod delivery;
mod host_loop;
mod legacy;
mod page;
mod runner;
mod server;
mod transport;
mod workers;

pub use agenthost_core::{AccessScope, FileAccess, GrantedRoot, SessionRetention};
pub use auth::device_directory::{DeviceDirectory, PairedDevice};
pub use auth::pairing_code::{PairingCode, PairingRequest, create_pairing_code};
pub use config::{ServerConfig, ServerLimits};
pub use connection::wire_log::WireLogConfig;
pub use page::PageAsset;
pub use runner::{
    ReloadAgents, RunnerConfig, RunnerError, RunnerLaunch, end_runner, find_runner, run_runner,
};
pub use server::agent_catalog::AgentReplacer;
pub use server::{HOST_FILE, HostUsage, ServeError, Server, serve};
pub use transport::tls::{TlsError, TlsFiles};
pub use workers::customization::{CustomizationsConfig, PACKAGES_DIR, RelayProgram};
pub use workers::disk_usage::{DirectoryUsage, measure_directory};
