//! Merges adjacent text deltas for one connection, and holds them until their deadline.
//!
//! A subscriber that accepts latency gets adjacent deltas of a stream as one action (SUB-11).
//! At most one action is held for a connection, and every other message goes behind it. So
//! messages are never reordered, and a client has always seen all actions up to a sequence
//! number.

use std::sync::Arc;
use std::time::Duration;

use agenthost_protocol::action::{Action, ActionEnvelope};
use agenthost_protocol::number::Millis;
use agenthost_protocol::rpc::encode;
use agenthost_protocol::rpc::encode::EncodeError;
use axum::extract::ws::Utf8Bytes;
use tokio::time::Instant;

use crate::delivery::outbox::{OutboxOverflow, OutboxSender, OutgoingMessage};

/// Size at which a held action is sent without waiting for its deadline.
const MAX_COALESCED_BYTES: usize = 64 * 1024;

/// Pause of the loop for a client that is behind and reads nothing. With 5 ms, one of eight
/// clients that were reading a flood was disconnected on a busy machine. A client that is
/// really stalled costs the others this pause once.
const STALLED_CLIENT_PAUSE: Duration = Duration::from_millis(50);

/// Up to this many queued messages, a client that reads nothing is taken for busy, not stalled.
const MIN_QUEUED_FOR_STALL: usize = 8;

/// The held action and the unsent messages of one connection.
#[derive(Debug)]
pub(crate) struct Coalescer {
    outbox: OutboxSender,
    /// Messages for the next [`Coalescer::flush_outbox`]. One batch of inputs produces them,
    /// and its size is bounded.
    ready: Vec<OutgoingMessage>,
    pending: Option<CoalescedAction>,
    backlog: Option<OutboxBacklog>,
}

/// The progress of a client whose outbox is more than half full.
#[derive(Debug, Clone, Copy)]
struct OutboxBacklog {
    since: Instant,
    /// The time at which the client last took a message, with its count of taken messages then.
    last_progress: Instant,
    messages_taken: usize,
}

/// A held action that later ones can be merged into.
#[derive(Debug)]
struct CoalescedAction {
    envelope: Arc<ActionEnvelope>,
    /// The encoded action, sent if no other is merged into it.
    text: Utf8Bytes,
    /// `true` once another action was merged into it.
    is_merged: bool,
    bytes: usize,
    deadline: Instant,
}

impl Coalescer {
    pub(crate) fn new(outbox: OutboxSender) -> Self {
        Coalescer {
            outbox,
            ready: Vec::new(),
            pending: None,
            backlog: None,
        }
    }

    /// Queues a message behind all earlier ones, including a held action.
    pub(crate) fn send(&mut self, outgoing: OutgoingMessage) -> Result<(), EncodeError> {
        self.flush()?;
        self.ready.push(outgoing);
        Ok(())
    }

    /// Returns `true` if messages wait for [`Coalescer::flush_outbox`].
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Moves all ready messages to the outbox. The task of the connection is woken once for all
    /// of them, because waking a task is the most expensive part of sending a message.
    pub(crate) fn flush_outbox(&mut self) -> Result<(), OutboxOverflow> {
        for outgoing in self.ready.drain(..) {
            self.outbox.push(outgoing)?;
        }
        Ok(())
    }

    /// Publishes an action. It may be held until its deadline and merged with adjacent ones.
    pub(crate) fn publish(
        &mut self,
        envelope: &Arc<ActionEnvelope>,
        text: &Utf8Bytes,
        max_latency: Millis,
        now: Instant,
    ) -> Result<(), EncodeError> {
        // An action with an origin is the echo that its client waits for, so it is never merged
        // (SUB-13).
        let mergeable = max_latency.0 > 0 && envelope.origin.is_none();
        if !mergeable || !envelope.action.can_merge() || text.len() > MAX_COALESCED_BYTES {
            return self.send(OutgoingMessage::Text(text.clone()));
        }
        if let Some(held) = &mut self.pending
            && held.merge(envelope, text.len())
        {
            if held.bytes > MAX_COALESCED_BYTES {
                self.flush()?;
            }
            return Ok(());
        }
        self.flush()?;
        // The remaining quarter of the latency is left for the transport.
        let wait = Duration::from_millis(max_latency.0.unsigned_abs()) * 3 / 4;
        self.pending = Some(CoalescedAction {
            envelope: Arc::clone(envelope),
            text: text.clone(),
            is_merged: false,
            bytes: text.len(),
            deadline: now + wait,
        });
        Ok(())
    }

    /// Returns the time until which the loop should pause for this connection to read. Returns
    /// `None` if it need not, or if the pause is over: a client that does not catch up delays
    /// the others by at most `slow_client_timeout`.
    pub(crate) fn pause_deadline(
        &mut self,
        now: Instant,
        max_slow_client_pause: Duration,
    ) -> Option<Instant> {
        if !self.outbox.is_half_full() {
            self.backlog = None;
            return None;
        }
        let taken = self.outbox.messages_taken();
        let backlog = self.backlog.get_or_insert(OutboxBacklog {
            since: now,
            last_progress: now,
            messages_taken: taken,
        });
        if backlog.messages_taken != taken {
            (backlog.messages_taken, backlog.last_progress) = (taken, now);
        }
        // Even a fast client takes a while to read a few large messages.
        let stalled = if self.outbox.queued_messages() <= MIN_QUEUED_FOR_STALL {
            max_slow_client_pause
        } else {
            STALLED_CLIENT_PAUSE
        };
        let deadline = (backlog.since + max_slow_client_pause).min(backlog.last_progress + stalled);
        (now < deadline).then_some(deadline)
    }

    /// Returns the deadline of the held action.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.pending.as_ref().map(|held| held.deadline)
    }

    /// Moves the held action to the ready messages.
    pub(crate) fn flush(&mut self) -> Result<(), EncodeError> {
        let Some(held) = self.pending.take() else {
            return Ok(());
        };
        let text = if held.is_merged {
            encode::notification("action", &*held.envelope)?.into()
        } else {
            held.text
        };
        self.ready.push(OutgoingMessage::Text(text));
        Ok(())
    }
}

impl CoalescedAction {
    /// Merges another action into this one, which gets its sequence number (SUB-13). Returns
    /// `false` if they can't be merged.
    fn merge(&mut self, next: &ActionEnvelope, bytes: usize) -> bool {
        if self.envelope.channel != next.channel {
            return false;
        }
        // Copied on the first merge only.
        let envelope = Arc::make_mut(&mut self.envelope);
        let action: &mut Action = Arc::make_mut(&mut envelope.action);
        if !action.merge(&next.action) {
            return false;
        }
        envelope.server_seq = next.server_seq;
        self.is_merged = true;
        self.bytes += bytes;
        true
    }
}

#[cfg(test)]
mod tests {
    use agenthost_protocol::wire;

    use super::*;
    use crate::delivery::outbox::{CapacityNotify, OutboxReceiver, outbox_channel};

    const SLOW_CLIENT_TIMEOUT: Duration = Duration::from_millis(500);

    fn delta(seq: u64, channel: &str, content: &str) -> (Arc<ActionEnvelope>, Utf8Bytes) {
        let text = format!(
            r#"{{"channel":"{channel}","action":{{"type":"chat/delta","turnId":"t","partId":"p","content":"{content}"}},"serverSeq":{seq}}}"#
        );
        let envelope: ActionEnvelope = wire::from_str(&text).unwrap();
        let text = encode::notification("action", &envelope).unwrap();
        (Arc::new(envelope), text.into())
    }

    /// Returns the messages that the connection receives after a flush.
    async fn sent(
        delivery: &mut Coalescer,
        outbox_receiver: &mut OutboxReceiver,
    ) -> Vec<(u64, String)> {
        delivery.flush_outbox().unwrap();
        let mut sent = Vec::new();
        while let Ok(Some(outgoing)) =
            tokio::time::timeout(Duration::from_millis(1), outbox_receiver.next()).await
        {
            let OutgoingMessage::Text(text) = outgoing else {
                sent.push((0, "other".to_owned()));
                continue;
            };
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            let params = &json["params"];
            sent.push((
                params["serverSeq"].as_u64().unwrap(),
                params["action"]["content"].as_str().unwrap().to_owned(),
            ));
        }
        sent
    }

    fn publish(delivery: &mut Coalescer, (envelope, text): &(Arc<ActionEnvelope>, Utf8Bytes)) {
        let now = Instant::now();
        delivery.publish(envelope, text, Millis(40), now).unwrap();
    }

    /// SUB-11, SUB-13: deltas are merged under the highest sequence number.
    #[tokio::test(start_paused = true)]
    async fn adjacent_deltas_are_merged_under_the_highest_seq() {
        let (outbox, mut outbox_receiver) = outbox_channel(1_000_000, CapacityNotify::default());
        let mut delivery = Coalescer::new(outbox);
        let start = Instant::now();
        for seq in 1..=3 {
            publish(&mut delivery, &delta(seq, "ahp-chat:/1", "a"));
        }
        assert_eq!(sent(&mut delivery, &mut outbox_receiver).await, []);
        // The first delta sets the deadline, within the latency of the client.
        assert_eq!(delivery.deadline(), Some(start + Duration::from_millis(30)));
        delivery.flush().unwrap();
        assert_eq!(
            sent(&mut delivery, &mut outbox_receiver).await,
            [(3, "aaa".to_owned())]
        );
        assert_eq!(delivery.deadline(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn messages_are_not_reordered_around_a_held_action() {
        let (outbox, mut outbox_receiver) = outbox_channel(1_000_000, CapacityNotify::default());
        let mut delivery = Coalescer::new(outbox);
        publish(&mut delivery, &delta(1, "ahp-chat:/1", "a"));
        publish(&mut delivery, &delta(2, "ahp-chat:/2", "b"));
        publish(&mut delivery, &delta(3, "ahp-chat:/1", "c"));
        let urgent = delta(4, "ahp-chat:/1", "d");
        let now = Instant::now();
        delivery
            .publish(&urgent.0, &urgent.1, Millis(0), now)
            .unwrap();
        let (mut echo, text) = delta(5, "ahp-chat:/1", "e");
        Arc::make_mut(&mut echo).origin = Some(agenthost_protocol::action::ActionOrigin {
            client_id: "a".into(),
            client_seq: wire::from_str("1").unwrap(),
        });
        publish(&mut delivery, &(echo, text));
        publish(&mut delivery, &delta(6, "ahp-chat:/1", "f"));
        let answer = OutgoingMessage::Close(crate::delivery::outbox::CloseReason::Done);
        delivery.send(answer).unwrap();
        let sent = sent(&mut delivery, &mut outbox_receiver).await;
        let sent: Vec<_> = sent
            .iter()
            .map(|(seq, text)| (*seq, text.as_str()))
            .collect();
        assert_eq!(
            sent,
            [
                (1, "a"),
                (2, "b"),
                (3, "c"),
                (4, "d"),
                (5, "e"),
                (6, "f"),
                (0, "other")
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_merged_action_is_sent_at_once() {
        let (outbox, mut outbox_receiver) = outbox_channel(10_000_000, CapacityNotify::default());
        let mut delivery = Coalescer::new(outbox);
        let piece = "x".repeat(10_000);
        for seq in 1..=10 {
            publish(&mut delivery, &delta(seq, "ahp-chat:/1", &piece));
        }
        let sent = sent(&mut delivery, &mut outbox_receiver).await;
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].0, 7);
    }

    /// The loop pauses for a client that reads up to the timeout, and for a stalled one only
    /// briefly.
    #[tokio::test(start_paused = true)]
    async fn the_loop_pauses_for_a_client_that_reads() {
        let (outbox, mut outbox_receiver) = outbox_channel(1_000, CapacityNotify::default());
        let mut delivery = Coalescer::new(outbox);
        let text = |length| OutgoingMessage::Text("x".repeat(length).into());
        assert_eq!(
            delivery.pause_deadline(Instant::now(), SLOW_CLIENT_TIMEOUT),
            None
        );
        for _ in 0..18 {
            delivery.send(text(50)).unwrap();
            delivery.flush_outbox().unwrap();
        }
        let start = Instant::now();
        assert_eq!(
            delivery.pause_deadline(start, SLOW_CLIENT_TIMEOUT),
            Some(start + STALLED_CLIENT_PAUSE)
        );
        tokio::time::advance(STALLED_CLIENT_PAUSE).await;
        assert_eq!(
            delivery.pause_deadline(Instant::now(), SLOW_CLIENT_TIMEOUT),
            None
        );
        // The client reads slowly, and a new message arrives for each one that it reads.
        while Instant::now() < start + SLOW_CLIENT_TIMEOUT {
            outbox_receiver.next().await.unwrap();
            delivery.send(text(50)).unwrap();
            delivery.flush_outbox().unwrap();
            assert!(
                delivery
                    .pause_deadline(Instant::now(), SLOW_CLIENT_TIMEOUT)
                    .is_some()
            );
            tokio::time::advance(STALLED_CLIENT_PAUSE / 2).await;
        }
        outbox_receiver.next().await.unwrap();
        delivery.send(text(50)).unwrap();
        delivery.flush_outbox().unwrap();
        assert_eq!(
            delivery.pause_deadline(Instant::now(), SLOW_CLIENT_TIMEOUT),
            None
        );
        for _ in 0..10 {
            outbox_receiver.next().await.unwrap();
        }
        assert_eq!(
            delivery.pause_deadline(Instant::now(), SLOW_CLIENT_TIMEOUT),
            None
        );
        for _ in 0..10 {
            delivery.send(text(50)).unwrap();
            delivery.flush_outbox().unwrap();
        }
        assert!(
            delivery
                .pause_deadline(Instant::now(), SLOW_CLIENT_TIMEOUT)
                .is_some()
        );
    }
}
