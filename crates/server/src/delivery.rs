//! The ways to all connections.

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

/// The ways to all connections.
#[derive(Debug)]
pub(crate) struct Publisher {
    coalescers: BTreeMap<ConnectionId, Coalescer>,
    /// Connections for which something is held back, by when it has to go.
    deadlines: BTreeSet<(Instant, ConnectionId)>,
    /// Connections for which something is ready to be handed over.
    ready: Vec<ConnectionId>,
    /// How long everyone waits for one that lags behind.
    slow_client_timeout: Duration,
}

impl Publisher {
    pub(crate) fn new(slow_client_timeout: Duration) -> Self {
        Publisher {
            coalescers: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            ready: Vec::new(),
            slow_client_timeout,
        }
    }

    pub(crate) fn insert(&mut self, connection: ConnectionId, outbox: OutboxSender) {
        self.coalescers.insert(connection, Coalescer::new(outbox));
    }

    pub(crate) fn remove(&mut self, connection: ConnectionId) {
        if let Some(gone) = self.coalescers.remove(&connection)
            && let Some(due) = gone.deadline()
        {
            self.deadlines.remove(&(due, connection));
        }
    }

    /// Sends an action that was encoded once, whoever it goes to.
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

    /// Until when agents should wait for clients that lag behind.
    pub(crate) fn slow_client_pause(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let slow_client_timeout = self.slow_client_timeout;
        let pauses = self
            .coalescers
            .values_mut()
            .filter_map(|coalescer| coalescer.pause_deadline(now, slow_client_timeout));
        pauses.max()
    }

    /// Waits until something that is held back has to go; forever, if nothing
    /// is.
    pub(crate) fn wait_for_deadline(&self) -> impl Future<Output = ()> + use<> {
        let first = self.deadlines.first().map(|(due, _)| *due);
        async move {
            match first {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Sends what was held back and has to go now.
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

    /// Says goodbye to everyone, after all that was for them.
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

    /// Gives each connection what was sent to it. One that is full is closed by
    /// its own end, which also tells the host. Until then it gets nothing more.
    pub(crate) fn flush_outboxes(&mut self) {
        for connection in std::mem::take(&mut self.ready) {
            let coalescer = self.coalescers.get_mut(&connection);
            if let Some(Err(OutboxOverflow)) = coalescer.map(Coalescer::flush_outbox) {
                tracing::info!(connection = connection.0, "a client could not keep up");
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
