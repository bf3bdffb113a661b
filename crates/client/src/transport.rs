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
pub enum Address {
    /// A WebSocket.
    Web {
        /// Its `ws://` address.
        url: String,
        /// What lets a client in.
        token: Option<String>,
    },
    /// A Unix socket.
    Socket(PathBuf),
    /// Wherever this file says, which a host writes when it begins. Read each
    /// time, so a host that begins again elsewhere is found.
    ReadyFile(PathBuf),
}

/// What a host says about itself once it listens.
#[derive(Clone, Deserialize)]
pub struct Ready {
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

impl Ready {
    /// Reads what a host wrote.
    pub fn read(path: &Path) -> Result<Self, TransportError> {
        let text = std::fs::read_to_string(path)?;
        serde_json::from_str(&text).map_err(|_| TransportError::NotReady)
    }

    /// The best way to the host.
    pub fn address(&self) -> Result<Address, TransportError> {
        if let Some(socket) = &self.socket {
            return Ok(Address::Socket(socket.clone()));
        }
        match &self.url {
            Some(url) if url.starts_with("ws://") => Ok(Address::Web {
                url: url.clone(),
                token: Some(self.token.clone()),
            }),
            _ => Err(TransportError::NoWay { pid: self.pid }),
        }
    }
}

/// Shows everything but what lets one in.
impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ready")
            .field("url", &self.url)
            .field("socket", &self.socket)
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// Shows where, not what lets one in.
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Address::Web { url, .. } => write!(f, "Web({url})"),
            Address::Socket(path) => write!(f, "Socket({})", path.display()),
            Address::ReadyFile(path) => write!(f, "ReadyFile({})", path.display()),
        }
    }
}

/// Why messages can't go to or come from a host.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The WebSocket failed.
    #[error(transparent)]
    Web(Box<tungstenite::Error>),
    /// The Unix socket failed.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// The host sent a line that is too long.
    #[error("the host sent a line of more than {} bytes", Limits::STATE.bytes)]
    Line,
    /// The file of a host has something else in it.
    #[error("the file that says where the host is can't be read")]
    NotReady,
    /// A client of this kind has no way to the host.
    #[error(
        "the host (process {pid}) speaks TLS only, or to one client on standard input: \
         give it a `--socket` for commands on this machine"
    )]
    NoWay {
        /// The host.
        pid: u32,
    },
    /// The token can't be sent.
    #[error("the token has characters that can't be sent")]
    Token,
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
            other => TransportError::Web(Box::new(other)),
        }
    }
}

impl From<LinesCodecError> for TransportError {
    fn from(error: LinesCodecError) -> Self {
        match error {
            LinesCodecError::MaxLineLengthExceeded => TransportError::Line,
            LinesCodecError::Io(error) => TransportError::Socket(error),
        }
    }
}

/// A connection that whole messages go over.
pub(crate) enum Transport {
    Web(Box<WebSocketStream<MaybeTlsStream<TcpStream>>>),
    Lines {
        reader: FramedRead<OwnedReadHalf, LinesCodec>,
        writer: FramedWrite<OwnedWriteHalf, LinesCodec>,
    },
}

impl Transport {
    pub(crate) async fn connect(address: &Address) -> Result<Self, TransportError> {
        let found;
        let address = match address {
            Address::ReadyFile(path) => {
                found = Ready::read(path)?.address()?;
                &found
            }
            address => address,
        };
        match address {
            Address::ReadyFile(_) => Err(TransportError::NotReady),
            Address::Web { url, token } => {
                let mut request = url.as_str().into_client_request()?;
                if let Some(token) = token {
                    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                        .map_err(|_| TransportError::Token)?;
                    value.set_sensitive(true);
                    request.headers_mut().insert("Authorization", value);
                }
                let config = WebSocketConfig::default()
                    .max_message_size(Some(Limits::STATE.bytes))
                    .max_frame_size(Some(Limits::STATE.bytes));
                let connecting =
                    tokio_tungstenite::connect_async_with_config(request, Some(config), true);
                let (socket, _) = connecting.await?;
                Ok(Transport::Web(Box::new(socket)))
            }
            Address::Socket(path) => {
                let (reader, writer) = UnixStream::connect(path).await?.into_split();
                let codec = || LinesCodec::new_with_max_length(Limits::STATE.bytes);
                Ok(Transport::Lines {
                    reader: FramedRead::new(reader, codec()),
                    writer: FramedWrite::new(writer, codec()),
                })
            }
        }
    }

    pub(crate) async fn send(&mut self, text: String) -> Result<(), TransportError> {
        match self {
            Transport::Web(socket) => Ok(socket.send(Message::text(text)).await?),
            Transport::Lines { writer, .. } => Ok(writer.send(text).await?),
        }
    }

    /// The next message. If waiting for it is given up, nothing is lost.
    pub(crate) async fn next(&mut self) -> Result<String, TransportError> {
        let closed = |reason| TransportError::Closed { reason };
        match self {
            Transport::Lines { reader, .. } => {
                let line = reader.next().await;
                Ok(line.ok_or_else(|| closed(None))??)
            }
            Transport::Web(socket) => loop {
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
