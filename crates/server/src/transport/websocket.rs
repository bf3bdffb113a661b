//! The WebSocket transport: the upgrade request, and the frames of a connection.

use std::sync::Arc;

use agenthost_net::{LogLimiter, PendingSlot};
use agenthost_stdx::result::IgnoreResult;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Extension, Router};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};

use crate::auth::UpgradeGuard;
use crate::connection::{
    ConnectionContext, IncomingFrame, MessageReader, MessageWriter, PeerGone, run_connection,
};
use crate::delivery::outbox::CloseReason;

/// State that all upgrade requests share.
#[derive(Clone)]
struct UpgradeState {
    guard: UpgradeGuard,
    context: ConnectionContext,
    log: Arc<LogLimiter>,
}

pub(crate) fn router(guard: UpgradeGuard, context: ConnectionContext) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/", any(upgrade))
        .with_state(UpgradeState {
            guard,
            context,
            log: Arc::default(),
        })
}

/// Upgrades the connection of an authenticated client, or responds with the reason for the
/// refusal, before the first message of the protocol.
async fn upgrade(
    State(UpgradeState {
        guard,
        context,
        log,
    }): State<UpgradeState>,
    Extension(slot): Extension<PendingSlot>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if let Err(refused) = guard.check(&uri, &headers) {
        if let Some(suppressed) = log.permit() {
            let reason = refused.reason().trim();
            tracing::info!(reason, suppressed, "refused a connection");
        }
        return (refused.status(), refused.reason()).into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(error) => return error.into_response(),
    };
    let Ok(permit) = Arc::clone(&context.permits).try_acquire_owned() else {
        let full = StatusCode::SERVICE_UNAVAILABLE;
        return (full, "too many connections\n").into_response();
    };
    // A promoted connection can't be evicted any more.
    if !slot.promote() {
        let full = StatusCode::SERVICE_UNAVAILABLE;
        return (full, "evicted for a newer connection\n").into_response();
    }
    upgrade
        .max_message_size(context.limits.message_limits.bytes)
        .max_frame_size(context.limits.message_limits.bytes)
        .on_upgrade(move |socket| {
            let tasks = context.tasks.clone();
            tasks.track_future(async move {
                let (sink, stream) = socket.split();
                run_connection(&context, stream, sink).await;
                drop(permit);
            })
        })
}

impl MessageReader for SplitStream<WebSocket> {
    const ANSWERS_PINGS: bool = true;

    async fn next(&mut self) -> IncomingFrame {
        match StreamExt::next(self).await {
            Some(Ok(Message::Text(text))) => IncomingFrame::Text(text),
            // Some clients send their text in binary frames (TRN-3).
            Some(Ok(Message::Binary(bytes))) => match Utf8Bytes::try_from(bytes) {
                Ok(text) => IncomingFrame::Text(text),
                Err(_) => IncomingFrame::End(CloseReason::InvalidUtf8),
            },
            Some(Ok(Message::Ping(_))) => IncomingFrame::Ping,
            Some(Ok(Message::Pong(_))) => IncomingFrame::KeepAlive,
            Some(Ok(Message::Close(_))) | None => IncomingFrame::End(CloseReason::Done),
            Some(Err(error)) => IncomingFrame::End(protocol_violation(error)),
        }
    }
}

impl MessageWriter for SplitSink<WebSocket, Message> {
    async fn write(&mut self, text: Utf8Bytes) -> Result<(), PeerGone> {
        self.feed(Message::Text(text)).await.map_err(|_| PeerGone)
    }

    async fn flush(&mut self) -> Result<(), PeerGone> {
        SinkExt::flush(self).await.map_err(|_| PeerGone)
    }

    async fn ping(&mut self) -> Result<(), PeerGone> {
        let ping = Message::Ping(axum::body::Bytes::new());
        SinkExt::send(self, ping).await.map_err(|_| PeerGone)
    }

    async fn close(&mut self, why: CloseReason) {
        let code = match why {
            CloseReason::Done => close_code::NORMAL,
            CloseReason::HostStopping | CloseReason::IdleTimeout => close_code::AWAY,
            CloseReason::TooSlow => close_code::AGAIN,
            CloseReason::TooLarge => close_code::SIZE,
            CloseReason::InvalidUtf8 => close_code::INVALID,
            CloseReason::ProtocolError => close_code::PROTOCOL,
        };
        let reason = why.reason().into();
        let frame = Message::Close(Some(CloseFrame { code, reason }));
        // If the client has sent its close frame first, the reply to that is flushed instead.
        SinkExt::send(self, frame).await.ignore_closed();
        SinkExt::close(self).await.ignore_closed();
    }
}

/// Returns the close reason for a WebSocket error. An aborted connection is not a violation.
fn protocol_violation(error: axum::Error) -> CloseReason {
    use tungstenite::Error;
    match error.into_inner().downcast_ref::<Error>() {
        Some(Error::Capacity(_)) => CloseReason::TooLarge,
        Some(Error::Utf8(_)) => CloseReason::InvalidUtf8,
        Some(Error::Protocol(problem)) => match problem {
            tungstenite::error::ProtocolError::ResetWithoutClosingHandshake => CloseReason::Done,
            _ => CloseReason::ProtocolError,
        },
        _ => CloseReason::Done,
    }
}
