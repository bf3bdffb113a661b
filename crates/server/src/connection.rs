//! A connection from its first word to its last, whatever carries it.

pub(crate) mod message;
pub(crate) mod pongs;
pub(crate) mod rate_limit;
pub(crate) mod salvage;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agenthost_core::{ClientMessage, ConnectionId, Input, Principal};
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use agenthost_stdx::result::IgnoreResult;
use axum::extract::ws::Utf8Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::ServerLimits;
use crate::connection::message::{LoopEvent, ReceivedMessage, decode_message};
use crate::connection::pongs::{PongBudget, PongTimeout};
use crate::connection::rate_limit::RateLimiter;
use crate::delivery::encode;
use crate::delivery::outbox::{
    CapacityNotify, CloseReason, OutboxReceiver, OutgoingMessage, outbox_channel,
};
use crate::legacy::CurrentVersionFlag;
use crate::wire_log::{WireDirection, WireLog};

/// How long a peer may take to read what is left for it when the host closes
/// the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// What connections share.
#[derive(Clone)]
pub(crate) struct ConnectionContext {
    pub(crate) limits: ServerLimits,
    pub(crate) events: mpsc::Sender<LoopEvent>,
    pub(crate) next_connection: Arc<AtomicU32>,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) capacity: CapacityNotify,
    pub(crate) wire_log: Option<WireLog>,
    /// Set when the host stops: nothing more is read.
    pub(crate) stop: CancellationToken,
    /// Everyone who is being attended.
    pub(crate) tasks: TaskTracker,
}

/// What can come from a peer.
pub(crate) enum IncomingFrame {
    /// A message.
    Text(Utf8Bytes),
    /// A sign of life.
    KeepAlive,
    /// A sign of life that the transport answers by itself.
    Ping,
    /// Nothing more.
    End(CloseReason),
}

/// The half of a transport that messages come from.
pub(crate) trait MessageReader: Send {
    /// Whether a peer that is alive says so by itself when it is asked to. If
    /// not, silence means nothing.
    const ANSWERS_PINGS: bool;

    /// The next message, or why there is none.
    fn next(&mut self) -> impl Future<Output = IncomingFrame> + Send;
}

/// The half of a transport that messages go to.
pub(crate) trait MessageWriter: Send {
    /// Writes one message, whole. An error is the end of the connection.
    fn write(&mut self, text: Utf8Bytes) -> impl Future<Output = Result<(), PeerGone>> + Send;

    /// Sends what was written.
    fn flush(&mut self) -> impl Future<Output = Result<(), PeerGone>> + Send;

    /// Asks the peer for a sign of life.
    fn ping(&mut self) -> impl Future<Output = Result<(), PeerGone>> + Send;

    /// Ends the connection, and says why if the transport has words for it.
    fn close(&mut self, why: CloseReason) -> impl Future<Output = ()> + Send;
}

/// The peer is gone.
#[derive(Debug)]
pub(crate) struct PeerGone;

/// Attends to a peer that was let in.
pub(crate) async fn run_connection(
    context: &ConnectionContext,
    reader: impl MessageReader,
    writer: impl MessageWriter,
) {
    let connection = ConnectionId(context.next_connection.fetch_add(1, Ordering::Relaxed));
    let (outbox, outlet) =
        outbox_channel(context.limits.outbox_bytes, Arc::clone(&context.capacity));
    let version_flag = CurrentVersionFlag::default();
    let connected = LoopEvent::Connected {
        connection,
        // Whoever gets this far is the owner of the machine.
        principal: Principal("owner".to_owned()),
        outbox,
        version_flag: version_flag.clone(),
    };
    if context.events.send(connected).await.is_err() {
        return;
    }
    tracing::debug!(connection = connection.0, "connected");
    let pongs = PongBudget::new();
    let mut writing = std::pin::pin!(write_messages(context, connection, writer, outlet, &pongs));
    tokio::select! {
        () = &mut writing => {}
        why = read_messages(context, connection, reader, &version_flag, &pongs) => {
            tracing::debug!(connection = connection.0, why = why.reason(), "nothing more to read");
            // What it asked before is answered: a peer may stop talking and
            // still listen. If the host stops, it says so itself.
            if !context.stop.is_cancelled() {
                let read_ended = LoopEvent::ReadEnded { connection, reason: why };
                context.events.send(read_ended).await.ignore_closed();
            }
            // A peer that has not read its pongs does not read anything else either.
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

/// Reads until there is no more; says why.
async fn read_messages(
    context: &ConnectionContext,
    connection: ConnectionId,
    mut reader: impl MessageReader,
    version_flag: &CurrentVersionFlag,
    pongs: &PongBudget,
) -> CloseReason {
    let mut rate_limiter = RateLimiter::new(context.limits.messages_per_second);
    // So many messages of one peer may wait for the loop, so that nobody
    // fills its queue alone.
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
                // It gets an answer like anything else that is no message.
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
                let message = match version_flag.is_set() {
                    true => decode_message(&text, context.limits.message_limits)
                        .map(ReceivedMessage::Decoded),
                    false => Some(ReceivedMessage::Raw(text)),
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
    mut outlet: OutboxReceiver,
    pongs: &PongBudget,
) {
    let mut ping = tokio::time::interval(context.limits.idle_timeout / 3);
    let overflow = outlet.overflow.clone();
    loop {
        if overflow.is_cancelled() {
            return close(writer, CloseReason::TooSlow).await;
        }
        let next = match pongs.needs_flush() {
            true => None,
            false => outlet.try_next(),
        };
        let outgoing = match next {
            Some(outgoing) => Some(outgoing),
            None => {
                // Nothing else waits, or pongs do: what was written goes on its way.
                match write_or_overflow(context, &overflow, writer.flush()).await {
                    Ok(()) => pongs.mark_flushed(),
                    Err(PeerGone) => return,
                }
                tokio::select! {
                    biased;
                    () = overflow.cancelled() => continue,
                    outgoing = outlet.next() => outgoing,
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
            // The loop is gone.
            None => return close(writer, CloseReason::HostStopping).await,
        };
        let text = match encoded {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "an answer could not be encoded");
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

/// Waits for the peer to take something, unless it has made the host wait for
/// too long already.
async fn write_or_overflow(
    context: &ConnectionContext,
    overflow: &CancellationToken,
    write: impl Future<Output = Result<(), PeerGone>>,
) -> Result<(), PeerGone> {
    tokio::select! {
        biased;
        taken = write => taken,
        // Said to the peer by whoever comes next.
        () = overflow.cancelled() => Ok(()),
        () = shutdown_expired(context) => Err(PeerGone),
    }
}

/// The host has been stopping for longer than anyone should make it wait.
async fn shutdown_expired(context: &ConnectionContext) {
    context.stop.cancelled().await;
    tokio::time::sleep(CLOSE_TIMEOUT).await;
}

async fn close(mut writer: impl MessageWriter, why: CloseReason) {
    // A peer that does not read does not get to know why.
    let closed = tokio::time::timeout(CLOSE_TIMEOUT, writer.close(why)).await;
    closed.ignore_elapsed();
}
