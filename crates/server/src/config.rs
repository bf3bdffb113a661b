//! What a server is told when it starts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::{Agent, ShellAgent};
use agenthost_core::GrantedRoot;
use agenthost_protocol::number::Millis;
use agenthost_protocol::wire::Limits;
use agenthost_store::{Durability, Retention};
use agenthost_workspace::{ChangeTracker, ProtectedPaths};

use crate::transport::tls::TlsFiles;
use crate::wire_log::WireLogConfig;
use crate::workers::customization::CustomizationsConfig;

/// What a server is told when it starts.
#[derive(Clone)]
pub struct ServerConfig {
    /// The address to listen on. Port 0 takes a free one.
    pub listen: Option<SocketAddr>,
    /// TLS for that address.
    pub tls: Option<TlsFiles>,
    /// Whether the address may be one that others can reach, without TLS.
    pub allow_plain: bool,
    /// The Unix socket to listen on.
    pub socket: Option<PathBuf>,
    /// Whether one client is on standard input and output.
    pub stdio: bool,
    /// The agents, the default one first.
    pub agents: Vec<Arc<dyn Agent>>,
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
    /// Folders that clients may use, besides those of sessions.
    pub roots: Vec<GrantedRoot>,
    /// The shell of terminals; the user's own if nobody says.
    pub shell: Option<PathBuf>,
    /// What is read for sessions; without it, nothing is, and agents get no
    /// tools of the host.
    pub customizations: Option<CustomizationsConfig>,
    /// A record of what goes over the wire.
    pub wire_log: Option<WireLogConfig>,
    /// Files that clients and agents must not get through the host, besides
    /// those of the data directory.
    pub secrets: Vec<PathBuf>,
}

/// Where checkpoints and worktrees of sessions are, in the data directory.
pub(crate) const CHANGES_DIR: &str = "changes";

/// Where temporary directories are made, in the data directory.
pub(crate) const SCRATCH_DIR: &str = "tmp";

/// Where it is noted what runs, in the data directory.
pub(crate) const PID_DIR: &str = "running";

impl ServerConfig {
    /// A server for this machine alone, on a free port, with the shell as its
    /// agent.
    pub fn new(data_directory: impl Into<PathBuf>) -> Self {
        let data_directory = data_directory.into();
        let shell = ShellAgent::with_pid_dir(&data_directory.join(PID_DIR));
        ServerConfig {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            tls: None,
            allow_plain: false,
            socket: None,
            stdio: false,
            agents: vec![Arc::new(shell)],
            data_directory,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            durability: Durability::Process,
            retention: DEFAULT_RETENTION,
            limits: ServerLimits::default(),
            roots: Vec::new(),
            shell: None,
            customizations: None,
            wire_log: None,
            secrets: Vec::new(),
        }
    }
}

impl ServerConfig {
    /// Where agents note what runs, so that the next host can end it if this
    /// one is killed.
    #[must_use]
    pub fn pid_dir(&self) -> PathBuf {
        self.data_directory.join(PID_DIR)
    }

    /// The files of the host itself: all of the data directory, except for the
    /// worktrees in it, which sessions work in.
    pub(crate) fn protected_paths(&self) -> ProtectedPaths {
        let data = &self.data_directory;
        let key = self.tls.iter().map(|tls| tls.key.clone());
        let log = self.wire_log.iter().map(|log| log.path.clone());
        let secrets = self.secrets.iter().cloned();
        // Its environment and memory.
        let process = PathBuf::from(format!("/proc/{}", std::process::id()));
        let paths = key.chain(log).chain(secrets).chain([data.clone(), process]);
        ProtectedPaths::new(
            paths,
            [ChangeTracker::worktrees_in(&data.join(CHANGES_DIR))],
        )
    }
}

/// A month, but no more than what is read again in a moment.
const DEFAULT_RETENTION: Retention = Retention {
    actions: 200_000,
    age: Millis(30 * 24 * 60 * 60 * 1_000),
    bytes: 128 * 1024 * 1024,
};

/// How much clients may ask for.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// What one message may be.
    pub message_limits: Limits,
    /// Most connections at a time.
    pub connections: usize,
    /// Most subscriptions of one connection.
    pub subscriptions: usize,
    /// Most sessions at a time. `createSession` is refused past it.
    pub sessions: usize,
    /// Most messages of one connection that are being dealt with.
    pub in_flight: usize,
    /// Most messages of one connection in a second. Whoever is faster waits.
    pub messages_per_second: u32,
    /// Most bytes that wait for one connection. A client that reads slower
    /// than this fills up is disconnected, and can resume.
    pub outbox_bytes: usize,
    /// How long all others wait for a client that lags behind but reads. One on
    /// this machine catches up in less.
    pub slow_client_timeout: Duration,
    /// A connection that says nothing for so long, not even an answer to a
    /// ping, is gone.
    pub idle_timeout: Duration,
    /// How long a client may be gone before it is forgotten.
    pub grace_period: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            message_limits: Limits::MESSAGE,
            connections: 256,
            subscriptions: 1_000,
            sessions: 20_000,
            in_flight: 64,
            messages_per_second: 1_000,
            outbox_bytes: 8 * 1024 * 1024,
            slow_client_timeout: Duration::from_millis(500),
            idle_timeout: Duration::from_secs(90),
            grace_period: Duration::from_secs(30),
        }
    }
}
