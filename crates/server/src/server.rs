//! Starts and stops the server: opens the store, binds the listeners and spawns the tasks.

pub(crate) mod agent_catalog;
mod revocation;
pub(crate) mod startup;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use agenthost_mcp::McpStartError;
use agenthost_net::LogLimiter;
use agenthost_stdx::private_file;
use agenthost_stdx::result::{IgnoreMissing, IgnoreResult};
use agenthost_store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth;
use crate::auth::UpgradeGuard;
use crate::auth::device_directory::DeviceDirectory;
use crate::auth::device_registry::{DeviceRegistry, DeviceWatch};
use crate::config::ServerConfig;
use crate::connection::ConnectionContext;
use crate::connection::wire_log::WireLog;
use crate::page::HttpState;
use crate::page::files::PageFiles;
use crate::server::agent_catalog::AgentReplacer;
use crate::server::revocation::{forget_revoked_devices, forward_revocations};
use crate::server::startup::build_host_loop;
use crate::transport::accept::ClientListener;
use crate::transport::lines;
use crate::transport::lines::UnixSocketListener;
use crate::transport::tls::{CertificateStore, TlsError};
use crate::transport::websocket;

/// Capacity of the input queue of the loop. When it is full, senders wait: the messages of a
/// client stay in its socket, those of an agent in its pipe.
const INPUT_QUEUE: usize = 1_024;

/// An error that keeps a server from starting, or that made it stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The database could not be opened, read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address is in use, or does not belong to this machine.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address from the configuration.
        address: SocketAddr,
        /// The error of the system call.
        source: io::Error,
    },
    /// The token could not be read or created.
    #[error("token in the data directory: {0}")]
    Token(io::Error),
    /// The directory for paired devices could not be created.
    #[error("paired devices in the data directory: {0}")]
    Devices(io::Error),
    /// The Unix socket could not be bound.
    #[error("listen on `{}`: {source}", path.display())]
    Socket {
        /// The path of the socket.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The ready file with the addresses of the host could not be written.
    #[error("write `{}`: {source}", path.display())]
    ReadyFile {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The wire log could not be opened.
    #[error("wire log `{}`: {source}", path.display())]
    WireLog {
        /// The path of the log.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The MCP gateway or the HTTP client for MCP servers could not be set up.
    #[error(transparent)]
    Mcp(#[from] McpStartError),
    /// The directory of the content store could not be opened.
    #[error("content in `{}`: {source}", path.display())]
    Content {
        /// The path of the directory.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// The directory for temporary directories could not be created.
    #[error("temporary directories in `{}`: {source}", path.display())]
    Scratch {
        /// The path of the directory.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
    /// TLS could not be set up.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// The address is not a loopback address and TLS is off, so others on the network could
    /// read the messages.
    #[error(
        "{0} can be reached from other machines, and without TLS its connections can be read on \
         the network\n\
         hint: use TLS (`--tls-cert` and `--tls-key`, or `[tls]` in the configuration), or \
         allow plain connections (`--allow-plain`, or `allow_plain` in the configuration)"
    )]
    NotLoopback(SocketAddr),
    /// The configuration has no listener: no address, no socket and no standard input.
    #[error("no listener is configured")]
    NoListener,
    /// A task of the server panicked.
    #[error("a server task panicked: {0}")]
    TaskPanicked(#[from] JoinError),
}

/// Maximum number of refused peers that the audit log records in [`AUDIT_WINDOW`]. Peers without a
/// credential must not displace the entries of others: this many fill the log in three months.
const MAX_AUDITED_REFUSALS: u32 = 20;

/// Time window of the limit on refused peers in the audit log.
const AUDIT_WINDOW: Duration = Duration::from_secs(60 * 60);

/// Name of the file in the data directory with the addresses of the host. It exists while the
/// host runs.
pub const HOST_FILE: &str = "host.json";

/// Timeout for clients to read their last messages when the host stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// The clients and turns of a running host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostUsage {
    /// The number of connected clients.
    pub connections: usize,
    /// The number of clients that have left so far.
    pub departures: u64,
    /// `true` if a turn runs or waits for a user.
    pub runs_turn: bool,
}

impl HostUsage {
    /// Returns `true` if no client is connected and no turn runs.
    pub fn is_idle(self) -> bool {
        self.connections == 0 && !self.runs_turn
    }
}

/// A handle to the running server.
#[derive(Debug)]
pub struct Server {
    /// The address that the server listens on, if it has a TCP listener.
    pub address: Option<SocketAddr>,
    /// The Unix socket that the server listens on, if it has one.
    pub socket: Option<PathBuf>,
    /// The token that a client needs to connect to the address.
    pub token: String,
    is_tls: bool,
    host_file: PathBuf,
    usage: watch::Sender<HostUsage>,
    keeps_runner: Arc<AtomicBool>,
    agents: AgentReplacer,
    _device_watch: Option<DeviceWatch>,
    stop: CancellationToken,
    connection_tasks: TaskTracker,
    tasks: JoinSet<Result<(), ServeError>>,
}

impl Server {
    /// Returns the WebSocket URL that clients connect to.
    pub fn url(&self) -> Option<String> {
        let scheme = if self.is_tls { "wss" } else { "ws" };
        let address = self.address?;
        Some(format!("{scheme}://{address}/"))
    }

    /// Writes the addresses and the token to a file, for programs that wait for the server. The
    /// file is replaced atomically, so a reader never sees a part of it.
    pub fn write_ready_file(&self, path: &Path) -> Result<(), ServeError> {
        let ready = serde_json::json!({
            "url": self.url(),
            "socket": self.socket,
            "token": self.token,
            "pid": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
        });
        let text = format!("{ready}\n");
        private_file::replace(path, text.as_bytes()).map_err(|source| ServeError::ReadyFile {
            path: path.to_owned(),
            source,
        })
    }

    /// Returns the clients and turns of the host, updated while it runs.
    pub fn watch_usage(&self) -> watch::Receiver<HostUsage> {
        self.usage.subscribe()
    }

    /// Returns a handle that replaces the agents while the server runs.
    pub fn agent_replacer(&self) -> AgentReplacer {
        self.agents.clone()
    }

    /// Stops the server: received requests get their responses, and agents are ended with all
    /// of their descendant processes.
    pub async fn stop(mut self) -> Result<(), ServeError> {
        self.stop.cancel();
        self.wait().await
    }

    /// Stops the server like [`Server::stop`], but leaves the runner with its agents and
    /// terminals to the next host. Without a runner, they end.
    pub async fn stop_and_keep_runner(self) -> Result<(), ServeError> {
        self.keeps_runner.store(true, Ordering::Relaxed);
        self.stop().await
    }

    /// Waits until the server has stopped, for any reason.
    pub async fn wait(&mut self) -> Result<(), ServeError> {
        let mut result = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            self.stop.cancel();
            let ended = ended.map_err(ServeError::from).flatten();
            result = result.and(ended);
        }
        self.connection_tasks.close();
        // A client that has not read its last messages within the timeout can reconnect to the
        // next host.
        let closed = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.connection_tasks.wait()).await;
        closed.ignore_elapsed();
        let removed = std::fs::remove_file(&self.host_file);
        removed.ignore_missing("failed to remove the file with the addresses of the host");
        result
    }
}

/// The credentials that the TCP listener presents and accepts, besides the token.
struct ListenerCredentials {
    certificates: Option<CertificateStore>,
    devices: DeviceRegistry,
}

/// Sockets that are bound but do not accept connections yet.
struct BoundListeners {
    tcp: Option<(TcpListener, SocketAddr)>,
    unix: Option<UnixSocketListener>,
}

/// Starts a server. It is listening when this function returns.
pub async fn serve(config: ServerConfig) -> Result<Server, ServeError> {
    check_listeners(&config)?;
    let certificates = config.tls.as_ref().map(CertificateStore::open);
    let certificates = certificates.transpose()?;
    let mut store = Store::open(&config.data_directory, config.durability)?;
    let token = auth::load_or_create_token(&config.data_directory).map_err(ServeError::Token)?;
    let devices = DeviceDirectory::open(&config.data_directory).map_err(ServeError::Devices)?;
    let devices = DeviceRegistry::open(devices);
    let wire_log = open_wire_log(&config)?;
    let listeners = bind_listeners(&config).await?;

    let stop = CancellationToken::new();
    let (events, receiver) = mpsc::channel(INPUT_QUEUE);
    forget_revoked_devices(&mut store, &devices)?;
    let host_loop = build_host_loop(&config, store, receiver, stop.clone()).await?;
    let capacity = Arc::clone(&host_loop.capacity);
    let context = ConnectionContext {
        limits: config.limits,
        events,
        next_connection: Arc::new(AtomicU32::new(1)),
        permits: Arc::new(Semaphore::new(config.limits.connections)),
        capacity,
        wire_log,
        stop: stop.clone(),
        tasks: TaskTracker::new(),
    };
    let mut server = Server {
        address: listeners.tcp.as_ref().map(|(_, address)| *address),
        socket: config.socket.clone(),
        token,
        is_tls: config.tls.is_some(),
        host_file: config.data_directory.join(HOST_FILE),
        usage: host_loop.usage.clone(),
        keeps_runner: Arc::clone(&host_loop.keeps_runner),
        agents: AgentReplacer::new(context.events.clone()),
        _device_watch: watch_devices(&devices),
        stop: stop.clone(),
        connection_tasks: context.tasks.clone(),
        tasks: JoinSet::new(),
    };
    server.write_ready_file(&server.host_file)?;
    server.tasks.spawn(host_loop.run());
    server.tasks.spawn(forward_revocations(
        devices.watch_ids(),
        context.events.clone(),
        context.stop.clone(),
    ));
    let credentials = ListenerCredentials {
        certificates,
        devices,
    };
    spawn_listeners(config, credentials, listeners, context, &mut server);
    Ok(server)
}

/// Checks that there is a listener and that a plain one is reachable from this machine only,
/// unless the configuration allows more.
fn check_listeners(config: &ServerConfig) -> Result<(), ServeError> {
    if config.listen.is_none() && config.socket.is_none() && !config.stdio {
        return Err(ServeError::NoListener);
    }
    if let Some(listen) = config.listen
        && !listen.ip().is_loopback()
        && config.tls.is_none()
        && !config.allow_plain
    {
        return Err(ServeError::NotLoopback(listen));
    }
    Ok(())
}

fn open_wire_log(config: &ServerConfig) -> Result<Option<WireLog>, ServeError> {
    match &config.wire_log {
        None => Ok(None),
        Some(log) => {
            let opened =
                WireLog::open(log, config.redactor.clone()).map_err(|source| ServeError::WireLog {
                    path: log.path.clone(),
                    source,
                });
            opened.map(Some)
        }
    }
}

async fn bind_listeners(config: &ServerConfig) -> Result<BoundListeners, ServeError> {
    let tcp = match config.listen {
        None => None,
        Some(address) => {
            let failed = |source| ServeError::Listen { address, source };
            let tcp = TcpListener::bind(address).await.map_err(failed)?;
            let address = tcp.local_addr().map_err(failed)?;
            Some((tcp, address))
        }
    };
    let unix = match &config.socket {
        None => None,
        Some(path) => Some(UnixSocketListener::bind(path).await.map_err(|source| {
            let path = path.clone();
            ServeError::Socket { path, source }
        })?),
    };
    Ok(BoundListeners { tcp, unix })
}

/// Watches the paired devices. Without a watch, a revoked device keeps its open connections.
fn watch_devices(devices: &DeviceRegistry) -> Option<DeviceWatch> {
    match devices.watch() {
        Ok(watch) => Some(watch),
        Err(error) => {
            tracing::warn!(%error, "connections of revoked devices will stay open");
            None
        }
    }
}

/// Starts to accept clients on all listeners, each in a task of the server.
fn spawn_listeners(
    config: ServerConfig,
    credentials: ListenerCredentials,
    listeners: BoundListeners,
    context: ConnectionContext,
    server: &mut Server,
) {
    let only_stdio = listeners.tcp.is_none() && listeners.unix.is_none();
    if let Some((tcp, address)) = listeners.tcp {
        let guard = UpgradeGuard {
            token: server.token.clone(),
            address,
            is_tls: credentials.certificates.is_some(),
            allowed_origins: config.allowed_origins,
            allowed_hosts: config.allowed_hosts,
        };
        let assets = config.page.iter().flat_map(|assets| assets.iter());
        let state = HttpState {
            guard: Arc::new(guard),
            devices: credentials.devices,
            files: Arc::new(PageFiles::new(assets.cloned())),
            context: context.clone(),
            log: Arc::new(LogLimiter::default()),
            audit_limiter: Arc::new(LogLimiter::new(MAX_AUDITED_REFUSALS, AUDIT_WINDOW)),
        };
        let listener = ClientListener {
            tcp,
            certificates: credentials.certificates,
            router: websocket::router(state),
            stop: context.stop.clone(),
        };
        server.tasks.spawn(async move {
            listener.run().await;
            Ok(())
        });
    }
    if let Some(unix) = listeners.unix {
        let context = context.clone();
        server.tasks.spawn(async move {
            unix.accept(context).await;
            Ok(())
        });
    }
    if config.stdio {
        let guests = context.tasks.clone();
        guests.spawn(async move {
            lines::serve_lines(&context, tokio::io::stdin(), tokio::io::stdout()).await;
            // No other client can reach the host, so it stops with this one.
            if only_stdio {
                context.stop.cancel();
            }
        });
    }
}
