//! A connection from its first word to its last, whatever carries it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agenthost_core::{ConnectionId, Input, Principal, Received};
use agenthost_protocol::rpc::{ErrorCode, RequestId, RpcError};
use axum::extract::ws::Utf8Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::ServerLimits;
use crate::connection::{Event, Message, decode};
use crate::encode;
use crate::older::Fluent;
use crate::outbox::{Closing, Outgoing, Outlet, Room, outbox};
use crate::pace::Pace;
use crate::pongs::{PongBudget, PongsUnread};
use crate::wire_log::{Direction, WireLog};

/// How long a peer may take to read what is left for it when the host closes
/// the connection.
const FAREWELL: Duration = Duration::from_secs(2);

/// What connections share.
#[derive(Clone)]
pub(crate) struct Lobby {
    pub(crate) limits: ServerLimits,
    pub(crate) events: mpsc::Sender<Event>,
    pub(crate) next: Arc<AtomicU32>,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) room: Room,
    pub(crate) wire_log: Option<WireLog>,
    /// Set when the host stops: nothing more is read.
    pub(crate) stop: CancellationToken,
    /// Everyone who is being attended.
    pub(crate) guests: TaskTracker,
}

/// What can come from a peer.
pub(crate) enum Incoming {
    /// A message.
    Text(Utf8Bytes),
    /// A sign of life.
    Alive,
    /// A sign of life that the transport answers by itself.
    Ping,
    /// Nothing more.
    End(Closing),
}

/// The half of a transport that messages come from.
pub(crate) trait Reader: Send {
    /// Whether a peer that is alive says so by itself when it is asked to. If
    /// not, silence means nothing.
    const ANSWERS_PINGS: bool;

    /// The next message, or why there is none.
    fn next(&mut self) -> impl Future<Output = Incoming> + Send;
}

/// The half of a transport that messages go to.
pub(crate) trait Writer: Send {
    /// Writes one message, whole. An error is the end of the connection.
    fn write(&mut self, text: Utf8Bytes) -> impl Future<Output = Result<(), Gone>> + Send;

    /// Sends what was written.
    fn flush(&mut self) -> impl Future<Output = Result<(), Gone>> + Send;

    /// Asks the peer for a sign of life.
    fn ping(&mut self) -> impl Future<Output = Result<(), Gone>> + Send;

    /// Ends the connection, and says why if the transport has words for it.
    fn close(&mut self, why: Closing) -> impl Future<Output = ()> + Send;
}

/// The peer is gone.
#[derive(Debug)]
pub(crate) struct Gone;

/// Attends to a peer that was let in.
pub(crate) async fn attend(lobby: &Lobby, reader: impl Reader, writer: impl Writer) {
    let connection = ConnectionId(lobby.next.fetch_add(1, Ordering::Relaxed));
    let (outbox, outlet) = outbox(lobby.limits.outbox_bytes, Arc::clone(&lobby.room));
    let fluent = Fluent::default();
    let connected = Event::Connected {
        connection,
        // Whoever gets this far is the owner of the machine.
        principal: Principal("owner".to_owned()),
        outbox,
        fluent: fluent.clone(),
    };
    if lobby.events.send(connected).await.is_err() {
        return;
    }
    tracing::debug!(connection = connection.0, "connected");
    let pongs = PongBudget::new();
    let mut writing = std::pin::pin!(write(lobby, connection, writer, outlet, &pongs));
    tokio::select! {
        () = &mut writing => {}
        why = read(lobby, connection, reader, &fluent, &pongs) => {
            tracing::debug!(connection = connection.0, why = why.reason(), "nothing more to read");
            // What it asked before is answered: a peer may stop talking and
            // still listen. If the host stops, it says so itself.
            if !lobby.stop.is_cancelled() {
                let leaving = Event::Leaving { connection, why };
                drop(lobby.events.send(leaving).await);
            }
            // A peer that has not read its pongs does not read anything else either.
            if why != Closing::TooSlow {
                drop(tokio::time::timeout(2 * FAREWELL, writing).await);
            }
        }
    }
    let gone = Event::Input(Input::Disconnected { connection });
    // A loop that has ended knows nobody any more.
    drop(lobby.events.send(gone).await);
    tracing::debug!(connection = connection.0, "disconnected");
}

/// Reads until there is no more; says why.
async fn read(
    lobby: &Lobby,
    connection: ConnectionId,
    mut reader: impl Reader,
    fluent: &Fluent,
    pongs: &PongBudget,
) -> Closing {
    let mut pace = Pace::new(lobby.limits.rate);
    // So many messages of one peer may wait for the loop, so that nobody
    // fills its queue alone.
    let in_flight = Arc::new(Semaphore::new(lobby.limits.in_flight));
    loop {
        let incoming = tokio::select! {
            incoming = next(lobby, &mut reader) => incoming,
            () = lobby.stop.cancelled() => return Closing::Stopping,
        };
        let (message, bytes, end) = match incoming {
            Incoming::Alive => {
                pace.step().await;
                continue;
            }
            Incoming::Ping => {
                pace.step().await;
                let counted = tokio::select! {
                    counted = pongs.count_ping(lobby.limits.idle) => counted,
                    () = lobby.stop.cancelled() => return Closing::Stopping,
                };
                match counted {
                    Ok(()) => continue,
                    Err(PongsUnread) => return Closing::TooSlow,
                }
            }
            Incoming::End(why @ (Closing::TooLarge | Closing::NotText)) => {
                // It gets an answer like anything else that is no message.
                let error = RpcError::new(ErrorCode::ParseError, why.reason());
                let invalid = Received::Invalid(RequestId::Null, error);
                (Some(Message::Read(invalid)), 0, Some(why))
            }
            Incoming::End(why) => return why,
            Incoming::Text(text) => {
                if let Some(log) = &lobby.wire_log {
                    log.record(connection, Direction::In, &text);
                }
                pace.step().await;
                let bytes = text.len();
                let message = match fluent.is_known() {
                    true => decode(&text, lobby.limits.message).map(Message::Read),
                    false => Some(Message::Unread(text)),
                };
                (message, bytes, None)
            }
        };
        let place = Arc::clone(&in_flight).acquire_owned().await;
        if let (Some(message), Ok(place)) = (message, place) {
            let received = Event::Received {
                connection,
                message,
                place,
                bytes,
            };
            if lobby.events.send(received).await.is_err() {
                return Closing::Stopping;
            }
        }
        if let Some(why) = end {
            return why;
        }
    }
}

async fn next<R: Reader>(lobby: &Lobby, reader: &mut R) -> Incoming {
    if R::ANSWERS_PINGS {
        let next = tokio::time::timeout(lobby.limits.idle, reader.next()).await;
        next.unwrap_or(Incoming::End(Closing::Silent))
    } else {
        reader.next().await
    }
}

async fn write(
    lobby: &Lobby,
    connection: ConnectionId,
    mut writer: impl Writer,
    mut outlet: Outlet,
    pongs: &PongBudget,
) {
    let mut ping = tokio::time::interval(lobby.limits.idle / 3);
    let overflow = outlet.overflow.clone();
    loop {
        if overflow.is_cancelled() {
            return close(writer, Closing::TooSlow).await;
        }
        let next = match pongs.needs_flush() {
            true => None,
            false => outlet.take(),
        };
        let outgoing = match next {
            Some(outgoing) => Some(outgoing),
            None => {
                // Nothing else waits, or pongs do: what was written goes on its way.
                match patiently(lobby, &overflow, writer.flush()).await {
                    Ok(()) => pongs.flushed(),
                    Err(Gone) => return,
                }
                tokio::select! {
                    biased;
                    () = overflow.cancelled() => continue,
                    outgoing = outlet.next() => outgoing,
                    () = pongs.flush_requested() => continue,
                    _ = ping.tick() => {
                        match patiently(lobby, &overflow, writer.ping()).await {
                            Ok(()) => continue,
                            Err(Gone) => return,
                        }
                    }
                }
            }
        };
        let encoded = match outgoing {
            Some(Outgoing::Text(text)) => Ok(text),
            Some(Outgoing::Answer(id, answer)) => encode::answer(&id, &answer).map(Into::into),
            Some(Outgoing::Recoveries(id, channels)) => {
                encode::recoveries(&id, &channels).map(Into::into)
            }
            Some(Outgoing::Older(answer)) => answer.encode().map(Into::into),
            Some(Outgoing::Close(why)) => return close(writer, why).await,
            // The loop is gone.
            None => return close(writer, Closing::Stopping).await,
        };
        let text = match encoded {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "an answer could not be encoded");
                return;
            }
        };
        if let Some(log) = &lobby.wire_log {
            log.record(connection, Direction::Out, &text);
        }
        match patiently(lobby, &overflow, writer.write(text)).await {
            Ok(()) => {}
            Err(Gone) => return,
        }
    }
}

/// Waits for the peer to take something, unless it has made the host wait for
/// too long already.
async fn patiently(
    lobby: &Lobby,
    overflow: &CancellationToken,
    taking: impl Future<Output = Result<(), Gone>>,
) -> Result<(), Gone> {
    tokio::select! {
        biased;
        taken = taking => taken,
        // Said to the peer by whoever comes next.
        () = overflow.cancelled() => Ok(()),
        () = expired(lobby) => Err(Gone),
    }
}

/// The host has been stopping for longer than anyone should make it wait.
async fn expired(lobby: &Lobby) {
    lobby.stop.cancelled().await;
    tokio::time::sleep(FAREWELL).await;
}

async fn close(mut writer: impl Writer, why: Closing) {
    // A peer that does not read does not get to know why.
    drop(tokio::time::timeout(FAREWELL, writer.close(why)).await);
}
