//! The loop that owns the host: it takes inputs in batches, appends their writes to the log,
//! then runs their effects.

pub(crate) mod batch;
mod channel_loader;
pub(crate) mod drivers;
pub(crate) mod execute;
pub(crate) mod legacy_inbound;
pub(crate) mod legacy_outbound;
pub(crate) mod outbound;
mod persistence;
pub(crate) mod redaction;
mod replay;
mod storage;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agenthost_core::{AuditEntry, ChannelNeed, Effects, Env, Host, Input, LoadExtent, StoreWrite};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::wire::Limits;
use agenthost_stdx::redaction::SecretRedactor;
use agenthost_store::{AppendResult, MaintenanceState, Retention, Store, StoreError};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::connection::message::{LoopEvent, ReceivedMessage};
use crate::delivery::Publisher;
use crate::delivery::outbox::{CapacityNotify, OutgoingMessage};
use crate::host_loop::batch::InputBatch;
use crate::host_loop::drivers::{DriverHost, DriverLauncher};
use crate::host_loop::persistence::allow_no_space;
use crate::host_loop::storage::{BlockedStorage, STORAGE_RETRY_INTERVAL};
use crate::legacy::LegacyClients;
use crate::server::agent_catalog::{AgentList, CatalogBuilder};
use crate::server::{HostUsage, ServeError};
use crate::workers::Workers;

/// Time without events after which the store runs its idle maintenance (a checkpoint of the
/// database).
const STORE_IDLE_DELAY: Duration = Duration::from_millis(300);

/// Timeout of open checkpoints and removals when the host stops.
const CHECKPOINT_DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval at which idle channels are evicted from memory.
const EVICTION_INTERVAL: Duration = Duration::from_secs(60);

/// The host and the parts of the server that run its effects.
pub(crate) struct HostLoop {
    pub(crate) host: Host,
    pub(crate) store: Store,
    pub(crate) drivers: DriverHost,
    pub(crate) launcher: DriverLauncher,
    pub(crate) catalog: CatalogBuilder,
    pub(crate) retention: Retention,
    /// Masks secrets in entries of the audit log.
    pub(crate) redactor: SecretRedactor,
    /// The audit entry of this start.
    pub(crate) start_entry: AuditEntry,
    pub(crate) events: mpsc::Receiver<LoopEvent>,
    pub(crate) agent_inputs: mpsc::Receiver<Input>,
    pub(crate) publisher: Publisher,
    pub(crate) legacy: LegacyClients,
    /// Limits on the size and nesting of a message.
    pub(crate) message_limits: Limits,
    pub(crate) capacity: CapacityNotify,
    pub(crate) workers: Workers,
    pub(crate) nonce: u128,
    pub(crate) last_compaction_seq: ServerSeq,
    /// `true` if actions were appended since the last idle maintenance of the store.
    pub(crate) needs_maintenance: bool,
    /// Receives what the host is used for after each batch, while there is a receiver.
    pub(crate) usage: watch::Sender<HostUsage>,
    /// Set while nothing can be stored.
    pub(crate) blocked: Option<BlockedStorage>,
    /// The time at which blocked storage is tried again.
    pub(crate) next_storage_retry: Instant,
    /// Cancelled when the host stops.
    pub(crate) stop: CancellationToken,
    /// `true` if the runner goes on when the host stops.
    pub(crate) keeps_runner: Arc<AtomicBool>,
    /// The number of effects of the current batch whose commands are stored.
    pub(crate) staged_effects: usize,
    /// Results of the appends of the current batch, with the encoded actions that its effects
    /// send.
    pub(crate) appended: Vec<AppendResult>,
}

impl HostLoop {
    /// Runs the loop until `stop` is cancelled. A store error ends it, because an action that
    /// can't be stored must not be published. A full disk does not: see [`storage`].
    pub(crate) async fn run(mut self) -> Result<(), ServeError> {
        self.start().await?;
        let stop = self.stop.clone();
        let mut eviction_timer = tokio::time::interval(EVICTION_INTERVAL);
        loop {
            // A client that reads, but slower than agents write, is not too slow: the loop
            // takes no input from clients and agents for a short time, until that client has
            // caught up.
            let pause = self.publisher.slow_client_pause();
            let is_blocked = self.blocked.is_some();
            let defers = self.blocked.as_ref();
            let retention_check = self.workers.retention_worker.next_check();
            let takes_results = defers.is_none_or(BlockedStorage::has_capacity);
            let mut batch = InputBatch::default();
            let first = tokio::select! {
                event = self.events.recv(), if pause.is_none() => event,
                event = self.drivers.next_event(), if pause.is_none() && !is_blocked => {
                    batch.push_runner_event(event);
                    None
                }
                input = self.agent_inputs.recv(), if pause.is_none() && !is_blocked => {
                    input.map(LoopEvent::Input)
                }
                () = wait_until(pause), if pause.is_some() => continue,
                () = self.capacity.notified(), if pause.is_some() => continue,
                input = self.workers.next_input(), if takes_results => {
                    Some(LoopEvent::Input(input))
                }
                () = tokio::time::sleep_until(self.next_storage_retry), if is_blocked => {
                    self.next_storage_retry = Instant::now() + STORAGE_RETRY_INTERVAL;
                    self.retry_storage().await?;
                    continue;
                }
                () = self.publisher.wait_for_deadline() => {
                    self.publisher.flush_due().map_err(StoreError::from)?;
                    continue;
                }
                () = wait_until(retention_check), if retention_check.is_some() => {
                    self.workers.start_retention_check();
                    continue;
                }
                _ = eviction_timer.tick() => Some(LoopEvent::Input(Input::EvictionDue)),
                () = tokio::time::sleep(STORE_IDLE_DELAY), if self.needs_maintenance => {
                    let rest = allow_no_space(self.store.run_idle_maintenance())?;
                    self.needs_maintenance = rest == Some(MaintenanceState::Pending);
                    continue;
                }
                () = stop.cancelled() => break,
            };
            match first {
                Some(first) => batch.push(first),
                None if batch.is_empty() => break,
                None => {}
            }
            // Timers and job results must not cut short the pause for a slow client.
            if pause.is_none() {
                batch.fill_from_clients(&mut self.events);
                if !is_blocked {
                    batch.fill_from_agents(&mut self.agent_inputs);
                    batch.fill_from_runner(&mut self.drivers);
                }
            }
            self.check_storage();
            let lost_runner = batch.lost_runner.take();
            self.process_batch(batch).await?;
            if let Some(reason) = lost_runner {
                let lost = self.replace_runner(reason).await?;
                let mut batch = InputBatch::default();
                batch.push(LoopEvent::Input(lost));
                self.process_batch(batch).await?;
            }
            if self.blocked.is_some() && !is_blocked {
                self.announce_storage().await?;
            }
            self.publisher.flush_due().map_err(StoreError::from)?;
        }
        self.drain_checkpoints().await?;
        self.drain().await?;
        if self.keeps_runner.load(Ordering::Relaxed) {
            self.drivers.detach().await;
        } else {
            self.drivers.stop().await;
        }
        Ok(())
    }

    /// Waits for open checkpoints and removals, up to [`CHECKPOINT_DRAIN_TIMEOUT`].
    async fn drain_checkpoints(&mut self) -> Result<(), StoreError> {
        let deadline = Instant::now() + CHECKPOINT_DRAIN_TIMEOUT;
        loop {
            let next_input = self.workers.change_worker.next_awaited_input();
            let Ok(Some(input)) = tokio::time::timeout_at(deadline, next_input).await else {
                break;
            };
            let mut batch = InputBatch::default();
            batch.push(LoopEvent::Input(input));
            self.process_batch(batch).await?;
        }
        Ok(())
    }

    /// Handles the requests that were received before the shutdown, then closes all
    /// connections.
    async fn drain(&mut self) -> Result<(), StoreError> {
        loop {
            let mut batch = InputBatch::default();
            batch.fill_from_clients(&mut self.events);
            if batch.events.is_empty() {
                break;
            }
            self.process_batch(batch).await?;
        }
        Ok(self.publisher.close_all()?)
    }

    async fn start(&mut self) -> Result<(), StoreError> {
        let mut out = Effects::default();
        self.step_host(Input::Started, &mut out).await?;
        out.writes
            .push(StoreWrite::Audit(Box::new(self.start_entry.clone())));
        for channel in self.host.channels_to_recover() {
            let extent = LoadExtent::Tail;
            self.load_channel(ChannelNeed { channel, extent }, &mut out)?;
        }
        self.step_host(Input::Recovered, &mut out).await?;
        self.persist_and_execute(out).await?;
        self.create_reserve();
        // Clients that were connected when the previous host stopped may reconnect. Those that
        // do not are dropped when their grace period expires.
        let grace = self.host.grace_period();
        for (client, grace_period) in self.host.absent_clients() {
            let ended = Input::GraceExpired {
                client,
                grace_period,
            };
            let workers = &mut self.workers;
            let tasks = &mut workers.tasks;
            workers.timer_worker.run(grace, ended, tasks);
        }
        Ok(())
    }

    async fn process_batch(&mut self, batch: InputBatch) -> Result<(), StoreError> {
        let mut out = Effects::default();
        let mut permits = Vec::new();
        let mut leaving = Vec::new();
        for event in batch.events {
            match event {
                LoopEvent::Connected {
                    connection,
                    peer,
                    outbox,
                    version_flag: fluent,
                } => {
                    self.publisher.insert(connection, outbox);
                    self.legacy.handle_connected(connection, fluent);
                    let connected = Input::Connected { connection, peer };
                    self.step_host(connected, &mut out).await?;
                }
                LoopEvent::MessageReceived {
                    connection,
                    message,
                    permit,
                    ..
                } => {
                    match message {
                        ReceivedMessage::Decoded(message) => {
                            let received = Input::Received {
                                connection,
                                message,
                            };
                            self.step_host(received, &mut out).await?;
                        }
                        ReceivedMessage::Raw(text) => {
                            self.receive_raw(connection, &text, &mut out).await?
                        }
                    }
                    permits.push(permit);
                }
                LoopEvent::ReadEnded { connection, reason } => leaving.push((connection, reason)),
                LoopEvent::AgentsReplaced(AgentList(agents)) => {
                    let replaced = self.replace_agents(agents);
                    self.step_host(replaced, &mut out).await?;
                }
                LoopEvent::RunnerInput { number, input } => {
                    self.step_host(input, &mut out).await?;
                    self.note_handled(number);
                }
                LoopEvent::Input(input) => {
                    if let Input::Disconnected { connection } = &input {
                        self.publisher.remove(*connection);
                        self.legacy.handle_disconnected(*connection);
                        self.workers.file_worker.drop_queue(*connection);
                    }
                    let is_eviction = matches!(input, Input::EvictionDue);
                    self.step_host(input, &mut out).await?;
                    if is_eviction {
                        let host = &self.host;
                        self.store.evict(|channel| host.state(channel).is_some());
                    }
                }
            }
        }
        self.persist_and_execute(out).await?;
        for (connection, reason) in leaving {
            self.publisher
                .send(connection, OutgoingMessage::Close(reason))?;
        }
        self.publisher.flush_outboxes();
        self.report_usage();
        Ok(())
    }

    fn report_usage(&self) {
        // Without a receiver, no time is spent on the sessions.
        if self.usage.is_closed() {
            return;
        }
        let usage = HostUsage {
            connections: self.publisher.connection_count(),
            departures: self.publisher.departures(),
            runs_turn: self.host.has_running_turn(),
        };
        self.usage.send_if_modified(|before| {
            let is_new = *before != usage;
            *before = usage;
            is_new
        });
    }

    pub(super) async fn step_host(
        &mut self,
        input: Input,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        if self.blocked.is_some() {
            return self.step_blocked(input, out).await;
        }
        let input = self.limit_replay(input)?;
        if self.host.missing_client(&input).is_some() {
            self.persist(out).await?;
            self.load_client(&input, out)?;
        }
        // A channel that can't be loaded is requested once, so that the loop ends.
        let mut requested = Vec::new();
        loop {
            let mut needs = self.host.missing_channels(&input);
            needs.retain(|need| !requested.contains(need));
            if needs.is_empty() {
                break;
            }
            // Loading reads the log, so the pending writes of the host have to be in it first.
            self.persist(out).await?;
            for need in needs {
                requested.push(need.clone());
                self.load_channel(need, out)?;
            }
        }
        let env = self.next_env();
        let before = out.effects.len();
        self.note_step(&input);
        self.host.step(&env, input, out);
        let new = out.effects.get(before..).unwrap_or_default();
        self.legacy.capture_views(&self.host, new);
        Ok(())
    }

    pub(super) fn next_env(&mut self) -> Env {
        self.nonce = self.nonce.wrapping_add(1);
        Env {
            now: now(),
            nonce: self.nonce,
        }
    }
}

async fn wait_until(moment: Option<Instant>) {
    if let Some(moment) = moment {
        tokio::time::sleep_until(moment).await;
    }
}

/// Returns the current time. The host itself never reads a clock.
fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| since.as_millis());
    Millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
