//! The task of one connection, from the first message to the close, over any transport.

pub(crate) mod message;
pub(crate) mod pongs;
pub(crate) mod rate_limit;
pub(crate) mod salvage;
pub(crate) mod wire_log;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agenthost_core::{ClientMessage, ConnectionId, Input, PeerIdentity, Principal};
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_stdx::result::IgnoreResult;
use axum::extract::ws::Utf8Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::device_registry::{
    AuthenticatedDevice, DeviceRegistry, RevocationSignal, device_identity,
};
use crate::config::ServerLimits;
use crate::connection::message::{LoopEvent, ReceivedMessage, decode_message};
use crate::connection::pongs::{PongBudget, PongTimeout};
use crate::connection::rate_limit::RateLimiter;
use crate::connection::wire_log::{WireDirection, WireLog};
use crate::delivery::encode;
use crate::delivery::outbox::{
    CapacityNotify, CloseReason, OutboxReceiver, OutgoingMessage, outbox_channel,
};
use crate::legacy::CurrentVersionFlag;

/// Timeout for a client to read its remaining messages when the host closes the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// State that all connections share.
#[derive(Clone)]
pub(crate) struct ConnectionContext {
    pub(crate) limits: ServerLimits,
    pub(crate) events: mpsc::Sender<LoopEvent>,
    pub(crate) next_connection: Arc<AtomicU32>,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) capacity: CapacityNotify,
    pub(crate) wire_log: Option<WireLog>,
    /// Cancelled when the host stops; no more messages are read then.
    pub(crate) stop: CancellationToken,
    /// The tasks of all connections.
    pub(crate) tasks: TaskTracker,
}

/// An event that a transport reads from the client.
pub(crate) enum IncomingFrame {
    /// A message of the protocol.
    Text(Utf8Bytes),
    /// A pong or an empty line, which shows that the client is alive.
    KeepAlive,
    /// A ping, which the transport answers by itself.
    Ping,
    /// The end of the stream, with the reason.
    End(CloseReason),
}

/// The reading half of a transport.
pub(crate) trait MessageReader: Send {
    /// `true` if a live client answers pings by itself. If `false`, a silent connection is not
    /// an error and has no idle timeout.
    const ANSWERS_PINGS: bool;

    /// Waits for the next frame. After [`IncomingFrame::End`] there are no more.
    fn next(&mut self) -> impl Future<Output = IncomingFrame> + Send;
}

/// The writing half of a transport.
pub(crate) trait MessageWriter: Send {
    /// Writes one complete message, possibly to a buffer. An error ends the connection.
    fn write(&mut self, text: Utf8Bytes) -> impl Future<Output = Result<(), PeerGone>> + Send;

    /// Flushes the buffer to the socket.
    fn flush(&mut self) -> impl Future<Output = Result<(), PeerGone>> + Send;

    /// Sends a ping, if the transport has pings.
    fn ping(&mut self) -> impl Future<Output = Result<(), PeerGone>> + Send;

    /// Closes the connection, with the reason if the transport can send one.
    fn close(&mut self, why: CloseReason) -> impl Future<Output = ()> + Send;
}

/// The error for a client that has disconnected.
#[derive(Debug)]
pub(crate) struct PeerGone;

/// The authenticated peer of a connection.
pub(crate) struct ConnectionPeer {
    identity: PeerIdentity,
    /// Ends when the peer is no longer authenticated. A peer with the token has none.
    revocation: Option<RevocationSignal>,
}

impl ConnectionPeer {
    /// Creates the peer with the token of the host, or with access to its files: it acts for
    /// the owner of the machine.
    pub(crate) fn owner() -> Self {
        let principal = Principal("owner".to_owned());
        ConnectionPeer {
            identity: PeerIdentity::with_all_rights(principal),
            revocation: None,
        }
    }

    /// Creates the peer with the cookie of a paired device.
    pub(crate) fn device(found: &AuthenticatedDevice, devices: &DeviceRegistry) -> Self {
        ConnectionPeer {
            identity: device_identity(&found.device),
            revocation: Some(devices.revocation_signal(&found.device.id)),
        }
    }
}

/// Serves an authenticated client until it disconnects or the host closes the connection.
pub(crate) async fn run_connection(
    context: &ConnectionContext,
    peer: ConnectionPeer,
    reader: impl MessageReader,
    writer: impl MessageWriter,
) {
    let connection = ConnectionId(context.next_connection.fetch_add(1, Ordering::Relaxed));
    let (outbox, outbox_receiver) =
        outbox_channel(context.limits.outbox_bytes, Arc::clone(&context.capacity));
    let version_flag = CurrentVersionFlag::default();
    let connected = LoopEvent::Connected {
        connection,
        peer: peer.identity,
        outbox,
        version_flag: version_flag.clone(),
    };
    if context.events.send(connected).await.is_err() {
        return;
    }
    tracing::debug!(connection = connection.0, "connected");
    let pongs = PongBudget::new();
    let mut writing = std::pin::pin!(write_messages(
        context,
        connection,
        writer,
        outbox_receiver,
        &pongs
    ));
    let reading = read_messages(context, connection, reader, &version_flag, &pongs);
    tokio::select! {
        () = &mut writing => {}
        why = read_until_revoked(peer.revocation, reading) => {
            tracing::debug!(connection = connection.0, why = why.reason(), "stopped reading");
            // Earlier requests still get their responses: a client may close its sending half
            // and keep reading. When the host stops, the loop closes all connections itself.
            if !context.stop.is_cancelled() {
                let read_ended = LoopEvent::ReadEnded { connection, reason: why };
                context.events.send(read_ended).await.ignore_closed();
            }
            // A client that has not read its pongs does not read other messages either.
            if why != CloseReason::TooSlow {
                let written = tokio::time::timeout(2 * CLOSE_TIMEOUT, writing).await;
                written.ignore_elapsed();
            }
        }
    }
    let disconnected = LoopEvent::Input(Input::Disconnected { connection });
    context.events.send(disconnected).await.ignore_closed();
    tracing::debug!(connection = connection.0, "disconnected");
}

/// Reads messages like [`read_messages`], until the device of the client is revoked.
async fn read_until_revoked(
    revocation: Option<RevocationSignal>,
    reading: impl Future<Output = CloseReason>,
) -> CloseReason {
    match revocation {
        None => reading.await,
        Some(mut revocation) => tokio::select! {
            why = reading => why,
            () = revocation.wait() => CloseReason::Revoked,
        },
    }
}

/// Reads messages until the stream ends or the host stops, and returns the reason.
async fn read_messages(
    context: &ConnectionContext,
    connection: ConnectionId,
    mut reader: impl MessageReader,
    version_flag: &CurrentVersionFlag,
    pongs: &PongBudget,
) -> CloseReason {
    let mut rate_limiter = RateLimiter::new(context.limits.messages_per_second);
    // Limits the messages of one client that wait for the loop, so that no client fills the
    // input queue alone.
    let in_flight = Arc::new(Semaphore::new(context.limits.in_flight));
    loop {
        let incoming = tokio::select! {
            incoming = next_frame(context, &mut reader) => incoming,
            () = context.stop.cancelled() => return CloseReason::HostStopping,
        };
        let (message, bytes, end) = match incoming {
            IncomingFrame::KeepAlive => {
                rate_limiter.acquire().await;
                continue;
            }
            IncomingFrame::Ping => {
                rate_limiter.acquire().await;
                let counted = tokio::select! {
                    counted = pongs.count_ping(context.limits.idle_timeout) => counted,
                    () = context.stop.cancelled() => return CloseReason::HostStopping,
                };
                match counted {
                    Ok(()) => continue,
                    Err(PongTimeout) => return CloseReason::TooSlow,
                }
            }
            IncomingFrame::End(why @ (CloseReason::TooLarge | CloseReason::InvalidUtf8)) => {
                // The client gets an error response, as for any other invalid message.
                let error = RpcError::new(ErrorCode::ParseError, why.reason());
                let invalid = ClientMessage::Invalid(RequestId::Null, error);
                (Some(ReceivedMessage::Decoded(invalid)), 0, Some(why))
            }
            IncomingFrame::End(why) => return why,
            IncomingFrame::Text(text) => {
                if let Some(log) = &context.wire_log {
                    log.record(connection, WireDirection::In, &text);
                }
                rate_limiter.acquire().await;
                let bytes = text.len();
                let message = if version_flag.is_set() {
                    decode_message(&text, context.limits.message_limits)
                        .map(ReceivedMessage::Decoded)
                } else {
                    Some(ReceivedMessage::Raw(text))
                };
                (message, bytes, None)
            }
        };
        let permit = Arc::clone(&in_flight).acquire_owned().await;
        if let (Some(message), Ok(permit)) = (message, permit) {
            let received = LoopEvent::MessageReceived {
                connection,
                message,
                permit,
                bytes,
            };
            if context.events.send(received).await.is_err() {
                return CloseReason::HostStopping;
            }
        }
        if let Some(why) = end {
            return why;
        }
    }
}

async fn next_frame<R: MessageReader>(
    context: &ConnectionContext,
    reader: &mut R,
) -> IncomingFrame {
    if R::ANSWERS_PINGS {
        let next = tokio::time::timeout(context.limits.idle_timeout, reader.next()).await;
        next.unwrap_or(IncomingFrame::End(CloseReason::IdleTimeout))
    } else {
        reader.next().await
    }
}

async fn write_messages(
    context: &ConnectionContext,
    connection: ConnectionId,
    mut writer: impl MessageWriter,
    mut outbox_receiver: OutboxReceiver,
    pongs: &PongBudget,
) {
    let mut ping = tokio::time::interval(context.limits.idle_timeout / 3);
    let overflow = outbox_receiver.overflow.clone();
    loop {
        if overflow.is_cancelled() {
            return close(writer, CloseReason::TooSlow).await;
        }
        let next = if pongs.needs_flush() {
            None
        } else {
            outbox_receiver.try_next()
        };
        let outgoing = match next {
            Some(outgoing) => Some(outgoing),
            None => {
                // The outbox is empty, or the reading half waits until pongs are flushed.
                match write_or_overflow(context, &overflow, writer.flush()).await {
                    Ok(()) => pongs.mark_flushed(),
                    Err(PeerGone) => return,
                }
                tokio::select! {
                    biased;
                    () = overflow.cancelled() => continue,
                    outgoing = outbox_receiver.next() => outgoing,
                    () = pongs.wait_flush_requested() => continue,
                    _ = ping.tick() => {
                        match write_or_overflow(context, &overflow, writer.ping()).await {
                            Ok(()) => continue,
                            Err(PeerGone) => return,
                        }
                    }
                }
            }
        };
        let encoded = match outgoing {
            Some(OutgoingMessage::Text(text)) => Ok(text),
            Some(OutgoingMessage::Response(id, answer)) => {
                encode::encode_response(&id, &answer).map(Into::into)
            }
            Some(OutgoingMessage::Recoveries(id, recoveries)) => {
                recoveries.encode(&id).map(Into::into)
            }
            Some(OutgoingMessage::LegacyResponse(answer)) => answer.encode().map(Into::into),
            Some(OutgoingMessage::Close(why)) => return close(writer, why).await,
            // The loop has ended and dropped the outbox.
            None => return close(writer, CloseReason::HostStopping).await,
        };
        let text = match encoded {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "failed to encode a response");
                return;
            }
        };
        if let Some(log) = &context.wire_log {
            log.record(connection, WireDirection::Out, &text);
        }
        match write_or_overflow(context, &overflow, writer.write(text)).await {
            Ok(()) => {}
            Err(PeerGone) => return,
        }
    }
}

/// Waits for a write to complete. Returns early if the outbox overflows, and fails if the
/// shutdown timeout has expired.
async fn write_or_overflow(
    context: &ConnectionContext,
    overflow: &CancellationToken,
    write: impl Future<Output = Result<(), PeerGone>>,
) -> Result<(), PeerGone> {
    tokio::select! {
        biased;
        taken = write => taken,
        // The caller checks for an overflow next, and closes the connection.
        () = overflow.cancelled() => Ok(()),
        () = shutdown_expired(context) => Err(PeerGone),
    }
}

/// Waits until the host has been stopping for longer than the close timeout.
async fn shutdown_expired(context: &ConnectionContext) {
    context.stop.cancelled().await;
    tokio::time::sleep(CLOSE_TIMEOUT).await;
}

async fn close(mut writer: impl MessageWriter, why: CloseReason) {
    // A client that does not read never sees the reason.
    let closed = tokio::time::timeout(CLOSE_TIMEOUT, writer.close(why)).await;
    closed.ignore_elapsed();
}
