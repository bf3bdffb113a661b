//! The relay: a program that an agent takes for a server of tools.
//!
//! It finds the host by its environment, says for which chat it is, and passes
//! lines on, both ways, until either side ends.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;

/// Names the socket of the host.
pub(super) const SOCKET_VARIABLE: &str = "AGENTHOST_TOOLS_SOCKET";
/// Names the session.
pub(super) const SESSION_VARIABLE: &str = "AGENTHOST_TOOLS_SESSION";
/// Names the chat.
pub(super) const CHAT_VARIABLE: &str = "AGENTHOST_TOOLS_CHAT";
/// Shows that the host gave these out itself.
pub(super) const SECRET_VARIABLE: &str = "AGENTHOST_TOOLS_SECRET";

/// What the host says to a relay that it lets in, before anything else.
pub(super) const WELCOME_LINE: &[u8] = b"come in\n";

/// Why there is no relay.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// It was not started by an agent of the host.
    #[error("`{0}` is not set\nhint: agents start this, with what the host gave them")]
    MissingVariable(&'static str),
    /// The host can't be reached.
    #[error("reach the host: {0}")]
    HostUnreachable(#[source] io::Error),
    /// The host did not let it in.
    #[error("the host does not let this in\nhint: agents start this, with what the host gave them")]
    Rejected,
}

/// The host, and what the relay says to it first.
pub struct RelayTarget {
    socket: PathBuf,
    hello: RelayHello,
}

/// Leaves out the secret.
impl std::fmt::Debug for RelayTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RelayTarget")
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

/// The first line from a relay.
#[derive(Serialize, Deserialize)]
pub(super) struct RelayHello {
    pub(super) session: String,
    pub(super) chat: String,
    pub(super) secret: String,
}

impl RelayTarget {
    /// What the environment of this process names.
    ///
    /// # Errors
    ///
    /// If something is missing there.
    pub fn from_environment() -> Result<Self, RelayError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// What some variables name.
    ///
    /// # Errors
    ///
    /// If something is missing.
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

/// Passes lines between an agent and the host, until either has nothing more
/// to say. Who runs this on the input of its process should end the process
/// after: a read that waits there keeps others waiting.
///
/// # Errors
///
/// If the host can't be reached, or does not let it in. An end is none.
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
    // A side that can't be read or written is one that has ended.
    tokio::select! {
        ended = tokio::io::copy(&mut input, &mut to_host) => drop(ended),
        ended = tokio::io::copy(&mut from_host, &mut output) => drop(ended),
    }
    Ok(())
}
