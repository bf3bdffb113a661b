//! A client's WebSocket.

use std::sync::Arc;

use agenthost_net::{LogLimiter, PendingSlot};
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Extension, Router};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};

use crate::attend::{Gone, Incoming, Lobby, Reader, Writer, attend};
use crate::gate::Gate;
use crate::outbox::Closing;

/// What requests share.
#[derive(Clone)]
struct Door {
    gate: Gate,
    lobby: Lobby,
    log: Arc<LogLimiter>,
}

pub(crate) fn router(gate: Gate, lobby: Lobby) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/", any(upgrade))
        .with_state(Door {
            gate,
            lobby,
            log: Arc::default(),
        })
}

/// Lets a client in, or says why not, before a word of the protocol.
async fn upgrade(
    State(Door { gate, lobby, log }): State<Door>,
    Extension(slot): Extension<PendingSlot>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if let Err(refused) = gate.check(&uri, &headers) {
        if let Some(suppressed) = log.permit() {
            let reason = refused.reason().trim();
            tracing::info!(reason, suppressed, "a connection was refused");
        }
        return (refused.status(), refused.reason()).into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(error) => return error.into_response(),
    };
    let Ok(place) = Arc::clone(&lobby.places).try_acquire_owned() else {
        let full = StatusCode::SERVICE_UNAVAILABLE;
        return (full, "there are too many connections\n").into_response();
    };
    // A client that is let in can't be evicted any more.
    if !slot.promote() {
        let full = StatusCode::SERVICE_UNAVAILABLE;
        return (full, "evicted for a newer connection\n").into_response();
    }
    upgrade
        .max_message_size(lobby.limits.message.bytes)
        .max_frame_size(lobby.limits.message.bytes)
        .on_upgrade(move |socket| {
            let guests = lobby.guests.clone();
            guests.track_future(async move {
                let (sink, stream) = socket.split();
                attend(&lobby, stream, sink).await;
                drop(place);
            })
        })
}

impl Reader for SplitStream<WebSocket> {
    const ANSWERS_PINGS: bool = true;

    async fn next(&mut self) -> Incoming {
        match StreamExt::next(self).await {
            Some(Ok(Message::Text(text))) => Incoming::Text(text),
            // Some clients send their text as bytes (TRN-3).
            Some(Ok(Message::Binary(bytes))) => match Utf8Bytes::try_from(bytes) {
                Ok(text) => Incoming::Text(text),
                Err(_) => Incoming::End(Closing::NotText),
            },
            Some(Ok(Message::Ping(_))) => Incoming::Ping,
            Some(Ok(Message::Pong(_))) => Incoming::Alive,
            Some(Ok(Message::Close(_))) | None => Incoming::End(Closing::Done),
            Some(Err(error)) => Incoming::End(what_is_wrong(error)),
        }
    }
}

impl Writer for SplitSink<WebSocket, Message> {
    async fn write(&mut self, text: Utf8Bytes) -> Result<(), Gone> {
        self.feed(Message::Text(text)).await.map_err(|_| Gone)
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        SinkExt::flush(self).await.map_err(|_| Gone)
    }

    async fn ping(&mut self) -> Result<(), Gone> {
        let ping = Message::Ping(axum::body::Bytes::new());
        SinkExt::send(self, ping).await.map_err(|_| Gone)
    }

    async fn close(&mut self, why: Closing) {
        let code = match why {
            Closing::Done => close_code::NORMAL,
            Closing::Stopping | Closing::Silent => close_code::AWAY,
            Closing::TooSlow => close_code::AGAIN,
            Closing::TooLarge => close_code::SIZE,
            Closing::NotText => close_code::INVALID,
            Closing::Broken => close_code::PROTOCOL,
        };
        let reason = why.reason().into();
        let frame = Message::Close(Some(CloseFrame { code, reason }));
        // If the peer said goodbye first, the answer to that is what has to go.
        // It ends either way.
        drop(SinkExt::send(self, frame).await);
        drop(SinkExt::close(self).await);
    }
}

/// What a peer did wrong, if it did.
fn what_is_wrong(error: axum::Error) -> Closing {
    use tungstenite::Error;
    match error.into_inner().downcast_ref::<Error>() {
        Some(Error::Capacity(_)) => Closing::TooLarge,
        Some(Error::Utf8(_)) => Closing::NotText,
        Some(Error::Protocol(problem)) => match problem {
            tungstenite::error::ProtocolError::ResetWithoutClosingHandshake => Closing::Done,
            _ => Closing::Broken,
        },
        _ => Closing::Done,
    }
}
