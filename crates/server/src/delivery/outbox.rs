//! The bounded send queue of one connection.
//!
//! Each connection has one FIFO queue, so that responses, actions and notifications leave in
//! the order in which the host sent them (TRN-8). The queue is limited in messages and in
//! bytes. When it is full, the connection is closed with code 1013 and the client resumes with
//! `reconnect`: no message is ever skipped silently (TRN-9). Before that, while a queue is more
//! than half full, the loop pauses for up to `max_slow_client_pause`, so that a client that
//! reads can catch up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agenthost_core::ResponseBody;
use agenthost_protocol::rpc::RequestId;
use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;

use crate::delivery::encode::ReconnectOutcomes;
use crate::legacy::LegacyResponse;
use tokio_util::sync::CancellationToken;

/// Limit on the queued messages of a connection, independent of their size.
const MAX_OUTBOX_MESSAGES: usize = 4_096;

/// A queue entry: a message to send, or the close of the connection.
#[derive(Debug)]
pub(crate) enum OutgoingMessage {
    /// An encoded message, shared by all of its recipients.
    Text(Utf8Bytes),
    /// A response that the task of the connection encodes: a snapshot can be large, and
    /// encoding it in the loop would delay all other clients.
    Response(RequestId, Box<ResponseBody>),
    /// The response to `reconnect` with cursors, encoded by the task of the connection as well.
    Recoveries(RequestId, ReconnectOutcomes),
    /// A response to a legacy client, downgraded and encoded by the task of the connection as
    /// well.
    LegacyResponse(Box<LegacyResponse>),
    /// Closes the connection after all earlier messages are sent.
    Close(CloseReason),
}

/// The reason for which the host closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// All messages were sent and no more will follow.
    Done,
    /// The host is shutting down.
    HostStopping,
    /// The client did not read fast enough: its outbox overflowed, or its pongs were not read
    /// in time.
    TooSlow,
    /// The client sent nothing within the idle timeout.
    IdleTimeout,
    /// The client sent a message that exceeds the size limit.
    TooLarge,
    /// The client sent a message that is not UTF-8.
    InvalidUtf8,
    /// The device of the client was revoked.
    Revoked,
    /// The client violated the protocol of the transport.
    ProtocolError,
}

impl CloseReason {
    /// Returns the reason as text, for the close frame and the error response.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            CloseReason::Done => "",
            CloseReason::HostStopping => "the host is stopping",
            CloseReason::TooSlow => "too slow: reconnect to resume",
            CloseReason::IdleTimeout => "idle for too long",
            CloseReason::TooLarge => "a message is too large",
            CloseReason::InvalidUtf8 => "a message is not UTF-8",
            CloseReason::Revoked => "the device was signed out",
            CloseReason::ProtocolError => "WebSocket protocol error",
        }
    }
}

/// The sending half of an outbox, which the loop has.
#[derive(Debug)]
pub(crate) struct OutboxSender {
    queue: mpsc::Sender<OutgoingMessage>,
    queued_bytes: Arc<AtomicUsize>,
    messages_taken: Arc<AtomicUsize>,
    max_bytes: usize,
    overflow: CancellationToken,
}

/// Wakes the loop when an outbox is no longer more than half full.
pub(crate) type CapacityNotify = Arc<tokio::sync::Notify>;

/// The receiving half of an outbox, which the task of the connection has.
#[derive(Debug)]
pub(crate) struct OutboxReceiver {
    queue: mpsc::Receiver<OutgoingMessage>,
    queued_bytes: Arc<AtomicUsize>,
    messages_taken: Arc<AtomicUsize>,
    max_bytes: usize,
    capacity: CapacityNotify,
    /// Cancelled when the outbox has overflowed.
    pub(crate) overflow: CancellationToken,
}

/// The error for a full outbox. Its connection is being closed.
#[derive(Debug)]
pub(crate) struct OutboxOverflow;

pub(crate) fn outbox_channel(
    max_bytes: usize,
    capacity: CapacityNotify,
) -> (OutboxSender, OutboxReceiver) {
    let (sender, receiver) = mpsc::channel(MAX_OUTBOX_MESSAGES);
    let queued_bytes = Arc::new(AtomicUsize::new(0));
    let messages_taken = Arc::new(AtomicUsize::new(0));
    let overflow = CancellationToken::new();
    let outbox = OutboxSender {
        queue: sender,
        queued_bytes: Arc::clone(&queued_bytes),
        messages_taken: Arc::clone(&messages_taken),
        max_bytes,
        overflow: overflow.clone(),
    };
    let outbox_receiver = OutboxReceiver {
        queue: receiver,
        queued_bytes,
        messages_taken,
        max_bytes,
        capacity,
        overflow,
    };
    (outbox, outbox_receiver)
}

impl OutboxSender {
    /// Appends a message to the queue. Never waits.
    pub(crate) fn push(&self, outgoing: OutgoingMessage) -> Result<(), OutboxOverflow> {
        let size = message_bytes(&outgoing, self.max_bytes);
        let before = self.queued_bytes.fetch_add(size, Ordering::Relaxed);
        // A large message is accepted while the queue is at most half full: a client that reads
        // must not be disconnected because of the size of one message.
        let fits = before <= self.max_bytes / 2 || before + size <= self.max_bytes;
        if !fits || self.queue.try_send(outgoing).is_err() {
            self.overflow.cancel();
            return Err(OutboxOverflow);
        }
        Ok(())
    }

    /// Returns the number of messages that the connection has taken so far.
    pub(crate) fn messages_taken(&self) -> usize {
        self.messages_taken.load(Ordering::Relaxed)
    }

    /// Returns the number of messages in the queue.
    pub(crate) fn queued_messages(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Returns `true` if more than half of the messages or of the bytes are used.
    pub(crate) fn is_half_full(&self) -> bool {
        let messages = self.queued_messages();
        self.queued_bytes.load(Ordering::Relaxed) > self.max_bytes / 2
            || messages > MAX_OUTBOX_MESSAGES / 2
    }
}

impl OutboxReceiver {
    /// Waits for the next message. Returns `None` when the sender was dropped and the queue is
    /// empty.
    pub(crate) async fn next(&mut self) -> Option<OutgoingMessage> {
        let outgoing = self.queue.recv().await?;
        Some(self.release_bytes(outgoing))
    }

    /// Returns the next message if there is one in the queue.
    pub(crate) fn try_next(&mut self) -> Option<OutgoingMessage> {
        let outgoing = self.queue.try_recv().ok()?;
        Some(self.release_bytes(outgoing))
    }

    fn release_bytes(&self, outgoing: OutgoingMessage) -> OutgoingMessage {
        self.messages_taken.fetch_add(1, Ordering::Relaxed);
        let size = message_bytes(&outgoing, self.max_bytes);
        let before = self.queued_bytes.fetch_sub(size, Ordering::Relaxed);
        let half = self.max_bytes / 2;
        let emptied = before > half && before - size <= half;
        if emptied || self.queue.len() == MAX_OUTBOX_MESSAGES / 2 {
            self.capacity.notify_one();
        }
        outgoing
    }
}

/// Returns the bytes that a message counts for. One that exceeds the limit of the whole queue
/// counts for three quarters of it, so that the next message does not disconnect a client that
/// is still reading it.
fn message_bytes(outgoing: &OutgoingMessage, max_bytes: usize) -> usize {
    let bounded = |bytes| {
        if bytes > max_bytes {
            max_bytes - max_bytes / 4
        } else {
            bytes
        }
    };
    match outgoing {
        OutgoingMessage::Text(text) => bounded(text.len()),
        OutgoingMessage::Recoveries(_, recoveries) => bounded(recoveries.log_bytes() + 1_024),
        // The message only points to a state that the host has in memory anyway.
        OutgoingMessage::Response(..) | OutgoingMessage::LegacyResponse(_) => 1_024,
        OutgoingMessage::Close(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(length: usize) -> OutgoingMessage {
        OutgoingMessage::Text("x".repeat(length).into())
    }

    #[tokio::test]
    async fn a_full_outbox_overflows_permanently() {
        let (outbox, mut outbox_receiver) = outbox_channel(100, CapacityNotify::default());
        assert!(outbox.push(text(60)).is_ok());
        assert!(outbox.push(text(40)).is_ok());
        assert!(!outbox_receiver.overflow.is_cancelled());
        assert!(outbox_receiver.next().await.is_some());
        assert!(outbox.push(text(60)).is_ok());
        assert!(outbox.push(text(1)).is_err());
        assert!(outbox_receiver.overflow.is_cancelled());
    }

    #[tokio::test]
    async fn one_large_message_fits_behind_small_ones() {
        let (outbox, mut outbox_receiver) = outbox_channel(100, CapacityNotify::default());
        assert!(outbox.push(text(10)).is_ok());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outbox_receiver.next().await.is_some());
        assert!(outbox_receiver.next().await.is_some());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outbox.push(text(25)).is_ok());
        assert!(outbox.push(text(1)).is_err());
    }

    #[tokio::test]
    async fn a_small_message_fits_behind_a_very_large_one() {
        let (outbox, _outlet) = outbox_channel(100, CapacityNotify::default());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outbox.is_half_full());
        assert!(outbox.push(text(20)).is_ok());
        assert!(outbox.push(text(1_000)).is_err());
    }

    #[tokio::test]
    async fn an_outbox_notifies_when_it_is_less_than_half_full() {
        let room = CapacityNotify::default();
        let (outbox, mut outbox_receiver) = outbox_channel(100, Arc::clone(&room));
        for _ in 0..3 {
            assert!(outbox.push(text(30)).is_ok());
        }
        assert!(outbox.is_half_full());
        outbox_receiver.next().await.unwrap();
        outbox_receiver.next().await.unwrap();
        assert!(!outbox.is_half_full());
        room.notified().await;
    }

    #[tokio::test]
    async fn many_small_messages_are_bounded_too() {
        let (outbox, _outlet) = outbox_channel(usize::MAX, CapacityNotify::default());
        let taken = (0..10_000).take_while(|_| outbox.push(text(1)).is_ok());
        assert_eq!(taken.count(), MAX_OUTBOX_MESSAGES);
    }
}
