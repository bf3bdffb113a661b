//! Clients on a Unix socket or on standard input and output: one message a
//! line.
//!
//! Whoever can open the socket, or has started the host, is its owner: the
//! file system is the gate.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::net::{UnixListener, UnixStream};
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};

use crate::attend::{Gone, Incoming, Lobby, Reader, Writer, attend};
use crate::outbox::Closing;

/// A Unix socket that nobody else on the machine can open. Gone when dropped.
#[derive(Debug)]
pub(crate) struct PrivateSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl PrivateSocket {
    /// Listens at a path. A socket that was left behind there is replaced;
    /// one that somebody answers on is not, and no other file either.
    pub(crate) async fn bind(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::other("there is another file at this path"));
            }
            Ok(_) if UnixStream::connect(path).await.is_ok() => {
                return Err(io::Error::from(io::ErrorKind::AddrInUse));
            }
            _ => {}
        }
        // Made where nobody looks and moved when it is private, so there is
        // no moment when others could open it.
        let name = format!("agenthost-{}", std::process::id());
        let hidden = path.with_file_name(format!(".{name}"));
        std::fs::DirBuilder::new().mode(0o700).create(&hidden)?;
        let made: io::Result<_> = (|| {
            let inside = hidden.join("s");
            let listener = UnixListener::bind(&inside)?;
            std::fs::set_permissions(&inside, std::fs::Permissions::from_mode(0o600))?;
            std::fs::rename(&inside, path)?;
            Ok(listener)
        })();
        let removed = std::fs::remove_dir_all(&hidden);
        let listener = made?;
        removed?;
        Ok(PrivateSocket {
            listener,
            path: path.to_owned(),
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

impl Drop for PrivateSocket {
    fn drop(&mut self) {
        // Whoever removed it first wanted the same.
        std::fs::remove_file(&self.path).unwrap_or_default();
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
