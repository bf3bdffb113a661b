//! Messages as lines: how programs talk to each other by pipes and sockets.

use std::io;
use std::sync::Arc;

use agenthost_protocol::wire::Json;
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::LONGEST_MESSAGE;
use super::seal::seal;

/// Reads and writes messages, a line each. What is no message is passed over:
/// programs print things. A line that is too long is passed over as well.
pub(super) struct Lines<R, W> {
    reader: R,
    /// What was read of a line so far: a read may be interrupted.
    line: Vec<u8>,
    /// Whether the rest of a line is passed over.
    too_long: bool,
    /// Shared with what is being sent; whole messages take turns.
    writer: Arc<Mutex<Option<W>>>,
    /// Cancelled when nothing more can be read, or nobody wants to.
    _end: DropGuard,
    end: CancellationToken,
}

impl<R, W> Lines<R, W> {
    /// Messages between two ends. The token is cancelled with the last one.
    pub(super) fn new(reader: R, writer: W, end: CancellationToken) -> Self {
        Lines {
            reader,
            line: Vec::new(),
            too_long: false,
            writer: Arc::new(Mutex::new(Some(writer))),
            _end: end.clone().drop_guard(),
            end,
        }
    }
}

impl<R: AsyncBufRead + Unpin, W> Lines<R, W> {
    /// Reads to the end of a line. What was read stays when this is dropped.
    async fn read(&mut self) -> Option<()> {
        loop {
            // A pipe that can't be read is one that is closed.
            let piece = self.reader.fill_buf().await.ok()?;
            if piece.is_empty() {
                return None;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |end| end.saturating_add(1));
            let text = piece.get(..end.unwrap_or(taken)).unwrap_or_default();
            if self.line.len().saturating_add(text.len()) > LONGEST_MESSAGE {
                self.too_long = true;
                self.line = Vec::new();
            } else if !self.too_long {
                self.line.extend_from_slice(text);
            }
            self.reader.consume(taken);
            if end.is_some() {
                return Some(());
            }
        }
    }

    async fn next<Role: ServiceRole>(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            self.read().await?;
            let line = std::mem::take(&mut self.line);
            if std::mem::take(&mut self.too_long) {
                tracing::warn!("a message of more than 16 MiB is passed over");
                continue;
            }
            if let Some(message) = understood::<Role>(&line) {
                return Some(message);
            }
            tracing::debug!(bytes = line.len(), "a line that is no message");
        }
    }
}

/// A line as a message, if it is one.
fn understood<Role: ServiceRole>(line: &[u8]) -> Option<RxJsonRpcMessage<Role>> {
    let mut message: Json = serde_json::from_slice(line).ok()?;
    if Role::IS_CLIENT {
        seal(&mut message);
    }
    serde_json::from_value(message).ok()
}

impl<Role, R, W> Transport<Role> for Lines<R, W>
where
    Role: ServiceRole,
    R: AsyncBufRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<Role>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            let writer = writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            writer.write_all(&line).await?;
            writer.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        let message = self.next::<Role>().await;
        if message.is_none() {
            self.end.cancel();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        // Whoever sends has let go of it by now, or the other end is stuck.
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.take();
        }
        Ok(())
    }
}
