//! Appends the writes of a batch to the log, and then runs its effects.

use agenthost_core::{Effects, Input};
use agenthost_store::StoreError;

use super::redaction::redact_entries;
use super::{HostLoop, now};

/// Actions between two compactions of the log. Compaction is too expensive to run for every
/// batch.
const COMPACTION_INTERVAL_ACTIONS: u64 = 10_000;

impl HostLoop {
    /// Appends the writes to the log, then runs the effects. Inputs that effects return at once
    /// form the next batch: its writes are appended and its effects run after this one, in the
    /// same order.
    pub(super) async fn persist_and_execute(&mut self, mut out: Effects) -> Result<(), StoreError> {
        loop {
            self.persist(&mut out).await?;
            self.staged_effects = 0;
            let mut answers = Vec::new();
            for effect in out.effects {
                answers.extend(self.execute(effect)?);
            }
            self.appended.clear();
            if answers.is_empty() {
                // No effect needs the actions of removed channels any more.
                allow_no_space(self.store.delete_removed_actions())?;
                return Ok(());
            }
            out = Effects::default();
            for input in answers {
                self.step_host(input, &mut out).await?;
            }
        }
    }

    /// Appends the writes to the log, together with the commands for the runner that belong to
    /// them.
    pub(super) async fn persist(&mut self, out: &mut Effects) -> Result<(), StoreError> {
        let writes = std::mem::take(&mut out.writes);
        let staged = out.effects.get(self.staged_effects..).unwrap_or_default();
        let progress = self.stage(staged);
        self.staged_effects = out.effects.len();
        // Commands without writes are sent nevertheless while nothing can be stored.
        let is_stored = self.blocked.is_none() || !writes.is_empty();
        if !is_stored || (writes.is_empty() && progress.is_empty()) {
            self.finish_stage(progress, is_stored);
            return Ok(());
        }
        let writes = redact_entries(&self.redactor, &writes);
        let appended = self.append(&writes, &progress).await?;
        self.finish_stage(progress, true);
        if writes.is_empty() {
            return Ok(());
        }
        // The writes include every step so far, so the states in memory are those at this
        // sequence number.
        let seq = self.host.seq();
        for channel in &appended.snapshots_due {
            if let Some(loaded) = self.host.loaded(channel) {
                // The log has what a missing snapshot would contain.
                allow_no_space(self.store.snapshot(channel, loaded, seq))?;
            }
        }
        self.appended.push(appended);
        self.needs_maintenance = true;
        let many = seq.0 >= self.last_compaction_seq.0 + COMPACTION_INTERVAL_ACTIONS;
        if many || self.store.exceeds_retention(self.retention) {
            self.last_compaction_seq = seq;
            let compacted = self.store.compact(self.retention, now());
            if let Some(log_start) = allow_no_space(compacted)? {
                let env = self.next_env();
                let compacted = Input::LogCompacted { log_start };
                self.host.step(&env, compacted, &mut Effects::default());
            }
        }
        Ok(())
    }
}

/// Returns `None` for work that had no space on the disk, and is done later.
pub(super) fn allow_no_space<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(done) => Ok(Some(done)),
        Err(StoreError::NoSpace { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
