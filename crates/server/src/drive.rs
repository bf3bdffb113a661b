//! The loop: inputs in batches, the log, then the world.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenthost_agents::Agents;
use agenthost_core::{Answer, ConnectionId, Effect, Effects, Env, Host, Input, Write};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::rpc::{RequestId, encode};
use agenthost_protocol::uri::Uri;
use agenthost_store::{Retention, Store, StoreError};
use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::connection::Event;
use crate::outbox::{Outbox, Outgoing};

/// Most inputs that go into the log together.
const BATCH: usize = 256;

/// Actions between two looks at what can be forgotten.
const COMPACT_EVERY: u64 = 10_000;

/// Owns the host and everything that it drives.
pub(crate) struct Driver {
    pub(crate) host: Host,
    pub(crate) store: Store,
    pub(crate) agents: Agents,
    pub(crate) retention: Retention,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) from_agents: mpsc::Receiver<Input>,
    pub(crate) outboxes: BTreeMap<ConnectionId, Outbox>,
    pub(crate) timers: JoinSet<Input>,
    pub(crate) nonce: u128,
    pub(crate) compacted: ServerSeq,
}

impl Driver {
    /// Runs until it is told to stop. An error of the log ends it: what can't
    /// be kept must not be seen.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<(), StoreError> {
        self.start()?;
        loop {
            let first = tokio::select! {
                event = self.events.recv() => event,
                input = self.from_agents.recv() => input.map(Event::Input),
                Some(Ok(input)) = self.timers.join_next() => Some(Event::Input(input)),
                () = stop.cancelled() => None,
            };
            let Some(first) = first else {
                break;
            };
            let mut batch = vec![first];
            while batch.len() < BATCH {
                match self.events.try_recv() {
                    Ok(event) => batch.push(event),
                    Err(_) => break,
                }
            }
            while batch.len() < BATCH {
                match self.from_agents.try_recv() {
                    Ok(input) => batch.push(Event::Input(input)),
                    Err(_) => break,
                }
            }
            self.batch(batch)?;
        }
        for outbox in self.outboxes.values() {
            // One that is full is closed already.
            drop(outbox.push(Outgoing::Close));
        }
        self.agents.stop(Duration::from_secs(3)).await;
        Ok(())
    }

    fn start(&mut self) -> Result<(), StoreError> {
        let mut out = Effects::default();
        self.step(Input::Started, &mut out)?;
        for channel in self.host.unfinished() {
            self.restore(channel, &mut out)?;
        }
        self.carry_out(out)?;
        // Clients that were here may come back; those that do not are
        // forgotten like any other.
        let grace = self.host.grace();
        for client in self.host.absent_clients() {
            self.start_grace(client, grace);
        }
        Ok(())
    }

    fn batch(&mut self, batch: Vec<Event>) -> Result<(), StoreError> {
        let mut out = Effects::default();
        for event in batch {
            match event {
                Event::Connected {
                    connection,
                    principal,
                    outbox,
                } => {
                    self.outboxes.insert(connection, outbox);
                    let connected = Input::Connected {
                        connection,
                        principal,
                    };
                    self.step(connected, &mut out)?;
                }
                Event::Input(input) => {
                    if let Input::Disconnected { connection } = &input {
                        self.outboxes.remove(connection);
                    }
                    self.step(input, &mut out)?;
                }
            }
        }
        self.carry_out(out)
    }

    fn step(&mut self, input: Input, out: &mut Effects) -> Result<(), StoreError> {
        for channel in self.host.needs(&input) {
            self.restore(channel, out)?;
        }
        let env = self.env();
        self.host.step(&env, input, out);
        Ok(())
    }

    fn restore(&mut self, channel: Uri, out: &mut Effects) -> Result<(), StoreError> {
        if let Some(state) = self.store.load(&channel)? {
            let env = self.env();
            self.host
                .step(&env, Input::Restored { channel, state }, out);
        }
        Ok(())
    }

    fn env(&mut self) -> Env {
        self.nonce = self.nonce.wrapping_add(1);
        Env {
            now: now(),
            nonce: self.nonce,
        }
    }

    /// First the log, then the world. What agents answer at once is the next
    /// batch: kept and let out after this one, in the same order.
    fn carry_out(&mut self, mut out: Effects) -> Result<(), StoreError> {
        loop {
            if !out.writes.is_empty() {
                self.keep(&out.writes)?;
            }
            let mut answers = Vec::new();
            for effect in out.effects {
                answers.extend(self.effect(effect)?);
            }
            if answers.is_empty() {
                return Ok(());
            }
            out = Effects::default();
            for input in answers {
                self.step(input, &mut out)?;
            }
        }
    }

    fn keep(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        let due = self.store.append(writes, now())?;
        // Every step so far is among the writes, so states are as of this.
        let seq = self.host.seq();
        for channel in due {
            if let Some(state) = self.host.state(&channel) {
                self.store.snapshot(&channel, state, seq)?;
            }
        }
        if seq.0 >= self.compacted.0 + COMPACT_EVERY {
            self.compacted = seq;
            let log_start = self.store.compact(self.retention, now())?;
            let env = self.env();
            let compacted = Input::Compacted { log_start };
            self.host.step(&env, compacted, &mut Effects::default());
        }
        Ok(())
    }

    /// Does one thing. What the host has to know at once comes back.
    fn effect(&mut self, effect: Effect) -> Result<Option<Input>, StoreError> {
        match effect {
            Effect::Reply {
                connection,
                id,
                answer,
            } => {
                let outgoing = match answer {
                    Err(error) => text(encode::failure(&id, &error))?,
                    Ok(Answer::Replay {
                        after,
                        until,
                        channels,
                        missing,
                    }) => self.replay(&id, after, until, &channels, &missing)?,
                    Ok(answer) => Outgoing::Answer(id, Box::new(answer)),
                };
                self.send(connection, outgoing);
            }
            Effect::Publish { envelope, to } => {
                let encoded = encode::notification("action", &*envelope);
                self.send_all(&to, &utf8(encoded)?);
            }
            Effect::Notify { notification, to } => {
                let encoded = encode::notification(notification.method(), &*notification);
                self.send_all(&to, &utf8(encoded)?);
            }
            Effect::Reject {
                connection,
                rejection,
            } => {
                let encoded = encode::notification("action", &*rejection);
                self.send(connection, text(encoded)?);
            }
            Effect::Close { connection } => self.send(connection, Outgoing::Close),
            Effect::Agent {
                session,
                provider,
                command,
            } => return Ok(self.agents.command(&session, &provider, *command)),
            Effect::Discarded {
                channel,
                action,
                reason,
            } => {
                tracing::warn!(%channel, action, reason, "an action was discarded");
            }
            Effect::StartGrace { client, after } => self.start_grace(client, after),
        }
        Ok(None)
    }

    fn replay(
        &self,
        id: &RequestId,
        after: ServerSeq,
        until: ServerSeq,
        channels: &[Uri],
        missing: &[Uri],
    ) -> Result<Outgoing, StoreError> {
        let envelopes = self.store.replay(after, until, channels)?;
        text(crate::encode::replay(id, envelopes, missing))
    }

    fn start_grace(&mut self, client: agenthost_protocol::ids::ClientId, after: Millis) {
        let after = Duration::from_millis(u64::try_from(after.0).unwrap_or(0));
        self.timers.spawn(async move {
            tokio::time::sleep(after).await;
            Input::GraceEnded { client }
        });
    }

    /// Encoded once, whoever it goes to.
    fn send_all(&mut self, to: &[ConnectionId], text: &Utf8Bytes) {
        for connection in to {
            self.send(*connection, Outgoing::Text(text.clone()));
        }
    }

    /// A connection that is full is closed by its own end, which also tells
    /// the host. Until then it gets nothing more.
    fn send(&mut self, connection: ConnectionId, outgoing: Outgoing) {
        let Some(outbox) = self.outboxes.get(&connection) else {
            return;
        };
        if outbox.push(outgoing).is_err() {
            tracing::info!(connection = connection.0, "a client could not keep up");
            self.outboxes.remove(&connection);
        }
    }
}

fn utf8(encoded: Result<String, encode::EncodeError>) -> Result<Utf8Bytes, StoreError> {
    Ok(Utf8Bytes::from(encoded?))
}

fn text(encoded: Result<String, encode::EncodeError>) -> Result<Outgoing, StoreError> {
    Ok(Outgoing::Text(utf8(encoded)?))
}

/// The time, from the one place that knows it.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
