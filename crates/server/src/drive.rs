//! The loop: inputs in batches, the log, then the world.

mod effects;
mod hearing;
mod replay_limit;
mod telling;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenthost_agents::Agents;
use agenthost_core::{Effects, Env, Extent, Host, Input, Need, Write};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::wire::Limits;
use agenthost_store::{Appended, Retention, Store, StoreError};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::batch::Batch;
use crate::connection::{Event, Message};
use crate::customizing::Customizing;
use crate::deliveries::Deliveries;
use crate::later::Later;
use crate::older::Older;
use crate::outbox::{Outgoing, Room};

/// Actions between two looks at what can be forgotten.
const COMPACT_EVERY: u64 = 10_000;

/// How long nothing has to happen before the log is tidied up.
const IDLE: Duration = Duration::from_millis(300);

/// How long the end waits until it is known how files are.
const MARKS: Duration = Duration::from_secs(5);

/// How often what nobody looks at is let go from memory.
const QUIET_EVERY: Duration = Duration::from_secs(60);

/// Owns the host and everything that it drives.
pub(crate) struct Driver {
    pub(crate) host: Host,
    pub(crate) store: Store,
    pub(crate) agents: Agents,
    pub(crate) retention: Retention,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) from_agents: mpsc::Receiver<Input>,
    pub(crate) deliveries: Deliveries,
    pub(crate) older: Older,
    /// What a message may be.
    pub(crate) limits: Limits,
    pub(crate) room: Room,
    pub(crate) later: Later,
    pub(crate) customizing: Option<Customizing>,
    pub(crate) nonce: u128,
    pub(crate) compacted: ServerSeq,
    /// Whether something was appended since the log was last tidied up.
    pub(crate) unsettled: bool,
    /// What was appended, for the effects that wait for it.
    pub(crate) appended: Vec<Appended>,
}

impl Driver {
    /// Runs until it is told to stop. An error of the log ends it: what can't
    /// be kept must not be seen.
    pub(crate) async fn run(mut self, stop: CancellationToken) -> Result<(), StoreError> {
        self.start()?;
        let mut quiet = tokio::time::interval(QUIET_EVERY);
        loop {
            // A client that reads, but not as fast as others talk, is not too
            // slow: they wait a moment for it.
            let pause = self.deliveries.pause();
            let first = tokio::select! {
                event = self.events.recv(), if pause.is_none() => event,
                input = self.from_agents.recv(), if pause.is_none() => input.map(Event::Input),
                () = until(pause), if pause.is_some() => continue,
                () = self.room.notified(), if pause.is_some() => continue,
                input = self.later.next() => Some(Event::Input(input)),
                () = self.deliveries.due() => {
                    self.deliveries.flush()?;
                    continue;
                }
                _ = quiet.tick() => Some(Event::Input(Input::Quiet)),
                () = tokio::time::sleep(IDLE), if self.unsettled => {
                    self.unsettled = false;
                    self.store.idle();
                    continue;
                }
                () = stop.cancelled() => None,
            };
            let Some(first) = first else {
                break;
            };
            let mut batch = Batch::default();
            batch.push(first);
            // What happens by itself does not end the wait for who lags behind.
            if pause.is_none() {
                batch.fill_from_clients(&mut self.events);
                batch.fill_from_agents(&mut self.from_agents);
            }
            self.batch(batch)?;
            self.deliveries.flush()?;
        }
        self.finish_marks().await?;
        self.finish()?;
        let agents = self.agents.stop(Duration::from_secs(3));
        let customizing = async {
            if let Some(customizing) = self.customizing.take() {
                customizing.stop().await;
            }
        };
        tokio::join!(agents, self.later.close_terminals(), customizing);
        Ok(())
    }

    /// How files were when a turn ended can't be seen later.
    async fn finish_marks(&mut self) -> Result<(), StoreError> {
        let deadline = Instant::now() + MARKS;
        while self.later.surveys.is_marking() {
            let marked = self.later.surveys.next();
            let Ok(input) = tokio::time::timeout_at(deadline, marked).await else {
                break;
            };
            let mut batch = Batch::default();
            batch.push(Event::Input(input));
            self.batch(batch)?;
        }
        Ok(())
    }

    /// Answers everything that was asked before the end.
    fn finish(&mut self) -> Result<(), StoreError> {
        loop {
            let mut batch = Batch::default();
            batch.fill_from_clients(&mut self.events);
            if batch.events.is_empty() {
                break;
            }
            self.batch(batch)?;
        }
        Ok(self.deliveries.close_all()?)
    }

    fn start(&mut self) -> Result<(), StoreError> {
        let mut out = Effects::default();
        self.step(Input::Started, &mut out)?;
        for channel in self.host.unfinished() {
            let extent = Extent::Tail;
            self.restore(Need { channel, extent }, &mut out)?;
        }
        self.carry_out(out)?;
        // Clients that were here may come back; those that do not are
        // forgotten like any other.
        let grace = self.host.grace();
        for (client, departure) in self.host.absent_clients() {
            let ended = Input::GraceEnded { client, departure };
            self.later.after(grace, ended);
        }
        Ok(())
    }

    fn batch(&mut self, batch: Batch) -> Result<(), StoreError> {
        let mut out = Effects::default();
        let mut places = Vec::new();
        let mut leaving = Vec::new();
        for event in batch.events {
            match event {
                Event::Connected {
                    connection,
                    principal,
                    outbox,
                    fluent,
                } => {
                    self.deliveries.insert(connection, outbox);
                    self.older.connected(connection, fluent);
                    let connected = Input::Connected {
                        connection,
                        principal,
                    };
                    self.step(connected, &mut out)?;
                }
                Event::Received {
                    connection,
                    message,
                    place,
                    ..
                } => {
                    match message {
                        Message::Read(message) => {
                            let received = Input::Received {
                                connection,
                                message,
                            };
                            self.step(received, &mut out)?;
                        }
                        Message::Unread(text) => self.hear(connection, &text, &mut out)?,
                    }
                    places.push(place);
                }
                Event::Leaving { connection, why } => leaving.push((connection, why)),
                Event::Input(input) => {
                    if let Input::Disconnected { connection } = &input {
                        self.deliveries.remove(*connection);
                        self.older.disconnected(*connection);
                        self.later.forget(*connection);
                    }
                    let quiet = matches!(input, Input::Quiet);
                    let released = self.later.surveys.release(&input);
                    self.step(input, &mut out)?;
                    out.effects.extend(released);
                    if quiet {
                        let host = &self.host;
                        self.store.let_go(|channel| host.state(channel).is_some());
                    }
                }
            }
        }
        self.carry_out(out)?;
        for (connection, why) in leaving {
            self.deliveries.send(connection, Outgoing::Close(why))?;
        }
        self.deliveries.hand_over();
        Ok(())
    }

    fn step(&mut self, input: Input, out: &mut Effects) -> Result<(), StoreError> {
        let input = self.bound_replay(input)?;
        // What can't be read is asked for once.
        let mut asked = Vec::new();
        loop {
            let mut needs = self.host.needs(&input);
            needs.retain(|need| !asked.contains(need));
            if needs.is_empty() {
                break;
            }
            // The log has to have what the host has before it is read.
            let writes = std::mem::take(&mut out.writes);
            self.keep(&writes)?;
            for need in needs {
                asked.push(need.clone());
                self.restore(need, out)?;
            }
        }
        let env = self.env();
        let before = out.effects.len();
        self.host.step(&env, input, out);
        let new = out.effects.get(before..).unwrap_or_default();
        self.older.look_around(&self.host, new);
        Ok(())
    }

    fn restore(&mut self, need: Need, out: &mut Effects) -> Result<(), StoreError> {
        let Need { channel, extent } = need;
        let loaded = match self.store.load(&channel, extent) {
            // The rest of the host can do without it.
            Err(error @ StoreError::Unreadable { .. }) => {
                tracing::error!(%channel, %error, "a channel is lost");
                return Ok(());
            }
            loaded => loaded?,
        };
        if let Some(loaded) = loaded {
            let env = self.env();
            let restored = Input::Restored { channel, loaded };
            self.host.step(&env, restored, out);
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
            self.keep(&out.writes)?;
            let mut answers = Vec::new();
            for effect in out.effects {
                answers.extend(self.effect(effect)?);
            }
            self.appended.clear();
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
        if writes.is_empty() {
            return Ok(());
        }
        let appended = self.store.append(writes, now())?;
        // Every step so far is among the writes, so states are as of this.
        let seq = self.host.seq();
        for channel in &appended.due {
            if let Some(loaded) = self.host.loaded(channel) {
                self.store.snapshot(channel, loaded, seq)?;
            }
        }
        self.appended.push(appended);
        self.unsettled = true;
        let many = seq.0 >= self.compacted.0 + COMPACT_EVERY;
        if many || self.store.is_large(self.retention) {
            self.compacted = seq;
            let log_start = self.store.compact(self.retention, now())?;
            let env = self.env();
            let compacted = Input::Compacted { log_start };
            self.host.step(&env, compacted, &mut Effects::default());
        }
        Ok(())
    }
}

async fn until(moment: Option<Instant>) {
    if let Some(moment) = moment {
        tokio::time::sleep_until(moment).await;
    }
}

/// The time, from the one place that knows it.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
