//! Clients on a Unix socket or on standard input and output: one message a
//! line.
//!
//! Whoever can open the socket, or has started the host, is its owner: the
//! file system is the gate.

use std::io;
use std::path::Path;
use std::sync::Arc;

use agenthost_stdx::private_socket::{self, SocketFile};
use axum::extract::ws::Utf8Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::net::UnixListener;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use crate::attend::{Gone, Incoming, Lobby, Reader, Writer, attend};
use crate::outbox::Closing;

/// A Unix socket that only the user of the host can connect to. Its file is
/// removed when it is dropped.
#[derive(Debug)]
pub(crate) struct PrivateSocket {
    listener: UnixListener,
    _file: SocketFile,
}

impl PrivateSocket {
    /// Listens at a path. A socket that an earlier host left there is replaced;
    /// one that a process listens on is not, and no other file either.
    pub(crate) async fn bind(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let bound = tokio::task::spawn_blocking(move || private_socket::bind(&path));
        let (listener, file) = bound.await.map_err(io::Error::other)??;
        listener.set_nonblocking(true)?;
        Ok(PrivateSocket {
            listener: UnixListener::from_std(listener)?,
            _file: file,
        })
    }

    /// Lets clients in until the host stops.
    pub(crate) async fn accept(self, lobby: Lobby) {
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = lobby.stop.cancelled() => return,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Too many open files, for example: that passes.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&lobby.places).try_acquire_owned() else {
                tracing::info!("there are too many connections");
                continue;
            };
            let guest = lobby.clone();
            lobby.guests.spawn(async move {
                let (reader, writer) = stream.into_split();
                lines(&guest, reader, writer).await;
                drop(place);
            });
        }
    }
}

/// Attends to a peer that sends lines.
pub(crate) async fn lines(
    lobby: &Lobby,
    reader: impl AsyncRead + Unpin + Send,
    writer: impl AsyncWrite + Unpin + Send,
) {
    let codec = LinesCodec::new_with_max_length(lobby.limits.message.bytes);
    let reader = FramedRead::new(reader, codec);
    let writer = BufWriter::with_capacity(64 * 1024, writer);
    attend(lobby, reader, LineWriter(writer)).await;
}

impl<R: AsyncRead + Unpin + Send> Reader for FramedRead<R, LinesCodec> {
    const ANSWERS_PINGS: bool = false;

    async fn next(&mut self) -> Incoming {
        match StreamExt::next(self).await {
            // Not a message, but it counts for the rate limit.
            Some(Ok(line)) if line.trim().is_empty() => Incoming::Alive,
            Some(Ok(line)) => Incoming::Text(line.into()),
            Some(Err(LinesCodecError::MaxLineLengthExceeded)) => Incoming::End(Closing::TooLarge),
            Some(Err(LinesCodecError::Io(error))) => match error.kind() {
                io::ErrorKind::InvalidData => Incoming::End(Closing::NotText),
                _ => Incoming::End(Closing::Done),
            },
            None => Incoming::End(Closing::Done),
        }
    }
}

struct LineWriter<W>(W);

impl<W: AsyncWrite + Unpin + Send> Writer for LineWriter<W> {
    /// A message has no line breaks in it: JSON escapes them.
    async fn write(&mut self, text: Utf8Bytes) -> Result<(), Gone> {
        self.0.write_all(text.as_bytes()).await.map_err(|_| Gone)?;
        self.0.write_all(b"\n").await.map_err(|_| Gone)
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        self.0.flush().await.map_err(|_| Gone)
    }

    async fn ping(&mut self) -> Result<(), Gone> {
        Ok(())
    }

    async fn close(&mut self, _why: Closing) {
        // It ends either way.
        self.0.shutdown().await.unwrap_or_default();
    }
}
