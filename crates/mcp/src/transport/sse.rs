//! Server-sent events of a server, with a size limit.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agenthost_protocol::wire::Json;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use rmcp::transport::streamable_http_client::SseError;
use serde_json::json;
use sse_stream::{Sse, SseStream};

use crate::MAX_MESSAGE_BYTES;
use crate::server::raw_result::wrap_raw_result;

/// Returns the events of a response, with raw results. An event over the size limit ends the
/// stream. It is replaced by an error response to the request `asked`, so that the request
/// neither waits forever nor is retried.
pub(crate) fn bounded_events<S, B, E>(
    bytes: S,
    asked: Option<Json>,
) -> BoxStream<'static, Result<Sse, SseError>>
where
    S: Stream<Item = Result<B, E>> + Send + Unpin + 'static,
    B: AsRef<[u8]> + bytes::Buf + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let too_long = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&too_long);
    let mut since_end = EventSize::default();
    let bounded = bytes.map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        since_end.count_bytes(piece.as_ref());
        if since_end.bytes > MAX_MESSAGE_BYTES {
            seen.store(true, Ordering::Relaxed);
            return Err(io::Error::other("an event of more than 16 MiB"));
        }
        Ok(piece)
    });
    let events = SseStream::from_bytes_stream(bounded);
    let checked = events.scan(SseState::Open, move |next, event| {
        let passed = match (std::mem::take(next), event) {
            (SseState::Ended, _) => None,
            (SseState::Open, Ok(event)) => Some(Ok(wrap_event(event))),
            (SseState::Open, Err(error)) => Some(match &asked {
                Some(id) if too_long.load(Ordering::Relaxed) => {
                    *next = SseState::Ended;
                    Ok(too_long_event(id))
                }
                Some(_) | None => Err(error),
            }),
        };
        std::future::ready(passed)
    });
    checked.boxed()
}

/// State of the event stream.
#[derive(Debug, Default)]
enum SseState {
    #[default]
    Open,
    Ended,
}

/// Returns the error response to a request whose response was too large.
fn too_long_event(id: &Json) -> Sse {
    let error = json!({"code": -32603, "message": "the response has more than 16 MiB"});
    let error = json!({"jsonrpc": "2.0", "id": id, "error": error});
    Sse::default().data(error.to_string())
}

/// Number of bytes since the last empty line, which ends an event.
#[derive(Debug, Default)]
struct EventSize {
    bytes: usize,
    /// `true` if the current line has no bytes so far.
    empty: bool,
}

impl EventSize {
    fn count_bytes(&mut self, piece: &[u8]) {
        for byte in piece {
            self.bytes = self.bytes.saturating_add(1);
            match byte {
                b'\n' if self.empty => *self = EventSize::default(),
                b'\n' => self.empty = true,
                b'\r' => {}
                _ => self.empty = false,
            }
        }
    }
}

fn wrap_event(mut event: Sse) -> Sse {
    if let Some(data) = &event.data
        && let Ok(mut message) = serde_json::from_str::<Json>(data)
    {
        wrap_raw_result(&mut message);
        event.data = Some(message.to_string());
    }
    event
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn split_events_are_joined_and_their_size_is_limited() {
        let pieces = ["data: {\"result\":", "{\"a\":1}}\r\n\r", "\ndata: x\n\n"];
        let pieces = pieces.map(|piece| Ok::<_, io::Error>(bytes::Bytes::from(piece)));
        let read: Vec<_> = bounded_events(stream::iter(pieces), None).collect().await;
        let data: Vec<_> = read.into_iter().map(|event| event.unwrap().data).collect();
        assert_eq!(
            data,
            [
                Some(r#"{"result":{"agenthost.sealed":{"a":1}}}"#.to_owned()),
                Some("x".to_owned())
            ]
        );

        let piece = bytes::Bytes::from(vec![b'x'; 1024 * 1024]);
        let endless = stream::repeat_with(move || Ok::<_, io::Error>(piece.clone()));
        let mut read = bounded_events(endless.clone(), None);
        assert!(read.next().await.unwrap().is_err());
        let read: Vec<_> = bounded_events(endless, Some(json!(5))).collect().await;
        let [Ok(answer)] = &read[..] else {
            panic!("{read:?}");
        };
        assert!(answer.data.as_ref().unwrap().contains(r#""id":5,"error""#));
    }
}
