//! Configuration of a server: listeners, agents, directories and limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agenthost_agents::{Agent, ShellAgent};
use agenthost_core::{GrantedRoot, SessionRetention};
use agenthost_protocol::number::Millis;
use agenthost_protocol::wire::Limits;
use agenthost_stdx::redaction::SecretRedactor;
use agenthost_store::{Durability, Retention};
use agenthost_workspace::{ChangeTracker, ProtectedPaths};

use crate::connection::wire_log::WireLogConfig;
use crate::page::PageAsset;
use crate::runner::RunnerLaunch;
use crate::transport::tls::TlsFiles;
use crate::workers::customization::CustomizationsConfig;

/// The configuration that [`serve`](crate::serve) starts a server with.
#[derive(Clone)]
pub struct ServerConfig {
    /// The address to listen on. With port 0, the system chooses a free port.
    pub listen: Option<SocketAddr>,
    /// The certificate and key for that address. Without them, connections are plain.
    pub tls: Option<TlsFiles>,
    /// `true` if the address may be reachable from other machines without TLS.
    pub allow_plain: bool,
    /// The Unix socket to listen on.
    pub socket: Option<PathBuf>,
    /// `true` if one client is connected to standard input and output.
    pub stdio: bool,
    /// The agents, with the default one first.
    pub agents: Vec<Arc<dyn Agent>>,
    /// The directory for the database, the token and other files of the host.
    pub data_directory: PathBuf,
    /// Origins of web pages that may connect, in addition to those of the host itself.
    pub allowed_origins: Vec<String>,
    /// Values of the `Host` header that are accepted, in addition to those of this machine.
    pub allowed_hosts: Vec<String>,
    /// The failures that a batch survives once it is published.
    pub durability: Durability,
    /// Limits on the age and size of the log.
    pub retention: Retention,
    /// Limits on the sessions that are kept. By default, all are.
    pub session_retention: SessionRetention,
    /// Time between two checks of these limits.
    pub session_retention_interval: Duration,
    /// Masks secrets in the audit log and in the wire log.
    pub redactor: SecretRedactor,
    /// The digest of the configuration file, for the audit log.
    pub configuration_digest: Option<String>,
    /// Limits on clients and their connections.
    pub limits: ServerLimits,
    /// Directories that clients may access, in addition to those of sessions.
    pub roots: Vec<GrantedRoot>,
    /// The shell of terminals. `None` selects the default shell of the user.
    pub shell: Option<PathBuf>,
    /// Customizations of sessions. Without them, none are read, and agents get no tools of the
    /// host.
    pub customizations: Option<CustomizationsConfig>,
    /// The log of messages on the wire, if one is written.
    pub wire_log: Option<WireLogConfig>,
    /// The files of the web page that the host serves at its address. Without them, there is no
    /// page.
    pub page: Option<Arc<[PageAsset]>>,
    /// Files that clients and agents must not access through the host, in addition to the data
    /// directory.
    pub secrets: Vec<PathBuf>,
    /// The program of the runner, which owns agents and terminals. Without it, they run in the
    /// process of the host and end with it.
    pub runner: Option<RunnerLaunch>,
}

/// Time between two checks of the limits on sessions. Their sizes are measured on the disk.
const SESSION_RETENTION_INTERVAL: Duration = Duration::from_secs(600);

/// Directory for content that is too large for a state, in the data directory.
pub(crate) const CONTENT_DIR: &str = "content";

/// Directory for checkpoints and worktrees of sessions, in the data directory.
pub(crate) const CHANGES_DIR: &str = "changes";

/// Directory for temporary directories, in the data directory.
pub(crate) const SCRATCH_DIR: &str = "tmp";

/// Directory for pid files of agents, terminals and other processes of drivers, in the data
/// directory.
pub(crate) const PID_DIR: &str = "running";

/// Directory for pid files of processes that the host itself runs, in the data directory.
pub(crate) const HOST_PID_DIR: &str = "running-host";

impl ServerConfig {
    /// Creates the configuration of a server for this machine only, on a free port, with the
    /// shell as its agent.
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
            session_retention: SessionRetention::default(),
            session_retention_interval: SESSION_RETENTION_INTERVAL,
            redactor: SecretRedactor::default(),
            configuration_digest: None,
            limits: ServerLimits::default(),
            roots: Vec::new(),
            shell: None,
            customizations: None,
            wire_log: None,
            page: None,
            secrets: Vec::new(),
            runner: None,
        }
    }
}

impl ServerConfig {
    /// Returns the directory for pid files, with which the next host ends the processes of a
    /// killed one.
    #[must_use]
    pub fn pid_dir(&self) -> PathBuf {
        self.data_directory.join(PID_DIR)
    }

    /// Returns the directory for checkpoints and worktrees of sessions.
    #[must_use]
    pub fn changes_dir(&self) -> PathBuf {
        self.data_directory.join(CHANGES_DIR)
    }

    /// Returns the files of the host itself, which clients and agents must not access: the
    /// whole data directory, except for the worktrees in it, which sessions work in.
    pub(crate) fn protected_paths(&self) -> ProtectedPaths {
        let data = &self.data_directory;
        let key = self.tls.iter().map(|tls| tls.key.clone());
        let log = self.wire_log.iter().map(|log| log.path.clone());
        let secrets = self.secrets.iter().cloned();
        // `/proc` exposes the environment and memory of this process.
        let process = PathBuf::from(format!("/proc/{}", std::process::id()));
        let paths = key.chain(log).chain(secrets).chain([data.clone(), process]);
        ProtectedPaths::new(
            paths,
            [ChangeTracker::worktrees_in(&data.join(CHANGES_DIR))],
        )
    }
}

/// Keeps a month of actions, up to an amount that is still loaded quickly.
const DEFAULT_RETENTION: Retention = Retention {
    actions: 200_000,
    age: Millis(30 * 24 * 60 * 60 * 1_000),
    bytes: 128 * 1024 * 1024,
};

/// Limits on the resources that clients can use.
#[derive(Debug, Clone, Copy)]
pub struct ServerLimits {
    /// Limits on the size and nesting of one message.
    pub message_limits: Limits,
    /// Limit on concurrent connections of all clients.
    pub connections: usize,
    /// Limit on the subscriptions of one connection.
    pub subscriptions: usize,
    /// Limit on sessions. Past it, `createSession` fails.
    pub sessions: usize,
    /// Limit on the messages of one connection that wait for the loop.
    pub in_flight: usize,
    /// Limit on the messages of one connection per second. The server reads further ones later.
    pub messages_per_second: u32,
    /// Limit on the bytes in the outbox of one connection. A client that reads too slowly is
    /// disconnected when it is full, and can reconnect.
    pub outbox_bytes: usize,
    /// Limit on the time that other clients and agents wait for a slow client. A client on this
    /// machine catches up in less.
    pub max_slow_client_pause: Duration,
    /// Time without any message or pong after which a connection counts as dead and is closed.
    pub idle_timeout: Duration,
    /// Time that a disconnected client has to reconnect before the host releases its tools and
    /// its places in sessions.
    pub grace_period: Duration,
    /// Time for which a released client can still reconnect.
    pub client_retention: Duration,
    /// Limit on the released clients that the host remembers. The longest absent is dropped
    /// first.
    pub remembered_clients: usize,
    /// Time without a host after which the runner ends its agents and terminals.
    pub detach_timeout: Duration,
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
            max_slow_client_pause: Duration::from_millis(500),
            idle_timeout: Duration::from_secs(90),
            grace_period: Duration::from_secs(30),
            client_retention: Duration::from_secs(30 * 24 * 60 * 60),
            remembered_clients: 1_000,
            detach_timeout: Duration::from_secs(12 * 60 * 60),
        }
    }
}
