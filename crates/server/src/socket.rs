//! A client's WebSocket.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agenthost_core::{ConnectionId, Input, Principal};
use axum::Router;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use crate::config::ServerLimits;
use crate::connection::{Event, decode};
use crate::encode;
use crate::gate::Gate;
use crate::outbox::{Outgoing, Outlet, outbox};

/// What connections share.
#[derive(Clone)]
pub(crate) struct Lobby {
    pub(crate) gate: Gate,
    pub(crate) limits: ServerLimits,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) next: Arc<AtomicU32>,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) stop: CancellationToken,
}

pub(crate) fn router(lobby: Lobby) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/", any(upgrade))
        .with_state(lobby)
}

/// Lets a client in, or says why not, before a word of the protocol.
async fn upgrade(
    State(lobby): State<Lobby>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if let Err(refused) = lobby.gate.check(&uri, &headers) {
        tracing::info!(reason = refused.reason().trim(), "a connection was refused");
        return (refused.status(), refused.reason()).into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(error) => return error.into_response(),
    };
    let Ok(place) = Arc::clone(&lobby.places).try_acquire_owned() else {
        let full = axum::http::StatusCode::SERVICE_UNAVAILABLE;
        return (full, "there are too many connections\n").into_response();
    };
    upgrade
        .max_message_size(lobby.limits.message.bytes)
        .max_frame_size(lobby.limits.message.bytes)
        .on_upgrade(move |socket| async move {
            attend(lobby, socket).await;
            drop(place);
        })
}

/// A connection from its first word to its last.
async fn attend(lobby: Lobby, socket: WebSocket) {
    let connection = ConnectionId(lobby.next.fetch_add(1, Ordering::Relaxed));
    let (outbox, outlet) = outbox(lobby.limits.outbox_bytes);
    let connected = Event::Connected {
        connection,
        // Whoever has the token is the owner of the machine.
        principal: Principal("owner".to_owned()),
        outbox,
    };
    if lobby.events.send(connected).await.is_err() {
        return;
    }
    tracing::debug!(connection = connection.0, "connected");
    let (sink, stream) = socket.split();
    // Whichever ends first ends the other.
    tokio::select! {
        () = read(&lobby, connection, stream) => {}
        () = write(&lobby, sink, outlet) => {}
    }
    let gone = Event::Input(Input::Disconnected { connection });
    // A loop that has ended knows nobody any more.
    drop(lobby.events.send(gone).await);
    tracing::debug!(connection = connection.0, "disconnected");
}

async fn read(lobby: &Lobby, connection: ConnectionId, mut stream: SplitStream<WebSocket>) {
    loop {
        let next = tokio::time::timeout(lobby.limits.idle, stream.next()).await;
        let Ok(Some(Ok(message))) = next else {
            return;
        };
        let text = match message {
            Message::Text(text) => text,
            // Some clients send their text as bytes (TRN-3).
            Message::Binary(bytes) => match Utf8Bytes::try_from(bytes) {
                Ok(text) => text,
                Err(_) => return,
            },
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return,
        };
        let Some(message) = decode(&text, lobby.limits.message) else {
            continue;
        };
        let received = Input::Received {
            connection,
            message,
        };
        if lobby.events.send(Event::Input(received)).await.is_err() {
            return;
        }
    }
}

async fn write(lobby: &Lobby, mut sink: SplitSink<WebSocket, Message>, mut outlet: Outlet) {
    let mut ping = tokio::time::interval(lobby.limits.idle / 3);
    let overflow = outlet.overflow.clone();
    loop {
        let message = tokio::select! {
            biased;
            () = overflow.cancelled() => {
                close(&mut sink, close_code::AGAIN, "too slow: reconnect to go on").await;
                return;
            }
            () = lobby.stop.cancelled() => {
                close(&mut sink, close_code::AWAY, "the host stops").await;
                return;
            }
            outgoing = outlet.next() => match outgoing {
                Some(Outgoing::Text(text)) => Message::Text(text),
                Some(Outgoing::Answer(id, answer)) => match encode::answer(&id, &answer) {
                    Ok(text) => Message::Text(text.into()),
                    Err(error) => {
                        tracing::error!(%error, "an answer could not be encoded");
                        return;
                    }
                },
                Some(Outgoing::Close) | None => {
                    close(&mut sink, close_code::NORMAL, "").await;
                    return;
                }
            },
            _ = ping.tick() => Message::Ping(axum::body::Bytes::new()),
        };
        // A peer that takes nothing must not hold what waits for it forever.
        let sent = tokio::select! {
            sent = sink.send(message) => sent,
            () = overflow.cancelled() => continue,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn close(sink: &mut SplitSink<WebSocket, Message>, code: u16, reason: &'static str) {
    let frame = CloseFrame {
        code,
        reason: reason.into(),
    };
    let closing = sink.send(Message::Close(Some(frame)));
    // A peer that does not read does not get to know why.
    drop(tokio::time::timeout(Duration::from_secs(1), closing).await);
}
