//! Transports to a host: WebSocket, or lines on a Unix socket or on the streams of a program.

use std::io;
use std::path::{Path, PathBuf};

use agenthost_protocol::wire::Limits;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};

use crate::program::{HostProgram, RunningProgram};

/// The address of a host.
#[derive(Clone, PartialEq, Eq)]
pub enum HostAddress {
    /// A WebSocket, optionally with a token.
    WebSocket {
        /// The URL of the host, with the scheme `ws`.
        url: String,
        /// The bearer token that the host requires, if any.
        token: Option<String>,
    },
    /// The path of a Unix socket.
    UnixSocket(PathBuf),
    /// A program whose standard input and output are the connection, such as ssh. It is started
    /// for each connection.
    Program(HostProgram),
    /// The path of a ready file, which a host writes when it starts. The client reads it
    /// for each connection, so that it finds a host that has restarted at another address.
    ReadyFile(PathBuf),
}

/// The content of the file that a host writes when it listens.
#[derive(Clone, Deserialize)]
pub struct ReadyFile {
    /// Its `ws://` or `wss://` URL, if it listens on TCP.
    pub url: Option<String>,
    /// The path of its Unix socket, if it listens on one.
    pub socket: Option<PathBuf>,
    /// The bearer token for WebSocket connections.
    pub token: String,
    /// The process id of the host.
    pub pid: u32,
    /// The version of the host program.
    pub version: String,
}

impl ReadyFile {
    /// Reads and parses a ready file.
    pub fn read(path: &Path) -> Result<Self, TransportError> {
        let text = std::fs::read_to_string(path)?;
        serde_json::from_str(&text).map_err(|_| TransportError::InvalidReadyFile)
    }

    /// Returns the address to connect to. The Unix socket is preferred, because it needs no
    /// token.
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

/// Leaves out the token, which must not reach logs.
impl std::fmt::Debug for ReadyFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadyFile")
            .field("url", &self.url)
            .field("socket", &self.socket)
            .field("pid", &self.pid)
            .finish_non_exhaustive()
    }
}

/// Leaves out the token, which must not reach logs.
impl std::fmt::Debug for HostAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HostAddress::WebSocket { url, .. } => write!(f, "Web({url})"),
            HostAddress::UnixSocket(path) => write!(f, "Socket({})", path.display()),
            HostAddress::Program(program) => write!(f, "Program({})", program.program.display()),
            HostAddress::ReadyFile(path) => write!(f, "ReadyFile({})", path.display()),
        }
    }
}

/// Errors of the connection to a host.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// The WebSocket connection failed.
    #[error(transparent)]
    WebSocket(Box<tungstenite::Error>),
    /// The Unix socket, the ready file or the program failed.
    #[error(transparent)]
    UnixSocket(#[from] io::Error),
    /// The host sent a line that is longer than the limit.
    #[error("the host sent a line of more than {} bytes", Limits::STATE.bytes)]
    LineTooLong,
    /// The ready file has invalid content.
    #[error("the ready file of the host is invalid")]
    InvalidReadyFile,
    /// The host listens on no transport that this client supports.
    #[error(
        "the host (process {pid}) listens only with TLS or on standard input: \
         start it with `--socket` to use commands on this machine"
    )]
    NoUsableAddress {
        /// The process id of the host.
        pid: u32,
    },
    /// The token contains characters that an HTTP header cannot contain.
    #[error("the token contains characters that an HTTP header cannot contain")]
    InvalidToken,
    /// The host closed the connection.
    #[error("the host closed the connection{}", reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    Closed {
        /// The reason in the close frame, if any.
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

type LineReader = FramedRead<Box<dyn AsyncRead + Send + Unpin>, LinesCodec>;
type LineWriter = FramedWrite<Box<dyn AsyncWrite + Send + Unpin>, LinesCodec>;

/// A connection that sends and receives complete messages. [`crate::Client`] uses it with an
/// engine; programs with an event loop of their own can use it directly.
pub struct HostTransport(TransportKind);

enum TransportKind {
    WebSocket(Box<WebSocketStream<MaybeTlsStream<TcpStream>>>),
    Lines {
        reader: LineReader,
        writer: LineWriter,
    },
    Program {
        reader: LineReader,
        writer: LineWriter,
        program: Box<RunningProgram>,
    },
}

impl std::fmt::Debug for HostTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            TransportKind::WebSocket(_) => "WebSocket",
            TransportKind::Lines { .. } => "Lines",
            TransportKind::Program { .. } => "Program",
        })
    }
}

impl HostTransport {
    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError`] if the address has no host, or the host refuses the connection.
    pub async fn connect(address: &HostAddress) -> Result<Self, TransportError> {
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
                Ok(HostTransport(TransportKind::WebSocket(Box::new(socket))))
            }
            HostAddress::UnixSocket(path) => {
                let (reader, writer) = UnixStream::connect(path).await?.into_split();
                Ok(HostTransport::of_streams(reader, writer))
            }
            HostAddress::Program(program) => {
                let (program, stdout, stdin) = RunningProgram::start(program)?;
                Ok(HostTransport(TransportKind::Program {
                    reader: FramedRead::new(Box::new(stdout), line_codec()),
                    writer: FramedWrite::new(Box::new(stdin), line_codec()),
                    program: Box::new(program),
                }))
            }
        }
    }

    /// Uses the standard input and output of this process as a connection. The program at the
    /// other end is a client or a host.
    pub fn of_standard_streams() -> Self {
        Self::of_streams(tokio::io::stdin(), tokio::io::stdout())
    }

    fn of_streams(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        HostTransport(TransportKind::Lines {
            reader: FramedRead::new(Box::new(reader), line_codec()),
            writer: FramedWrite::new(Box::new(writer), line_codec()),
        })
    }

    /// Waits until the transport accepts a message. This method is cancel safe.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError`] if the connection is lost.
    pub async fn ready(&mut self) -> Result<(), TransportError> {
        match &mut self.0 {
            TransportKind::WebSocket(socket) => {
                std::future::poll_fn(|context| socket.poll_ready_unpin(context)).await?;
            }
            TransportKind::Lines { writer, .. } => wait_ready(writer).await?,
            TransportKind::Program {
                writer, program, ..
            } => {
                let ready = wait_ready(writer).await;
                program.explain(ready).await?;
            }
        }
        Ok(())
    }

    /// Passes a message to the transport, which must be ready.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError`] if the connection is lost.
    pub fn start_send(&mut self, text: String) -> Result<(), TransportError> {
        match &mut self.0 {
            TransportKind::WebSocket(socket) => Ok(socket.start_send_unpin(Message::text(text))?),
            TransportKind::Lines { writer, .. } | TransportKind::Program { writer, .. } => {
                Ok(writer.start_send_unpin(text)?)
            }
        }
    }

    /// Writes all accepted messages to the socket. This method is cancel safe.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError`] if the connection is lost.
    pub async fn flush(&mut self) -> Result<(), TransportError> {
        match &mut self.0 {
            TransportKind::WebSocket(socket) => Ok(socket.flush().await?),
            TransportKind::Lines { writer, .. } => Ok(SinkExt::<String>::flush(writer).await?),
            TransportKind::Program {
                writer, program, ..
            } => {
                let flushed = SinkExt::<String>::flush(writer).await;
                program.explain(flushed).await
            }
        }
    }

    /// Receives the next message. This method is cancel safe.
    ///
    /// # Errors
    ///
    /// Returns [`TransportError`] if the connection is lost or a message is too long.
    pub async fn next_message(&mut self) -> Result<String, TransportError> {
        let closed = |reason| TransportError::Closed { reason };
        match &mut self.0 {
            TransportKind::Lines { reader, .. } => {
                let line = reader.next().await;
                Ok(line.ok_or_else(|| closed(None))??)
            }
            TransportKind::Program {
                reader, program, ..
            } => loop {
                let line = tokio::select! {
                    line = reader.next() => line,
                    () = program.read_errors() => continue,
                };
                let Some(line) = line else {
                    let reason = program.end_reason().await;
                    return Err(closed(reason));
                };
                let line = line?;
                if program.is_message(&line) {
                    return Ok(line);
                }
            },
            TransportKind::WebSocket(socket) => loop {
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

fn line_codec() -> LinesCodec {
    LinesCodec::new_with_max_length(Limits::STATE.bytes)
}

async fn wait_ready(writer: &mut LineWriter) -> Result<(), LinesCodecError> {
    let ready =
        |context: &mut std::task::Context<'_>| SinkExt::<String>::poll_ready_unpin(writer, context);
    std::future::poll_fn(ready).await
}
