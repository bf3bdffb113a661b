//! Transport for messages as lines, on pipes and sockets.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_protocol::wire::Json;
use rmcp::service::{RxJsonRpcMessage, ServiceRole, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::MAX_MESSAGE_BYTES;
use crate::server::raw_result::wrap_raw_result;

/// The end of a line stream, shared with the owner of the connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamEnd {
    /// Cancelled when the stream has ended or the transport is dropped.
    pub(crate) over: CancellationToken,
    too_long: Arc<AtomicBool>,
}

impl StreamEnd {
    /// Uses an existing token, so that its cancellation is shared.
    pub(crate) fn with_token(over: CancellationToken) -> Self {
        StreamEnd {
            over,
            ..StreamEnd::default()
        }
    }

    /// Returns `true` if the stream ended because a line was over the size limit.
    pub(crate) fn is_line_too_long(&self) -> bool {
        self.too_long.load(Ordering::Relaxed)
    }
}

/// Reads and writes messages as lines. Lines that are no messages are skipped, because programs
/// also print other text. A line over the size limit ends the stream: it may have been a
/// response, and its request must not wait forever.
pub(crate) struct LineTransport<R, W> {
    reader: R,
    /// The incomplete line, kept because a read may be cancelled.
    line: Vec<u8>,
    /// Shared with the send futures. The lock keeps messages whole.
    writer: Arc<Mutex<Option<W>>>,
    stream_end: StreamEnd,
    _over: DropGuard,
}

impl<R, W> LineTransport<R, W> {
    pub(crate) fn new(reader: R, writer: W, stream_end: StreamEnd) -> Self {
        LineTransport {
            reader,
            line: Vec::new(),
            writer: Arc::new(Mutex::new(Some(writer))),
            _over: stream_end.over.clone().drop_guard(),
            stream_end,
        }
    }
}

impl<R: AsyncBufRead + Unpin, W> LineTransport<R, W> {
    /// Reads to the end of a line into `self.line`. Cancel safe: no bytes are lost when the
    /// future is dropped.
    async fn read_line(&mut self) -> Option<()> {
        loop {
            // A pipe that can't be read is treated as closed.
            let piece = self.reader.fill_buf().await.ok()?;
            if piece.is_empty() {
                return None;
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |end| end.saturating_add(1));
            let text = piece.get(..end.unwrap_or(taken)).unwrap_or_default();
            if self.line.len().saturating_add(text.len()) > MAX_MESSAGE_BYTES {
                self.stream_end.too_long.store(true, Ordering::Relaxed);
                return None;
            }
            self.line.extend_from_slice(text);
            self.reader.consume(taken);
            if end.is_some() {
                return Some(());
            }
        }
    }

    async fn next_message<Role: ServiceRole>(&mut self) -> Option<RxJsonRpcMessage<Role>> {
        loop {
            self.read_line().await?;
            let line = std::mem::take(&mut self.line);
            if let Some(message) = parse_line::<Role>(&line) {
                return Some(message);
            }
            tracing::debug!(bytes = line.len(), "skipped a line that is not a message");
        }
    }
}

/// Parses a line as a message. An unreadable response becomes an error response, so that its
/// request does not wait forever.
fn parse_line<Role: ServiceRole>(line: &[u8]) -> Option<RxJsonRpcMessage<Role>> {
    let message = serde_json::from_slice(line).ok();
    let read = message.and_then(|mut message| {
        if Role::IS_CLIENT {
            wrap_raw_result(&mut message);
        }
        serde_json::from_value(message).ok()
    });
    read.or_else(|| {
        let answer: UnreadableResponse = serde_json::from_slice(line).ok()?;
        let error = json!({"code": -32603, "message": "the response cannot be parsed"});
        let error = json!({"jsonrpc": "2.0", "id": answer.id, "error": error});
        serde_json::from_value(error).ok()
    })
}

/// The id of a response that can't be parsed, for example because its values are nested too
/// deeply. The result may have any content.
#[derive(Deserialize)]
struct UnreadableResponse {
    id: Json,
    #[serde(rename = "result")]
    _result: IgnoredAny,
}

impl<Role, R, W> Transport<Role> for LineTransport<R, W>
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
        let message = self.next_message::<Role>().await;
        if message.is_none() {
            self.stream_end.over.cancel();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        // The lock is free, unless a send is blocked because the peer does not read.
        if let Ok(mut writer) = self.writer.try_lock() {
            writer.take();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::RoleClient;
    use rmcp::model::JsonRpcMessage;

    use super::*;

    #[test]
    fn an_unreadable_response_becomes_an_error() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        let line = format!(r#"{{"jsonrpc":"2.0","result":{{"x":{deep}}},"id":7}}"#);
        let read = parse_line::<RoleClient>(line.as_bytes());
        let Some(JsonRpcMessage::Error(error)) = read else {
            panic!("{read:?}");
        };
        assert_eq!(serde_json::to_value(error.id).unwrap(), json!(7));
        for noise in ["", "x", "{}", "[]", r#"{"id":1}"#, r#"{"id":1,"result":"#] {
            assert!(
                parse_line::<RoleClient>(noise.as_bytes()).is_none(),
                "{noise}"
            );
        }
    }

    #[tokio::test]
    async fn an_overlong_line_ends_the_transport() {
        let endless = tokio::io::BufReader::new(tokio::io::repeat(b'x'));
        let ending = StreamEnd::default();
        let mut lines = LineTransport::new(endless, tokio::io::sink(), ending.clone());
        let read = Transport::<RoleClient>::receive(&mut lines).await;
        assert!(read.is_none() && ending.is_line_too_long());
        assert!(ending.over.is_cancelled());
    }
}
