//! The ways to a host.

use std::io;
use std::path::{Path, PathBuf};

use agenthost_protocol::wire::Limits;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};

/// Where a host is.
#[derive(Clone, PartialEq, Eq)]
pub enum HostAddress {
    /// A WebSocket.
    WebSocket {
        /// Its `ws://` address.
        url: String,
        /// What lets a client in.
        token: Option<String>,
    },
    /// A Unix socket.
    UnixSocket(PathBuf),
    /// Wherever this file says, which a host writes when it begins. Read each
    /// time, so a host that begins again elsewhere is found.
    ReadyFile(PathBuf),
}

/// What a host says about itself once it listens.
#[derive(Clone, Deserialize)]
pub struct ReadyFile {
    /// Its `ws://` or `wss://` address, if it has one.
    pub url: Option<String>,
    /// Its Unix socket, if it has one.
    pub socket: Option<PathBuf>,
    /// What lets a client in by the address.
    pub token: String,
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
}

impl ReadyFile {
    /// Reads what a host wrote.
    pub fn read(path: &Path) -> Result<Self, TransportError> {
        let text = std::fs::read_to_string(path)?;
        serde_json::from_str(&text).map_err(|_| TransportError::InvalidReadyFile)
    }

    /// The best way to the host.
    pub fn address(&self) -> Result<HostAddress, TransportError> {
        if let Some(socket) = &self.socket {
            return Ok(HostAddress::UnixSocket(socket.clone()));
        }
        match &self.url {
            Some(url) if url.starts_with("ws://") => Ok(HostAddress::WebSocket {
                url: url.clone(),
                token: Some(self.token.clone()),
            }),
            _ => Err(TransportError::NoUsableAddress { pid: self.pid }),
        }
    }
}

/// Shows everything but what lets one in.
impl std::fmt::Debug for ReadyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadyFile")
            .field("url", &self.url)
            .field("socket", &self.socket)
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// Shows where, not what lets one in.
impl std::fmt::Debug for HostAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostAddress::WebSocket { url, .. } => write!(f, "Web({url})"),
            HostAddress::UnixSocket(path) => write!(f, "Socket({})", path.display()),
            HostAddress::ReadyFile(path) => write!(f, "ReadyFile({})", path.display()),
        }
    }
}

/// Why messages can't go to or come from a host.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The WebSocket failed.
    #[error(transparent)]
    WebSocket(Box<tungstenite::Error>),
    /// The Unix socket failed.
    #[error(transparent)]
    UnixSocket(#[from] io::Error),
    /// The host sent a line that is too long.
    #[error("the host sent a line of more than {} bytes", Limits::STATE.bytes)]
    LineTooLong,
    /// The file of a host has something else in it.
    #[error("the file that says where the host is can't be read")]
    InvalidReadyFile,
    /// A client of this kind has no way to the host.
    #[error(
        "the host (process {pid}) speaks TLS only, or to one client on standard input: \
         give it a `--socket` for commands on this machine"
    )]
    NoUsableAddress {
        /// The host.
        pid: u32,
    },
    /// The token can't be sent.
    #[error("the token has characters that can't be sent")]
    InvalidToken,
    /// The host is gone.
    #[error("the host closed the connection{}", reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    Closed {
        /// What it said.
        reason: Option<String>,
    },
}

impl From<tungstenite::Error> for TransportError {
    fn from(error: tungstenite::Error) -> Self {
        match error {
            tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed => {
                TransportError::Closed { reason: None }
            }
            other => TransportError::WebSocket(Box::new(other)),
        }
    }
}

impl From<LinesCodecError> for TransportError {
    fn from(error: LinesCodecError) -> Self {
        match error {
            LinesCodecError::MaxLineLengthExceeded => TransportError::LineTooLong,
            LinesCodecError::Io(error) => TransportError::UnixSocket(error),
        }
    }
}

/// A connection that whole messages go over.
pub(crate) enum HostTransport {
    WebSocket(Box<WebSocketStream<MaybeTlsStream<TcpStream>>>),
    Lines {
        reader: FramedRead<OwnedReadHalf, LinesCodec>,
        writer: FramedWrite<OwnedWriteHalf, LinesCodec>,
    },
}

impl HostTransport {
    pub(crate) async fn connect(address: &HostAddress) -> Result<Self, TransportError> {
        let found;
        let address = match address {
            HostAddress::ReadyFile(path) => {
                found = ReadyFile::read(path)?.address()?;
                &found
            }
            address => address,
        };
        match address {
            HostAddress::ReadyFile(_) => Err(TransportError::InvalidReadyFile),
            HostAddress::WebSocket { url, token } => {
                let mut request = url.as_str().into_client_request()?;
                if let Some(token) = token {
                    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                        .map_err(|_| TransportError::InvalidToken)?;
                    value.set_sensitive(true);
                    request.headers_mut().insert("Authorization", value);
                }
                let config = WebSocketConfig::default()
                    .max_message_size(Some(Limits::STATE.bytes))
                    .max_frame_size(Some(Limits::STATE.bytes));
                let connecting =
                    tokio_tungstenite::connect_async_with_config(request, Some(config), true);
                let (socket, _) = connecting.await?;
                Ok(HostTransport::WebSocket(Box::new(socket)))
            }
            HostAddress::UnixSocket(path) => {
                let (reader, writer) = UnixStream::connect(path).await?.into_split();
                let codec = || LinesCodec::new_with_max_length(Limits::STATE.bytes);
                Ok(HostTransport::Lines {
                    reader: FramedRead::new(reader, codec()),
                    writer: FramedWrite::new(writer, codec()),
                })
            }
        }
    }

    pub(crate) async fn send(&mut self, text: String) -> Result<(), TransportError> {
        match self {
            HostTransport::WebSocket(socket) => Ok(socket.send(Message::text(text)).await?),
            HostTransport::Lines { writer, .. } => Ok(writer.send(text).await?),
        }
    }

    /// The next message. If waiting for it is given up, nothing is lost.
    pub(crate) async fn next_message(&mut self) -> Result<String, TransportError> {
        let closed = |reason| TransportError::Closed { reason };
        match self {
            HostTransport::Lines { reader, .. } => {
                let line = reader.next().await;
                Ok(line.ok_or_else(|| closed(None))??)
            }
            HostTransport::WebSocket(socket) => loop {
                match socket.next().await.ok_or_else(|| closed(None))?? {
                    Message::Text(text) => return Ok(text.as_str().to_owned()),
                    Message::Close(frame) => {
                        let reason = frame.map(|frame| frame.reason.as_str().to_owned());
                        return Err(closed(reason.filter(|reason| !reason.is_empty())));
                    }
                    Message::Binary(_)
                    | Message::Ping(_)
                    | Message::Pong(_)
                    | Message::Frame(_) => {}
                }
            },
        }
    }
}
