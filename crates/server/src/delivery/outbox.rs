//! What waits to be sent to one connection.
//!
//! One FIFO for each connection, so that answers, actions and notifications
//! leave in the order the host decided (TRN-8). It is bounded twice, in
//! messages and in bytes. When it is full, the connection is closed with code
//! 1013 and the client resumes by `reconnect`: nothing is ever skipped in
//! silence, and nobody else waits (TRN-9).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agenthost_core::ResponseBody;
use agenthost_protocol::rpc::RequestId;
use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;

use crate::delivery::encode::ReconnectOutcomes;
use crate::legacy::LegacyResponse;
use tokio_util::sync::CancellationToken;

/// Most messages that wait, however small they are.
const MAX_OUTBOX_MESSAGES: usize = 4_096;

/// Something to send.
#[derive(Debug)]
pub(crate) enum OutgoingMessage {
    /// As it is; shared by everyone it goes to.
    Text(Utf8Bytes),
    /// An answer, encoded by the connection that it goes to: a snapshot can be
    /// large, and the loop has no time for that.
    Response(RequestId, Box<ResponseBody>),
    /// The answer to a client that came back with cursors, encoded likewise.
    Recoveries(RequestId, ReconnectOutcomes),
    /// An answer in the words of an older version, encoded likewise.
    LegacyResponse(Box<LegacyResponse>),
    /// The end, once all before it is sent.
    Close(CloseReason),
}

/// Why the host ends a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// There is nothing more to say.
    Done,
    /// The host stops.
    HostStopping,
    /// The client could not keep up.
    TooSlow,
    /// The client said nothing for too long.
    IdleTimeout,
    /// What came is more than a message may be.
    TooLarge,
    /// What came is no text.
    InvalidUtf8,
    /// What came breaks the rules of the transport.
    ProtocolError,
}

impl CloseReason {
    /// Why, in words.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            CloseReason::Done => "",
            CloseReason::HostStopping => "the host stops",
            CloseReason::TooSlow => "too slow: reconnect to go on",
            CloseReason::IdleTimeout => "silent for too long",
            CloseReason::TooLarge => "a message is too large",
            CloseReason::InvalidUtf8 => "a message is not UTF-8",
            CloseReason::ProtocolError => "this is not how WebSockets talk",
        }
    }
}

/// The loop's end of an outbox.
#[derive(Debug)]
pub(crate) struct OutboxSender {
    queue: mpsc::Sender<OutgoingMessage>,
    queued_bytes: Arc<AtomicUsize>,
    messages_taken: Arc<AtomicUsize>,
    max_bytes: usize,
    overflow: CancellationToken,
}

/// Tells the loop that an outbox has room again.
pub(crate) type CapacityNotify = Arc<tokio::sync::Notify>;

/// The connection's end of an outbox.
#[derive(Debug)]
pub(crate) struct OutboxReceiver {
    queue: mpsc::Receiver<OutgoingMessage>,
    queued_bytes: Arc<AtomicUsize>,
    messages_taken: Arc<AtomicUsize>,
    max_bytes: usize,
    capacity: CapacityNotify,
    /// Set when the outbox overflowed.
    pub(crate) overflow: CancellationToken,
}

/// The connection can't keep up; it is being closed.
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
    let outlet = OutboxReceiver {
        queue: receiver,
        queued_bytes,
        messages_taken,
        max_bytes,
        capacity,
        overflow,
    };
    (outbox, outlet)
}

impl OutboxSender {
    /// Puts something at the end. Never waits.
    pub(crate) fn push(&self, outgoing: OutgoingMessage) -> Result<(), OutboxOverflow> {
        let size = message_bytes(&outgoing, self.max_bytes);
        let before = self.queued_bytes.fetch_add(size, Ordering::Relaxed);
        // Something large goes through while little else waits: whoever reads
        // must not be cut off for what others say.
        let fits = before <= self.max_bytes / 2 || before + size <= self.max_bytes;
        if !fits || self.queue.try_send(outgoing).is_err() {
            self.overflow.cancel();
            return Err(OutboxOverflow);
        }
        Ok(())
    }

    /// How many messages the connection has taken so far.
    pub(crate) fn messages_taken(&self) -> usize {
        self.messages_taken.load(Ordering::Relaxed)
    }

    /// How many messages wait.
    pub(crate) fn queued_messages(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Whether it is more than half full.
    pub(crate) fn is_half_full(&self) -> bool {
        let messages = self.queued_messages();
        self.queued_bytes.load(Ordering::Relaxed) > self.max_bytes / 2
            || messages > MAX_OUTBOX_MESSAGES / 2
    }
}

impl OutboxReceiver {
    /// The next thing to send; `None` when there will be no more.
    pub(crate) async fn next(&mut self) -> Option<OutgoingMessage> {
        let outgoing = self.queue.recv().await?;
        Some(self.release_bytes(outgoing))
    }

    /// The next thing to send, if it is there already.
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

/// What a message counts for. One that is larger than all that may wait leaves
/// some room, or whoever reads it would be cut off by the next.
fn message_bytes(outgoing: &OutgoingMessage, max_bytes: usize) -> usize {
    let bounded = |bytes| match bytes > max_bytes {
        true => max_bytes - max_bytes / 4,
        false => bytes,
    };
    match outgoing {
        OutgoingMessage::Text(text) => bounded(text.len()),
        OutgoingMessage::Recoveries(_, recoveries) => bounded(recoveries.log_bytes() + 1_024),
        // A pointer to a state that the host has anyway.
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
    async fn a_full_outbox_says_so_once_and_for_all() {
        let (outbox, mut outlet) = outbox_channel(100, CapacityNotify::default());
        assert!(outbox.push(text(60)).is_ok());
        assert!(outbox.push(text(40)).is_ok());
        assert!(!outlet.overflow.is_cancelled());
        assert!(outlet.next().await.is_some());
        assert!(outbox.push(text(60)).is_ok());
        assert!(outbox.push(text(1)).is_err());
        assert!(outlet.overflow.is_cancelled());
    }

    #[tokio::test]
    async fn one_large_message_goes_through_behind_small_ones() {
        let (outbox, mut outlet) = outbox_channel(100, CapacityNotify::default());
        assert!(outbox.push(text(10)).is_ok());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outlet.next().await.is_some());
        assert!(outlet.next().await.is_some());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outbox.push(text(25)).is_ok());
        assert!(outbox.push(text(1)).is_err());
    }

    #[tokio::test]
    async fn whoever_reads_something_very_large_is_not_cut_off_by_the_next() {
        let (outbox, _outlet) = outbox_channel(100, CapacityNotify::default());
        assert!(outbox.push(text(1_000)).is_ok());
        assert!(outbox.is_half_full());
        assert!(outbox.push(text(20)).is_ok());
        assert!(outbox.push(text(1_000)).is_err());
    }

    #[tokio::test]
    async fn a_crowded_outbox_says_when_there_is_room() {
        let room = CapacityNotify::default();
        let (outbox, mut outlet) = outbox_channel(100, Arc::clone(&room));
        for _ in 0..3 {
            assert!(outbox.push(text(30)).is_ok());
        }
        assert!(outbox.is_half_full());
        outlet.next().await.unwrap();
        outlet.next().await.unwrap();
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
