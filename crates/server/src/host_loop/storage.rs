//! Keeps the host running while nothing can be stored, for example because the disk is full.
//!
//! The batch whose append fails has already changed the host, so it is stored in space that the
//! store has in reserve. From then on storage is *blocked*: inputs of agents wait in their queues,
//! each other input is tried on its own, and one that has something to store is undone. A message
//! of a client is then refused; any other input is deferred. Once there is space for a new
//! reserve, the deferred inputs are handled and everything continues.

use std::collections::VecDeque;
use std::time::Duration;

use agenthost_core::{ClientMessage, ConnectionId, Effects, Host, Input, StoreWrite};
use agenthost_stdx::disk_space::StorageProblem;
use agenthost_store::{AppendResult, RunnerProgress, StoreError};

use super::persistence::allow_no_space;
use super::{HostLoop, now};

/// Interval at which blocked storage is tried again.
pub(super) const STORAGE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of deferred inputs at which the loop still takes results of workers. They come
/// from jobs that were started before, and wait in the workers otherwise.
const MAX_DEFERRED_INPUTS: usize = 1_024;

/// Maximum number of records of clients and audit entries that wait for space. Beyond it, new
/// clients are refused.
const MAX_UNSAVED_WRITES: usize = 1_000;

/// The state of the loop while nothing can be stored.
#[derive(Debug)]
pub(crate) struct BlockedStorage {
    problem: StorageProblem,
    /// `true` once the problem is part of the settings that clients see.
    is_announced: bool,
    /// Inputs that have something to store, in order.
    deferred: VecDeque<Input>,
    /// Writes that clients do not rely on: used sequence numbers, records of clients, audit
    /// entries.
    unsaved: Vec<StoreWrite>,
}

/// One input that is tried while storage is blocked.
struct StepTrial {
    /// The host as of the last write that succeeded.
    before: Host,
    effects: Effects,
    /// The number of effects up to the last write that succeeded.
    stored_effects: usize,
}

impl BlockedStorage {
    fn new(problem: StorageProblem) -> Self {
        BlockedStorage {
            problem,
            is_announced: false,
            deferred: VecDeque::new(),
            unsaved: Vec::new(),
        }
    }

    /// Returns `true` if the results of workers can still be deferred.
    pub(super) fn has_capacity(&self) -> bool {
        self.deferred.len() < MAX_DEFERRED_INPUTS
    }

    /// Keeps writes until there is space, in place of earlier ones that they replace.
    fn keep(&mut self, writes: &[StoreWrite]) {
        for write in writes {
            self.unsaved.retain(|earlier| !write.replaces(earlier));
            self.unsaved.push(write.clone());
        }
    }
}

impl HostLoop {
    /// Blocks storage before a batch if it is known that the batch can't be stored.
    pub(super) fn check_storage(&mut self) {
        if self.blocked.is_none()
            && let Some(problem) = self.store.find_storage_problem()
        {
            self.block_storage(problem);
        }
    }

    /// Appends writes that can't be undone. If there is no space, uses the reserve. If even that
    /// is not enough, waits until there is space, and no input is handled meanwhile.
    pub(super) async fn append(
        &mut self,
        writes: &[StoreWrite],
        progress: &RunnerProgress,
    ) -> Result<AppendResult, StoreError> {
        loop {
            let appended = self.store.append_with_runner(writes, progress, now());
            let problem = match appended {
                Err(StoreError::NoSpace { problem, .. }) => problem,
                appended => return appended,
            };
            self.block_storage(problem);
            match self.store.release_reserve() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "failed to release the reserve"),
            }
            tokio::select! {
                () = tokio::time::sleep(STORAGE_RETRY_INTERVAL) => {}
                () = self.stop.cancelled() => {
                    let directory = self.store.directory().to_owned();
                    return Err(StoreError::NoSpace { directory, problem });
                }
            }
        }
    }

    /// Starts without a reserve if there is no space for one.
    pub(super) fn create_reserve(&mut self) {
        match self.store.restore_reserve() {
            Ok(()) => {}
            Err(StoreError::NoSpace { problem, .. }) => self.block_storage(problem),
            Err(error) => tracing::warn!(%error, "failed to reserve space on the disk"),
        }
    }

    /// Steps the host while storage is blocked. An input with something to store is undone, and
    /// refused or deferred.
    pub(super) async fn step_blocked(
        &mut self,
        input: Input,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        // Steps of the same batch, from before storage was blocked, can't be undone.
        self.persist(out).await?;
        let Some(blocked) = &mut self.blocked else {
            return Ok(());
        };
        if !blocked.deferred.is_empty() && !input.is_independent() {
            blocked.deferred.push_back(input);
            return Ok(());
        }
        let retained = input.clone();
        let stored = self.try_step(input, out)?;
        if !stored {
            self.refuse_or_defer(retained, out)?;
        }
        Ok(())
    }

    /// Tries to store again, and handles the deferred inputs if that is possible.
    pub(super) async fn retry_storage(&mut self) -> Result<(), StoreError> {
        let Some(blocked) = &mut self.blocked else {
            return Ok(());
        };
        // Writing a number is the smallest test of the database itself.
        blocked.keep(&[StoreWrite::SeqUsed(self.host.seq())]);
        let unsaved = blocked.unsaved.clone();
        if self.store.find_storage_problem().is_some() {
            return Ok(());
        }
        let reserved = allow_no_space(self.store.restore_reserve());
        let has_space = reserved.unwrap_or_else(|error| {
            tracing::debug!(%error, "failed to reserve space on the disk");
            Some(())
        });
        if has_space.is_none() || allow_no_space(self.store.append(&unsaved, now()))?.is_none() {
            // The next batch may need the space of a reserve that exists now.
            if let Err(error) = self.store.release_reserve() {
                tracing::debug!(%error, "failed to release the reserve");
            }
            return self.announce_storage().await;
        }
        tracing::warn!("there is space on the disk again, and changes are stored");
        let deferred = self.blocked.take().map(|blocked| blocked.deferred);
        let mut out = Effects::default();
        let available = Input::StorageChanged { problem: None };
        self.step_host(available, &mut out).await?;
        for input in deferred.into_iter().flatten() {
            self.step_host(input, &mut out).await?;
        }
        self.persist_and_execute(out).await?;
        self.publisher.flush_outboxes();
        Ok(())
    }

    /// Publishes the problem to clients, if there is space for that.
    pub(super) async fn announce_storage(&mut self) -> Result<(), StoreError> {
        let Some(blocked) = self
            .blocked
            .as_ref()
            .filter(|blocked| !blocked.is_announced)
        else {
            return Ok(());
        };
        let problem = Some(blocked.problem.to_string());
        let mut out = Effects::default();
        let before = self.host.clone();
        let env = self.next_env();
        let changed = Input::StorageChanged { problem };
        self.host.step(&env, changed, &mut out);
        match self.store.append(&out.writes, now()) {
            Ok(appended) => {
                self.appended.push(appended);
                if let Some(blocked) = &mut self.blocked {
                    blocked.is_announced = true;
                }
                out.writes.clear();
                self.persist_and_execute(out).await?;
                self.publisher.flush_outboxes();
                Ok(())
            }
            Err(StoreError::NoSpace { .. }) => {
                self.host = before;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn block_storage(&mut self, problem: StorageProblem) {
        if self.blocked.is_none() {
            tracing::error!(%problem, "nothing can be stored; changes are refused until there is space");
            self.blocked = Some(BlockedStorage::new(problem));
        }
    }

    /// Steps the host, and keeps the writes if they can wait. Returns `false` if the step was
    /// undone, because it has other writes.
    fn try_step(&mut self, input: Input, out: &mut Effects) -> Result<bool, StoreError> {
        let mut trial = StepTrial {
            before: self.host.clone(),
            effects: Effects::default(),
            stored_effects: 0,
        };
        let stored = self.step_trial(input, &mut trial)?;
        if !stored {
            self.host = trial.before;
            trial.effects.effects.truncate(trial.stored_effects);
        }
        out.effects.append(&mut trial.effects.effects);
        Ok(stored)
    }

    fn step_trial(&mut self, input: Input, trial: &mut StepTrial) -> Result<bool, StoreError> {
        let input = self.limit_replay(input)?;
        self.load_client(&input, &mut trial.effects)?;
        let mut requested = Vec::new();
        loop {
            let mut needs = self.host.missing_channels(&input);
            needs.retain(|need| !requested.contains(need));
            if needs.is_empty() {
                break;
            }
            for need in needs {
                requested.push(need.clone());
                self.load_channel(need, &mut trial.effects)?;
            }
            if !self.store_trial(trial)? {
                return Ok(false);
            }
        }
        let env = self.next_env();
        let from = trial.effects.effects.len();
        self.note_step(&input);
        self.host.step(&env, input, &mut trial.effects);
        if !self.store_trial(trial)? {
            return Ok(false);
        }
        let new = trial.effects.effects.get(from..).unwrap_or_default();
        self.legacy.capture_views(&self.host, new);
        Ok(true)
    }

    /// Stores the writes of a trial if clients do not rely on them. Returns `false` for others.
    fn store_trial(&mut self, trial: &mut StepTrial) -> Result<bool, StoreError> {
        let writes = std::mem::take(&mut trial.effects.writes);
        let Some(blocked) = &mut self.blocked else {
            return Ok(false);
        };
        let adds_entry = writes
            .iter()
            .any(|write| matches!(write, StoreWrite::Client(..) | StoreWrite::Audit(_)));
        let is_full = blocked.unsaved.len() >= MAX_UNSAVED_WRITES;
        if !writes.iter().all(StoreWrite::can_wait) || (adds_entry && is_full) {
            return Ok(false);
        }
        blocked.keep(&writes);
        trial.before = self.host.clone();
        trial.stored_effects = trial.effects.effects.len();
        Ok(true)
    }

    fn refuse_or_defer(&mut self, input: Input, out: &mut Effects) -> Result<(), StoreError> {
        let Some(blocked) = &mut self.blocked else {
            return Ok(());
        };
        match input {
            // A response to a request of the host can't be refused.
            Input::Received {
                connection,
                message: message @ ClientMessage::Response(..),
            } => blocked.deferred.push_back(Input::Received {
                connection,
                message,
            }),
            Input::Received {
                connection,
                message,
            } => self.refuse(connection, message, out)?,
            // The next ones are due in some minutes.
            Input::EvictionDue | Input::RetentionDue(_) => {}
            other => blocked.deferred.push_back(other),
        }
        Ok(())
    }

    fn refuse(
        &mut self,
        connection: ConnectionId,
        message: ClientMessage,
        out: &mut Effects,
    ) -> Result<(), StoreError> {
        let Some(blocked) = &self.blocked else {
            return Ok(());
        };
        let problem = blocked.problem.to_string();
        let refused = Input::NotStored {
            connection,
            message,
            problem,
        };
        self.try_step(refused, out)?;
        Ok(())
    }
}
