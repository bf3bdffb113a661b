//! The ways to all connections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agenthost_core::{ConnectionId, Recipient};
use agenthost_protocol::action::ActionEnvelope;
use agenthost_protocol::rpc::encode::EncodeError;
use axum::extract::ws::Utf8Bytes;
use tokio::time::Instant;

use crate::delivery::Delivery;
use crate::outbox::{Closing, Outbox, Outgoing, Overflow};

/// The ways to all connections.
#[derive(Debug)]
pub(crate) struct Deliveries {
    all: BTreeMap<ConnectionId, Delivery>,
    /// Connections for which something is held back, by when it has to go.
    held: BTreeSet<(Instant, ConnectionId)>,
    /// Connections for which something is ready to be handed over.
    ready: Vec<ConnectionId>,
    /// How long everyone waits for one that lags behind.
    patience: Duration,
}

impl Deliveries {
    pub(crate) fn new(patience: Duration) -> Self {
        Deliveries {
            all: BTreeMap::new(),
            held: BTreeSet::new(),
            ready: Vec::new(),
            patience,
        }
    }

    pub(crate) fn insert(&mut self, connection: ConnectionId, outbox: Outbox) {
        self.all.insert(connection, Delivery::new(outbox));
    }

    pub(crate) fn remove(&mut self, connection: ConnectionId) {
        if let Some(gone) = self.all.remove(&connection)
            && let Some(due) = gone.due()
        {
            self.held.remove(&(due, connection));
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
            self.deliver(recipient.connection, |delivery| {
                delivery.publish(envelope, text, recipient.patience, now)
            })?;
        }
        Ok(())
    }

    pub(crate) fn send(
        &mut self,
        connection: ConnectionId,
        outgoing: Outgoing,
    ) -> Result<(), EncodeError> {
        self.deliver(connection, |delivery| delivery.send(outgoing))
    }

    /// Until when agents should wait for clients that lag behind.
    pub(crate) fn pause(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let patience = self.patience;
        let pauses = self
            .all
            .values_mut()
            .filter_map(|delivery| delivery.pause(now, patience));
        pauses.max()
    }

    /// Waits until something that is held back has to go; forever, if nothing
    /// is.
    pub(crate) fn due(&self) -> impl Future<Output = ()> + use<> {
        let first = self.held.first().map(|(due, _)| *due);
        async move {
            match first {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Sends what was held back and has to go now.
    pub(crate) fn flush(&mut self) -> Result<(), EncodeError> {
        let now = Instant::now();
        while let Some((due, connection)) = self.held.first().copied()
            && due <= now
        {
            self.held.pop_first();
            self.deliver(connection, Delivery::flush)?;
        }
        self.hand_over();
        Ok(())
    }

    /// Says goodbye to everyone, after all that was for them.
    pub(crate) fn close_all(&mut self) -> Result<(), EncodeError> {
        for connection in self.all.keys().copied().collect::<Vec<_>>() {
            self.send(connection, Outgoing::Close(Closing::Stopping))?;
        }
        self.hand_over();
        Ok(())
    }

    /// Gives each connection what was sent to it. One that is full is closed by
    /// its own end, which also tells the host. Until then it gets nothing more.
    pub(crate) fn hand_over(&mut self) {
        for connection in std::mem::take(&mut self.ready) {
            let delivery = self.all.get_mut(&connection);
            if let Some(Err(Overflow)) = delivery.map(Delivery::hand_over) {
                tracing::info!(connection = connection.0, "a client could not keep up");
                self.remove(connection);
            }
        }
    }

    fn deliver(
        &mut self,
        connection: ConnectionId,
        how: impl FnOnce(&mut Delivery) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        let Some(delivery) = self.all.get_mut(&connection) else {
            return Ok(());
        };
        let was_ready = delivery.is_ready();
        let before = delivery.due();
        let sent = how(delivery);
        let after = delivery.due();
        if before != after {
            if let Some(before) = before {
                self.held.remove(&(before, connection));
            }
            self.held.extend(after.map(|due| (due, connection)));
        }
        if delivery.is_ready() && !was_ready {
            self.ready.push(connection);
        }
        sent
    }
}
