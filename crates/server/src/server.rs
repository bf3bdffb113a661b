//! Starting and stopping.

pub(crate) mod startup;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use agenthost_mcp::McpStartError;
use agenthost_stdx::private_file;
use agenthost_stdx::result::{IgnoreMissing, IgnoreResult};
use agenthost_store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth;
use crate::auth::UpgradeGuard;
use crate::config::ServerConfig;
use crate::connection::ConnectionContext;
use crate::server::startup::build_host_loop;
use crate::transport::accept::ClientListener;
use crate::transport::lines;
use crate::transport::lines::UnixSocketListener;
use crate::transport::tls::{CertificateStore, TlsError};
use crate::transport::websocket;
use crate::wire_log::WireLog;

/// Inputs that wait for the loop. When there are more, whoever has the next
/// waits: a client's messages stay in its socket, an agent's in its pipe.
const INPUT_QUEUE: usize = 1_024;

/// Why a server could not start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What is remembered can't be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The address is taken, or not ours.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The token could not be read or made.
    #[error("token in the data directory: {0}")]
    Token(io::Error),
    /// The Unix socket could not be made.
    #[error("listen on `{}`: {source}", path.display())]
    Socket {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file that says where the host is could not be written.
    #[error("write `{}`: {source}", path.display())]
    ReadyFile {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The record of what goes over the wire could not be opened.
    #[error("wire log `{}`: {source}", path.display())]
    WireLog {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Servers of tools can't be run.
    #[error(transparent)]
    Mcp(#[from] McpStartError),
    /// The folder for content could not be opened.
    #[error("content in `{}`: {source}", path.display())]
    Content {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The folder for temporary directories could not be made.
    #[error("temporary directories in `{}`: {source}", path.display())]
    Scratch {
        /// Its path.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// TLS could not be set up.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// Other machines could listen in.
    #[error(
        "{0} can be reached by other machines, and what is said there could be read on the way: \
         use TLS, or say that plain is what you want"
    )]
    NotLoopback(SocketAddr),
    /// There is no way for a client to reach the host.
    #[error("there is nothing to listen on")]
    NoListener,
    /// A part of the server broke.
    #[error("a part of the server broke: {0}")]
    TaskPanicked(#[from] JoinError),
}

/// Where a host says where it is, in its data directory, while it runs.
pub const HOST_FILE: &str = "host.json";

/// How long clients get to read their last messages when the host stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    /// The address it listens on, if it listens on one.
    pub address: Option<SocketAddr>,
    /// The Unix socket it listens on, if it listens on one.
    pub socket: Option<PathBuf>,
    /// What lets a client in by the address.
    pub token: String,
    is_tls: bool,
    host_file: PathBuf,
    stop: CancellationToken,
    connection_tasks: TaskTracker,
    tasks: JoinSet<Result<(), ServeError>>,
}

impl Server {
    /// The address that clients use.
    pub fn url(&self) -> Option<String> {
        let scheme = if self.is_tls { "wss" } else { "ws" };
        let address = self.address?;
        Some(format!("{scheme}://{address}/"))
    }

    /// Writes where the server is, whole or not at all, for programs that
    /// wait for it.
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

    /// Lets everything come to an end: what was asked is answered, and agents
    /// are ended with all they started.
    pub async fn stop(mut self) -> Result<(), ServeError> {
        self.stop.cancel();
        self.wait().await
    }

    /// Waits for the end, whatever brings it.
    pub async fn wait(&mut self) -> Result<(), ServeError> {
        let mut result = Ok(());
        while let Some(ended) = self.tasks.join_next().await {
            self.stop.cancel();
            let ended = ended.map_err(ServeError::from).flatten();
            result = result.and(ended);
        }
        self.connection_tasks.close();
        // Whoever has not read to the end by now can reconnect to the next.
        let closed = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.connection_tasks.wait()).await;
        closed.ignore_elapsed();
        let removed = std::fs::remove_file(&self.host_file);
        removed.ignore_missing("failed to remove the file with the addresses of the host");
        result
    }
}

/// What clients come in by, before anyone is let in.
struct BoundListeners {
    tcp: Option<(TcpListener, SocketAddr)>,
    unix: Option<UnixSocketListener>,
}

/// Starts a server: it listens when this returns.
pub async fn serve(config: ServerConfig) -> Result<Server, ServeError> {
    check_listeners(&config)?;
    let certificates = config.tls.as_ref().map(CertificateStore::open);
    let certificates = certificates.transpose()?;
    let store = Store::open(&config.data_directory, config.durability)?;
    let token = auth::load_or_create_token(&config.data_directory).map_err(ServeError::Token)?;
    let wire_log = open_wire_log(&config)?;
    let listeners = bind_listeners(&config).await?;

    let stop = CancellationToken::new();
    let (events, receiver) = mpsc::channel(INPUT_QUEUE);
    let host_loop = build_host_loop(&config, store, receiver)?;
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
        stop: stop.clone(),
        connection_tasks: context.tasks.clone(),
        tasks: JoinSet::new(),
    };
    server.write_ready_file(&server.host_file)?;
    server
        .tasks
        .spawn(async move { Ok(host_loop.run(stop).await?) });
    spawn_listeners(config, certificates, listeners, context, &mut server);
    Ok(server)
}

/// Whether there is something to listen on, and it is safe to.
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
            let opened = WireLog::open(log).map_err(|source| ServeError::WireLog {
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

/// Lets clients in by all listeners, each in a task of the server.
fn spawn_listeners(
    config: ServerConfig,
    certificates: Option<CertificateStore>,
    listeners: BoundListeners,
    context: ConnectionContext,
    server: &mut Server,
) {
    let only_stdio = listeners.tcp.is_none() && listeners.unix.is_none();
    if let Some((tcp, address)) = listeners.tcp {
        let guard = UpgradeGuard {
            token: server.token.clone(),
            address,
            is_tls: certificates.is_some(),
            allowed_origins: config.allowed_origins,
            allowed_hosts: config.allowed_hosts,
        };
        let listener = ClientListener {
            tcp,
            certificates,
            router: websocket::router(guard, context.clone()),
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
            // A host that nobody else can reach is not needed any more.
            if only_stdio {
                context.stop.cancel();
            }
        });
    }
}
