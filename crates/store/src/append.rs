//! Appends the writes of a batch to the database in one transaction.

use std::collections::BTreeMap;

use agenthost_core::{
    LoadedChannel, MAX_REMOVED_SESSIONS, RemovedSession, SessionEnvironment, StoreWrite,
};
use agenthost_protocol::ids::ServerSeq;
use agenthost_protocol::number::Millis;
use agenthost_protocol::uri::Uri;
use rusqlite::{Transaction, params};

use crate::audit;
use crate::clients;
use crate::error::StoreError;
use crate::reclaim;
use crate::rows::{AgentOptionsRow, ClientRow};
use crate::runner;
use crate::runner::RunnerProgress;
use crate::store::{Store, seq_to_sql};
use crate::turns;
use crate::turns::StoredTurns;

/// Number of actions after which a channel is due for a new snapshot. Loading a channel
/// reduces about this many actions at most.
const SNAPSHOT_INTERVAL_ACTIONS: u32 = 500;

/// The result of [`Store::append`].
#[derive(Debug, Default)]
pub struct AppendResult {
    /// Channels that are due for a snapshot.
    pub snapshots_due: Vec<Uri>,
    /// The encoded envelopes of the appended actions, by sequence number. The same text
    /// goes over the wire, so each envelope is encoded once.
    pub actions: Vec<(ServerSeq, String)>,
}

impl AppendResult {
    /// Returns the encoded envelope of an action of this batch.
    pub fn envelope(&self, seq: ServerSeq) -> Option<&str> {
        let index = self.actions.binary_search_by_key(&seq, |(seq, _)| *seq);
        Some(&self.actions.get(index.ok()?)?.1)
    }
}

impl Store {
    /// Commits a batch of writes in one transaction, completely or not at all.
    ///
    /// Fails with [`StoreError::NoSpace`] on a full disk; the same batch can be appended later.
    pub fn append(
        &mut self,
        writes: &[StoreWrite],
        now: Millis,
    ) -> Result<AppendResult, StoreError> {
        self.append_with_runner(writes, &RunnerProgress::default(), now)
    }

    /// Commits a batch like [`Store::append`], together with the progress of the runner.
    pub fn append_with_runner(
        &mut self,
        writes: &[StoreWrite],
        progress: &RunnerProgress,
        now: Millis,
    ) -> Result<AppendResult, StoreError> {
        let appended = self.commit_batch(writes, progress, now);
        self.explain(appended)
    }

    fn commit_batch(
        &mut self,
        writes: &[StoreWrite],
        progress: &RunnerProgress,
        now: Millis,
    ) -> Result<AppendResult, StoreError> {
        let transaction = self.connection.transaction()?;
        runner::write_progress(&transaction, progress)?;
        let mut last = None;
        let mut actions = Vec::new();
        for write in writes {
            if let Some(text) = append_write(&transaction, write, now)? {
                actions.push(text);
            }
            last = last.max(seq_of_write(write));
        }
        let bytes = actions.iter().map(|(_, text)| text.len()).sum();
        if let Some(last) = last {
            transaction
                .prepare_cached("UPDATE numbers SET value = ?1 WHERE name = 'seq'")?
                .execute([seq_to_sql(last)])?;
        }
        if bytes > 0 {
            transaction
                .prepare_cached("UPDATE numbers SET value = value + ?1 WHERE name = 'log_bytes'")?
                .execute([i64::try_from(bytes).unwrap_or(i64::MAX)])?;
        }
        transaction.commit()?;
        self.log_bytes += bytes as u64;
        self.checkpointer.record_append(bytes);
        let mut due = Vec::new();
        for write in writes {
            match write {
                StoreWrite::Action(envelope) => {
                    let count = self
                        .since_snapshot
                        .entry(envelope.channel.clone())
                        .or_default();
                    *count += 1;
                    if *count == SNAPSHOT_INTERVAL_ACTIONS {
                        due.push(envelope.channel.clone());
                    }
                }
                StoreWrite::ChannelRemoved { channel, .. } => {
                    self.since_snapshot.remove(channel);
                    self.stored_turns.remove(channel);
                    self.reclaim.has_removed_channels = true;
                }
                _ => {}
            }
        }
        Ok(AppendResult {
            snapshots_due: due,
            actions,
        })
    }
}

/// Returns the sequence number that a write uses, if it uses one.
fn seq_of_write(write: &StoreWrite) -> Option<ServerSeq> {
    match write {
        StoreWrite::Action(envelope) => Some(envelope.server_seq),
        StoreWrite::SeqUsed(seq) => Some(*seq),
        _ => None,
    }
}

/// Executes one write. For an action, returns its sequence number and its envelope as
/// stored in the log.
fn append_write(
    transaction: &Transaction<'_>,
    write: &StoreWrite,
    now: Millis,
) -> Result<Option<(ServerSeq, String)>, StoreError> {
    let run = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Result<(), StoreError> {
        transaction.prepare_cached(sql)?.execute(values)?;
        Ok(())
    };
    match write {
        StoreWrite::Action(envelope) => {
            let text = serde_json::to_string(&**envelope)?;
            let seq = seq_to_sql(envelope.server_seq);
            run(
                "INSERT INTO log (seq, channel, at, envelope) VALUES (?1, ?2, ?3, ?4)",
                &[&seq, &envelope.channel.as_str(), &now.0, &text],
            )?;
            return Ok(Some((envelope.server_seq, text)));
        }
        StoreWrite::SeqUsed(_) => {}
        StoreWrite::ChannelCreated {
            channel,
            session,
            state,
            seq,
        } => {
            run(
                "INSERT INTO channels (channel, session, born, seq, state)
                 VALUES (?1, ?2, ?3, ?3, ?4)",
                &[
                    &channel.as_str(),
                    &session.as_ref().map(Uri::as_str),
                    &seq_to_sql(*seq),
                    &turns::encode_state(state)?,
                ],
            )?;
            let loaded = LoadedChannel::whole(state.clone());
            turns::write_turns(transaction, channel, &loaded, &StoredTurns::default())?;
        }
        StoreWrite::ChannelRemoved { channel, seq } => {
            reclaim::record_removal(transaction, channel, *seq)?;
            let channel = channel.as_str();
            run("DELETE FROM turns WHERE channel = ?1", &[&channel])?;
            run("DELETE FROM channels WHERE channel = ?1", &[&channel])?;
        }
        StoreWrite::ChannelMoved { channel, session } => run(
            "UPDATE channels SET session = ?2 WHERE channel = ?1",
            &[&channel.as_str(), &session.as_str()],
        )?,
        StoreWrite::Session(summary) => run(
            "INSERT OR REPLACE INTO sessions (session, summary) VALUES (?1, ?2)",
            &[&summary.resource.as_str(), &serde_json::to_string(summary)?],
        )?,
        StoreWrite::SessionRemoved(session) => remove_session(transaction, session)?,
        StoreWrite::SessionEnvironment {
            session,
            environment,
        } => insert_environment(transaction, session, environment)?,
        StoreWrite::SessionEnvironmentCopied { from, to } => run(
            "INSERT OR REPLACE INTO session_environments (session, variables)
             SELECT ?2, variables FROM session_environments WHERE session = ?1",
            &[&from.as_str(), &to.as_str()],
        )?,
        StoreWrite::SessionUnlisted(removed) => append_removed_session(transaction, removed)?,
        StoreWrite::Client(client, record) => run(
            "INSERT OR REPLACE INTO clients (client, record) VALUES (?1, ?2)",
            &[
                &client.as_str(),
                &serde_json::to_string(&ClientRow::from(&**record))?,
            ],
        )?,
        StoreWrite::ClientReleased(client, left_at) => run(
            "UPDATE clients SET left_at = ?2 WHERE client = ?1",
            &[&client.as_str(), &left_at.0],
        )?,
        StoreWrite::ClientsPruned {
            left_until,
            max_clients,
        } => clients::prune(transaction, *left_until, *max_clients)?,
        StoreWrite::PrincipalForgotten(principal) => {
            run(clients::DELETE_OF_PRINCIPAL_SQL, &[&principal.0])?
        }
        StoreWrite::ClientRemoved(client) => {
            run("DELETE FROM clients WHERE client = ?1", &[&client.as_str()])?;
        }
        StoreWrite::Audit(entry) => audit::append_entry(transaction, entry, now)?,
        StoreWrite::AgentOptions(provider, options) => run(
            "INSERT OR REPLACE INTO agent_options (provider, options) VALUES (?1, ?2)",
            &[
                &provider.as_str(),
                &serde_json::to_string(&AgentOptionsRow::from(&**options))?,
            ],
        )?,
    }
    Ok(None)
}

fn remove_session(transaction: &Transaction<'_>, session: &Uri) -> Result<(), StoreError> {
    for table in ["sessions", "session_environments"] {
        transaction
            .prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?
            .execute(params![session.as_str()])?;
    }
    Ok(())
}

fn insert_environment(
    transaction: &Transaction<'_>,
    session: &Uri,
    environment: &SessionEnvironment,
) -> Result<(), StoreError> {
    let variables: BTreeMap<_, _> = environment.variables().collect();
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO session_environments (session, variables) VALUES (?1, ?2)",
        )?
        .execute(params![
            session.as_str(),
            serde_json::to_string(&variables)?
        ])?;
    Ok(())
}

/// Records a removed session, and drops the oldest records.
fn append_removed_session(
    transaction: &Transaction<'_>,
    removed: &RemovedSession,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO removed_sessions (seq, session, provider)
             VALUES (?1, ?2, ?3)",
        )?
        .execute(params![
            seq_to_sql(removed.seq),
            removed.session.as_str(),
            removed.provider.as_str(),
        ])?;
    transaction
        .prepare_cached(
            "DELETE FROM removed_sessions WHERE seq <=
             (SELECT seq FROM removed_sessions ORDER BY seq DESC LIMIT 1 OFFSET ?1)",
        )?
        .execute([MAX_REMOVED_SESSIONS as i64])?;
    Ok(())
}
