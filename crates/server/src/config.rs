//! What a server is told when it starts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use agenthost_protocol::wire::Limits;
use agenthost_store::{Durability, Retention};

/// What a server is told when it starts.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where to keep what is remembered.
    pub data_directory: PathBuf,
    /// Web pages that may connect, besides those of the host itself.
    pub allowed_origins: Vec<String>,
    /// Names that the host may be called by, besides those of this machine.
    pub allowed_hosts: Vec<String>,
    /// What a batch survives before it is seen.
    pub durability: Durability,
    /// How much of the log is kept.
    pub retention: Retention,
    /// How much clients may ask for.
    pub limits: ServerLimits,
}

/// How much clients may ask for.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// What one message may be.
    pub message: Limits,
    /// Most connections at a time.
    pub connections: usize,
    /// Most subscriptions of one connection.
    pub subscriptions: usize,
    /// Most bytes that wait for one connection. A client that reads slower
    /// than this fills up is disconnected, and can resume.
    pub outbox_bytes: usize,
    /// A connection that says nothing for so long, not even an answer to a
    /// ping, is gone.
    pub idle: Duration,
    /// How long a client may be gone before it is forgotten.
    pub grace: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            message: Limits::MESSAGE,
            connections: 256,
            subscriptions: 1_000,
            outbox_bytes: 8 * 1024 * 1024,
            idle: Duration::from_secs(90),
            grace: Duration::from_secs(30),
        }
    }
}
