//! Serves clients on a Unix socket or on standard input and output, with one message per line.
//!
//! File permissions are the authentication: a client that can open the socket, or that has
//! started the host, acts for the owner of the host.

use std::io;
use std::path::Path;
use std::sync::Arc;

use agenthost_stdx::private_socket::{self, SocketFile};
use agenthost_stdx::result::IgnoreResult;
use axum::extract::ws::Utf8Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::net::UnixListener;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use crate::connection::{
    ConnectionContext, ConnectionPeer, IncomingFrame, MessageReader, MessageWriter, PeerGone,
    run_connection,
};
use crate::delivery::outbox::CloseReason;

/// A Unix socket that only the user of the host can connect to. Its file is removed on drop.
#[derive(Debug)]
pub(crate) struct UnixSocketListener {
    listener: UnixListener,
    _file: SocketFile,
}

impl UnixSocketListener {
    /// Binds a socket at a path. A stale socket of an earlier host is replaced. A socket that a
    /// process listens on is not, and neither is any other file.
    pub(crate) async fn bind(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let bound = tokio::task::spawn_blocking(move || private_socket::bind(&path));
        let (listener, file) = bound.await.map_err(io::Error::other)??;
        listener.set_nonblocking(true)?;
        Ok(UnixSocketListener {
            listener: UnixListener::from_std(listener)?,
            _file: file,
        })
    }

    /// Accepts connections until the host stops.
    pub(crate) async fn accept(self, context: ConnectionContext) {
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = context.stop.cancelled() => return,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // The error is temporary, for example a lack of file descriptors.
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                    continue;
                }
            };
            let Ok(permit) = Arc::clone(&context.permits).try_acquire_owned() else {
                tracing::info!("refused a connection: too many connections");
                continue;
            };
            let connection_context = context.clone();
            context.tasks.spawn(async move {
                let (reader, writer) = stream.into_split();
                serve_lines(&connection_context, reader, writer).await;
                drop(permit);
            });
        }
    }
}

/// Serves a client that sends one message per line.
pub(crate) async fn serve_lines(
    context: &ConnectionContext,
    reader: impl AsyncRead + Unpin + Send,
    writer: impl AsyncWrite + Unpin + Send,
) {
    let codec = LinesCodec::new_with_max_length(context.limits.message_limits.bytes);
    let reader = FramedRead::new(reader, codec);
    let writer = BufWriter::with_capacity(64 * 1024, writer);
    let owner = ConnectionPeer::owner();
    run_connection(context, owner, reader, LineWriter(writer)).await;
}

impl<R: AsyncRead + Unpin + Send> MessageReader for FramedRead<R, LinesCodec> {
    const ANSWERS_PINGS: bool = false;

    async fn next(&mut self) -> IncomingFrame {
        match StreamExt::next(self).await {
            // An empty line is not a message, but it counts for the rate limit.
            Some(Ok(line)) if line.trim().is_empty() => IncomingFrame::KeepAlive,
            Some(Ok(line)) => IncomingFrame::Text(line.into()),
            Some(Err(LinesCodecError::MaxLineLengthExceeded)) => {
                IncomingFrame::End(CloseReason::TooLarge)
            }
            Some(Err(LinesCodecError::Io(error))) => match error.kind() {
                io::ErrorKind::InvalidData => IncomingFrame::End(CloseReason::InvalidUtf8),
                _ => IncomingFrame::End(CloseReason::Done),
            },
            None => IncomingFrame::End(CloseReason::Done),
        }
    }
}

struct LineWriter<W>(W);

impl<W: AsyncWrite + Unpin + Send> MessageWriter for LineWriter<W> {
    /// Writes a message and a line break. The message itself has none, because JSON escapes
    /// them.
    async fn write(&mut self, text: Utf8Bytes) -> Result<(), PeerGone> {
        self.0
            .write_all(text.as_bytes())
            .await
            .map_err(|_| PeerGone)?;
        self.0.write_all(b"\n").await.map_err(|_| PeerGone)
    }

    async fn flush(&mut self) -> Result<(), PeerGone> {
        self.0.flush().await.map_err(|_| PeerGone)
    }

    async fn ping(&mut self) -> Result<(), PeerGone> {
        Ok(())
    }

    async fn close(&mut self, _why: CloseReason) {
        self.0.shutdown().await.ignore_closed();
    }
}
