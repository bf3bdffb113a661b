//! Unix socket through which agents connect to the tools of their session.
//!
//! A connection must present the secret that the host gave to the agent of its chat. The secret
//! is derived from a secret of this host process and from the chat, so one agent can't use
//! another agent's chat.

pub(crate) mod approval;
pub(crate) mod call_gate;
pub(crate) mod http;
pub(crate) mod http_endpoint;
pub(crate) mod http_session;
pub(crate) mod results;
pub(crate) mod server;
pub(crate) mod tool_names;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::tools::mcp::driver::McpEvent;
use agenthost_net::LogLimiter;
use agenthost_protocol::uri::Uri;
use agenthost_stdx::hex::encode_hex;
use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::scratch::{ScratchDirectory, ScratchSpace};
use rmcp::service::serve_server_with_ct;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::manager::McpContext;
use super::relay::{
    CHAT_VARIABLE, RelayHello, SECRET_VARIABLE, SESSION_VARIABLE, SOCKET_VARIABLE, WELCOME_LINE,
};
use super::transport::stdio::{LineTransport, StreamEnd};
pub use http::{HttpGateway, HttpGatewayTarget};

use server::{AgentArrival, GatewayServer};

/// Timeout for the first line of a connection. Connections without a valid secret must not hold
/// a permit for long.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum length of the first line, which has two URIs and a secret.
const MAX_HELLO_BYTES: u64 = 16 * 1024;

/// Maximum number of connections that are served at once. Further ones wait to be accepted.
const MAX_AGENTS: usize = 1_000;

/// The socket of the gateway, and the secret from which the secrets of chats are derived.
#[derive(Clone)]
pub struct GatewayAddress {
    socket: PathBuf,
    secret: [u8; 32],
}

/// Omits the secret, so that it is not logged.
impl std::fmt::Debug for GatewayAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayAddress")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

impl GatewayAddress {
    /// Returns the environment variables with which the relay of a chat connects to the
    /// gateway.
    #[must_use]
    pub fn relay_environment(&self, session: &Uri, chat: &Uri) -> Vec<(String, String)> {
        let secret = self.chat_secret(session.as_str(), chat.as_str());
        let socket = self.socket.to_string_lossy().into_owned();
        [
            (SOCKET_VARIABLE, socket),
            (SESSION_VARIABLE, session.to_string()),
            (CHAT_VARIABLE, chat.to_string()),
            (SECRET_VARIABLE, secret),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// Derives the secret of a chat.
    fn chat_secret(&self, session: &str, chat: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.secret);
        for part in [session, chat] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        encode_hex(&hash.finalize())
    }
}

/// Accepts the connections of agents.
pub(super) struct GatewayListener {
    listener: UnixListener,
    address: GatewayAddress,
    /// Removed with the socket when the gateway is dropped.
    _folder: ScratchDirectory,
}

impl GatewayListener {
    /// Binds a socket in a new directory that only this user can access.
    pub(super) fn open(scratch: &ScratchSpace) -> io::Result<Self> {
        let folder = scratch.create_socket_directory()?;
        let socket = folder.path().join("tools");
        let listener = UnixListener::bind(&socket)?;
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(io::Error::other)?;
        Ok(GatewayListener {
            listener,
            address: GatewayAddress { socket, secret },
            _folder: folder,
        })
    }

    pub(super) fn address(&self) -> GatewayAddress {
        self.address.clone()
    }

    /// Accepts connections until the host stops.
    pub(super) async fn serve(self, shared: Arc<McpContext>) {
        let permits = Arc::new(Semaphore::new(MAX_AGENTS));
        let log = Arc::new(LogLimiter::default());
        let stopping = shared.stopping.clone();
        let serving = async {
            loop {
                let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
                    break;
                };
                let stream = match self.listener.accept().await {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        if let Some(suppressed) = log.permit() {
                            tracing::warn!(%error, suppressed, "failed to accept a connection of an agent");
                        }
                        // The error can be temporary, for example if the process has no free
                        // file descriptor.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                };
                let (shared, address) = (Arc::clone(&shared), self.address());
                let log = Arc::clone(&log);
                let tasks = shared.tasks.clone();
                tasks.spawn(async move {
                    serve_connection(&shared, &address, stream, &log).await;
                    drop(permit);
                });
            }
        };
        stopping.run_until_cancelled(serving).await;
    }
}

/// Serves one connection until the agent disconnects or its session ends.
async fn serve_connection(
    shared: &Arc<McpContext>,
    address: &GatewayAddress,
    stream: UnixStream,
    log: &LogLimiter,
) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    let hello = tokio::time::timeout(HELLO_TIMEOUT, read_hello(&mut reader, address));
    let hello = shared.stopping.run_until_cancelled(hello).await;
    let Some(Ok(Some((session, chat)))) = hello else {
        if let Some(suppressed) = log.permit() {
            tracing::warn!(suppressed, "rejected MCP connection: invalid secret");
        }
        return;
    };
    if writer.write_all(WELCOME_LINE).await.is_err() {
        return;
    }
    serve_agent(shared, session, chat, reader, writer).await;
}

/// Serves the agent of a chat on a stream of lines, until it disconnects or its session ends.
async fn serve_agent(
    shared: &Arc<McpContext>,
    session: Uri,
    chat: Uri,
    reader: impl AsyncBufRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) {
    let session_tools = shared.session_tools(&session);
    let before = session_tools.publish_count();
    shared.send_event(&session, McpEvent::ToolsRequested).await;
    // Cancelled when the agent closes the connection or the session ends.
    let gone = session_tools.over.child_token();
    let arrival = AgentArrival {
        publish_count: before,
        deadline: Instant::now() + shared.config.startup_wait,
    };
    let server = GatewayServer::new(
        Arc::clone(shared),
        Arc::clone(&session_tools),
        chat,
        arrival,
        gone.clone(),
    );
    let stream_end = StreamEnd::with_token(gone.clone());
    let lines = LineTransport::new(reader, writer, stream_end);
    let mut published = session_tools.subscribe_published();
    published.mark_unchanged();
    let Ok(service) = serve_server_with_ct(server, lines, gone.clone()).await else {
        return;
    };
    let peer = service.peer().clone();
    while let Some(Ok(())) = gone.run_until_cancelled(published.changed()).await {
        if peer.notify_tool_list_changed().await.is_err() {
            break;
        }
    }
    gone.cancel();
    service.waiting().await.ignore_elapsed();
}

/// Reads the first line and checks its secret. Returns the session and the chat.
async fn read_hello(
    reader: &mut (impl AsyncBufReadExt + Unpin),
    address: &GatewayAddress,
) -> Option<(Uri, Uri)> {
    let mut line = String::new();
    let mut bounded = reader.take(MAX_HELLO_BYTES);
    bounded.read_line(&mut line).await.ok()?;
    let hello: RelayHello = serde_json::from_str(&line).ok()?;
    let secret = address.chat_secret(&hello.session, &hello.chat);
    let shown = hello.secret.as_bytes();
    if !bool::from(secret.as_bytes().ct_eq(shown)) {
        return None;
    }
    Some((Uri::new(hello.session), Uri::new(hello.chat)))
}
