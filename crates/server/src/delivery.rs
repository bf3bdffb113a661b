//! Delivers messages to all connections: each has a coalescer and a bounded outbox.

pub(crate) mod coalescer;
pub(crate) mod encode;
pub(crate) mod outbox;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::{ConnectionId, Recipient};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::rpc::encode::EncodeError;
use axum::extract::ws::Utf8Bytes;
use tokio::time::Instant;

use crate::delivery::coalescer::Coalescer;
use crate::delivery::outbox::{CloseReason, OutboxOverflow, OutboxSender, OutgoingMessage};

/// The coalescers of all connections, with their deadlines.
#[derive(Debug)]
pub(crate) struct Publisher {
    coalescers: BTreeMap<ConnectionId, Coalescer>,
    /// Connections with a held action, ordered by its deadline.
    deadlines: BTreeSet<(Instant, ConnectionId)>,
    /// Connections with messages that are not in their outbox yet.
    ready: Vec<ConnectionId>,
    /// Number of connections that were removed.
    departures: u64,
    /// Limit on the time that the loop pauses for one slow client.
    max_slow_client_pause: Duration,
}

impl Publisher {
    pub(crate) fn new(max_slow_client_pause: Duration) -> Self {
        Publisher {
            coalescers: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            ready: Vec::new(),
            departures: 0,
            max_slow_client_pause,
        }
    }

    pub(crate) fn insert(&mut self, connection: ConnectionId, outbox: OutboxSender) {
        self.coalescers.insert(connection, Coalescer::new(outbox));
    }

    pub(crate) fn remove(&mut self, connection: ConnectionId) {
        let Some(gone) = self.coalescers.remove(&connection) else {
            return;
        };
        self.departures += 1;
        if let Some(due) = gone.deadline() {
            self.deadlines.remove(&(due, connection));
        }
    }

    /// Returns the number of connections.
    pub(crate) fn connection_count(&self) -> usize {
        self.coalescers.len()
    }

    /// Returns the number of connections that were removed so far.
    pub(crate) fn departures(&self) -> u64 {
        self.departures
    }

    /// Publishes an action to its subscribers. The text is encoded once for all of them.
    pub(crate) fn publish(
        &mut self,
        envelope: &Arc<ActionEnvelope>,
        to: &[Recipient],
        text: &Utf8Bytes,
    ) -> Result<(), EncodeError> {
        let now = Instant::now();
        for recipient in to {
            self.with_coalescer(recipient.connection, |coalescer| {
                coalescer.publish(envelope, text, recipient.max_latency, now)
            })?;
        }
        Ok(())
    }

    pub(crate) fn send(
        &mut self,
        connection: ConnectionId,
        outgoing: OutgoingMessage,
    ) -> Result<(), EncodeError> {
        self.with_coalescer(connection, |delivery| delivery.send(outgoing))
    }

    /// Returns the time until which the loop takes no input from clients and agents, because a
    /// client is behind; `None` if no client is.
    pub(crate) fn slow_client_pause(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let max_slow_client_pause = self.max_slow_client_pause;
        let pauses = self
            .coalescers
            .values_mut()
            .filter_map(|coalescer| coalescer.pause_deadline(now, max_slow_client_pause));
        pauses.max()
    }

    /// Waits for the first deadline of a held action. Never returns if no action is held.
    pub(crate) fn wait_for_deadline(&self) -> impl Future<Output = ()> + use<> {
        let first = self.deadlines.first().map(|(due, _)| *due);
        async move {
            match first {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Sends the held actions whose deadline has passed.
    pub(crate) fn flush_due(&mut self) -> Result<(), EncodeError> {
        let now = Instant::now();
        while let Some((due, connection)) = self.deadlines.first().copied()
            && due <= now
        {
            self.deadlines.pop_first();
            self.with_coalescer(connection, Coalescer::flush)?;
        }
        self.flush_outboxes();
        Ok(())
    }

    /// Sends a close to every connection, behind the messages that are queued for it.
    pub(crate) fn close_all(&mut self) -> Result<(), EncodeError> {
        for connection in self.coalescers.keys().copied().collect::<Vec<_>>() {
            self.send(
                connection,
                OutgoingMessage::Close(CloseReason::HostStopping),
            )?;
        }
        self.flush_outboxes();
        Ok(())
    }

    /// Moves the ready messages of each connection to its outbox. If an outbox overflows, the
    /// task of the connection closes it and reports that to the host. Until then, the
    /// connection gets no more messages.
    pub(crate) fn flush_outboxes(&mut self) {
        for connection in std::mem::take(&mut self.ready) {
            let coalescer = self.coalescers.get_mut(&connection);
            if let Some(Err(OutboxOverflow)) = coalescer.map(Coalescer::flush_outbox) {
                tracing::info!(
                    connection = connection.0,
                    "outbox overflow, dropping a slow client"
                );
                self.remove(connection);
            }
        }
    }

    fn with_coalescer(
        &mut self,
        connection: ConnectionId,
        operation: impl FnOnce(&mut Coalescer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let Some(coalescer) = self.coalescers.get_mut(&connection) else {
            return Ok(());
        };
        let was_ready = coalescer.is_ready();
        let before = coalescer.deadline();
        let sent = operation(coalescer);
        let after = coalescer.deadline();
        if before != after {
            if let Some(before) = before {
                self.deadlines.remove(&(before, connection));
            }
            self.deadlines.extend(after.map(|due| (due, connection)));
        }
        if coalescer.is_ready() && !was_ready {
            self.ready.push(connection);
        }
        sent
    }
}
