//! Relay program that an agent starts as an MCP server.
//!
//! It reads the address of the host from its environment, identifies its chat with a secret,
//! and copies lines in both directions until either side ends.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;

/// Environment variable with the path of the gateway socket.
pub(super) const SOCKET_VARIABLE: &str = "AGENTHOST_TOOLS_SOCKET";
/// Environment variable with the session URI.
pub(super) const SESSION_VARIABLE: &str = "AGENTHOST_TOOLS_SESSION";
/// Environment variable with the chat URI.
pub(super) const CHAT_VARIABLE: &str = "AGENTHOST_TOOLS_CHAT";
/// Environment variable with the secret of the chat, which proves that the host provided the
/// other ones.
pub(super) const SECRET_VARIABLE: &str = "AGENTHOST_TOOLS_SECRET";

/// First line of the host after it has accepted the secret of a relay.
pub(super) const WELCOME_LINE: &[u8] = b"accepted\n";

/// The error of a relay that can't connect.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// An environment variable is missing, so the relay was not started by an agent of the
    /// host.
    #[error("`{0}` is not set\nhint: agents start this command, with variables that the host sets")]
    MissingVariable(&'static str),
    /// The connection to the socket failed.
    #[error("connect to the host: {0}")]
    HostUnreachable(#[source] io::Error),
    /// The host rejected the secret.
    #[error(
        "the host rejected the secret\nhint: agents start this command, with variables that the host sets"
    )]
    Rejected,
}

/// The socket of the host, and the first line of the relay.
pub struct RelayTarget {
    socket: PathBuf,
    hello: RelayHello,
}

/// Omits the secret, so that it is not logged.
impl std::fmt::Debug for RelayTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelayTarget")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

/// The first line that a relay sends.
#[derive(Serialize, Deserialize)]
pub(super) struct RelayHello {
    pub(super) session: String,
    pub(super) chat: String,
    pub(super) secret: String,
}

impl RelayTarget {
    /// Reads the target from the environment of this process.
    ///
    /// # Errors
    ///
    /// Returns an error if a variable is missing.
    pub fn from_environment() -> Result<Self, RelayError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the target with a lookup function for variables.
    ///
    /// # Errors
    ///
    /// Returns an error if a variable is missing.
    pub fn from_variables(value: impl Fn(&str) -> Option<String>) -> Result<Self, RelayError> {
        let value = |name| value(name).ok_or(RelayError::MissingVariable(name));
        Ok(RelayTarget {
            socket: value(SOCKET_VARIABLE)?.into(),
            hello: RelayHello {
                session: value(SESSION_VARIABLE)?,
                chat: value(CHAT_VARIABLE)?,
                secret: value(SECRET_VARIABLE)?,
            },
        })
    }
}

/// Copies lines between an agent and the host until either side ends. A caller with the
/// standard input of its process should exit afterwards, because a pending read of standard
/// input blocks the shutdown of the runtime.
///
/// # Errors
///
/// Returns an error if the host can't be reached or rejects the secret. The end of a stream is
/// no error.
pub async fn relay(
    target: RelayTarget,
    mut input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> Result<(), RelayError> {
    let stream = UnixStream::connect(&target.socket).await;
    let (mut from_host, mut to_host) = stream.map_err(RelayError::HostUnreachable)?.into_split();
    let hello = serde_json::to_string(&target.hello).map_err(io::Error::other);
    let hello = format!("{}\n", hello.map_err(RelayError::HostUnreachable)?);
    let said = to_host.write_all(hello.as_bytes()).await;
    said.map_err(RelayError::HostUnreachable)?;
    let mut welcome = [0; WELCOME_LINE.len()];
    let heard = from_host.read_exact(&mut welcome).await;
    if heard.is_err() || welcome != WELCOME_LINE {
        return Err(RelayError::Rejected);
    }
    // A side that can't be read or written has ended.
    tokio::select! {
        ended = tokio::io::copy(&mut input, &mut to_host) => drop(ended),
        ended = tokio::io::copy(&mut from_host, &mut output) => drop(ended),
    }
    Ok(())
}
