//! The WebSocket transport: the upgrade request, and the frames of a connection.

use std::sync::Arc;

use agenthost_net::PendingSlot;
use agenthost_stdx::result::IgnoreResult;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Router, middleware};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};

use crate::auth::{RequestCredential, UpgradeRejection};
use crate::connection::{
    ConnectionPeer, IncomingFrame, MessageReader, MessageWriter, PeerGone, run_connection,
};
use crate::delivery::outbox::CloseReason;
use crate::page::{HttpState, app_frame, files, headers, refusals, sign_in};

/// Returns the routes of the TCP listener: the WebSocket, the page and the health check.
pub(crate) fn router(state: HttpState) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/", any(upgrade))
        .route("/pair", post(sign_in::pair))
        .route("/unpair", post(sign_in::unpair))
        .route("/device", get(sign_in::describe_device))
        .route("/app-frame", get(app_frame::serve_app_frame))
        .fallback(files::serve_file)
        .layer(middleware::from_fn_with_state(
            state.clone(),
            refusals::report_refusals,
        ))
        .layer(middleware::from_fn(headers::add_security_headers))
        .with_state(state)
}

/// Upgrades the connection of an authenticated client, or responds with the reason for the
/// refusal, before the first message of the protocol. A request without an upgrade gets the
/// page, if there is one.
async fn upgrade(
    State(state): State<HttpState>,
    Extension(slot): Extension<PendingSlot>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if state.files.is_index_request(&method, &headers) {
        return files::serve_index(&state, &headers).await;
    }
    let peer = match authenticate(&state, &uri, &headers).await {
        Ok(peer) => peer,
        Err(rejection) => return state.refuse(rejection),
    };
    let context = state.context;
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
                run_connection(&context, peer, stream, sink).await;
                drop(permit);
            })
        })
}

/// Finds the peer that an upgrade request authenticates.
async fn authenticate(
    state: &HttpState,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<ConnectionPeer, UpgradeRejection> {
    match state.guard.check(uri, headers)? {
        RequestCredential::Token => Ok(ConnectionPeer::owner()),
        RequestCredential::Cookies(secrets) => {
            let found = state.find_device_of(secrets).await;
            let (_, found) = found.ok_or(UpgradeRejection::InvalidToken)?;
            Ok(ConnectionPeer::device(&found, &state.devices))
        }
    }
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
            CloseReason::Revoked => close_code::POLICY,
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
