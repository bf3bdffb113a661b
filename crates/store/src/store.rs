//! The store: one writer, and one transaction for each batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agenthost_core::{
    LoadExtent, LoadedChannel, RemovedSession, SessionEnvironment, StoredChannel, StoredHost,
};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::ids::{ClientId, ProviderId, ServerSeq};
use agenthost_protocol::uri::{RootChannel, Uri};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::channels;
use crate::data_directory;
use crate::data_directory::DataDirectory;
use crate::error::StoreError;
use crate::migration;
use crate::reclaim;
use crate::reclaim::{MaintenanceState, ReclaimState};
use crate::rows;
use crate::rows::{AgentOptionsRow, ClientRow};
use crate::schema;
use crate::space;
use crate::turns;
use crate::turns::StoredTurns;
use crate::wal_checkpoint::WalCheckpointer;

/// The kind of failure that a committed batch survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process, for example by a signal.
    Process,
    /// A power failure: every batch is on the disk before its effects become visible.
    Power,
}

/// The database of a host, with the caches that make appending cheap.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    /// Number of actions since the last snapshot of each channel.
    pub(crate) since_snapshot: BTreeMap<Uri, u32>,
    /// The turns in the rows of chats that were loaded or stored, so that a snapshot writes
    /// only the turns that changed.
    pub(crate) stored_turns: BTreeMap<Uri, StoredTurns>,
    /// The size of the log in bytes. It is stored in a row, too, but is needed after every
    /// batch.
    pub(crate) log_bytes: u64,
    pub(crate) checkpointer: WalCheckpointer,
    pub(crate) reclaim: ReclaimState,
    pub(crate) directory: DataDirectory,
}

impl Store {
    /// Opens the database in a directory, or creates it.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        Self::open_directory(path, durability).map_err(|error| space::explain_error(path, error))
    }

    fn open_directory(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        let directory = DataDirectory::acquire(path)?;
        let database = directory.database_path();
        directory.create_database()?;
        let connection = open_database(&database, durability);
        let connection = connection.map_err(|error| report_damage(&database, error))?;
        let mut store = Store {
            connection,
            log_bytes: 0,
            since_snapshot: BTreeMap::new(),
            stored_turns: BTreeMap::new(),
            checkpointer: WalCheckpointer::start(&database)?,
            reclaim: ReclaimState::at_start(),
            directory,
        };
        store.log_bytes = store.read_number("log_bytes")?.0;
        Ok(store)
    }

    /// Stores the state of a channel at a sequence number, so that loading it starts from
    /// there. If it fails, the log still has what it would have replaced.
    pub fn snapshot(
        &mut self,
        channel: &Uri,
        loaded: &LoadedChannel,
        seq: ServerSeq,
    ) -> Result<(), StoreError> {
        // If it fails, the next attempt is as far away as after a success.
        self.since_snapshot.remove(channel);
        let stored = self.write_snapshot(channel, loaded, seq);
        self.explain(stored)
    }

    fn write_snapshot(
        &mut self,
        channel: &Uri,
        loaded: &LoadedChannel,
        seq: ServerSeq,
    ) -> Result<(), StoreError> {
        let nothing = StoredTurns::default();
        let kept = self.stored_turns.get(channel).unwrap_or(&nothing);
        let transaction = self.connection.transaction()?;
        transaction
            .prepare_cached("UPDATE channels SET seq = ?2, state = ?3 WHERE channel = ?1")?
            .execute(params![
                channel.as_str(),
                seq_to_sql(seq),
                turns::encode_state(&loaded.state)?
            ])?;
        turns::write_turns(&transaction, channel, loaded, kept)?;
        transaction.commit()?;
        self.stored_turns
            .insert(channel.clone(), StoredTurns::from_loaded(loaded));
        Ok(())
    }

    /// Reclaims space in a step of bounded length, and requests a checkpoint of the write-ahead
    /// log. The host calls this when it is idle.
    pub fn run_idle_maintenance(&mut self) -> Result<MaintenanceState, StoreError> {
        let reclaimed = self.reclaim_space();
        self.checkpointer.request_if_pending();
        self.explain(reclaimed)
    }

    /// Evicts cached turns of all channels that the host does not have in memory.
    pub fn evict(&mut self, is_resident: impl Fn(&Uri) -> bool) {
        self.stored_turns.retain(|channel, _| is_resident(channel));
    }

    /// Loads a channel: its snapshot with the later actions of the log applied.
    pub fn load(
        &mut self,
        channel: &Uri,
        extent: LoadExtent,
    ) -> Result<Option<LoadedChannel>, StoreError> {
        let loaded = self.read_channel(channel, extent);
        loaded.map_err(|error| report_damage(&self.directory.database_path(), error))
    }

    /// Loads a channel as it was right after an action. Returns `None` if its snapshot is
    /// newer than that. For a chat, loads the latest turns only.
    pub fn load_at(
        &mut self,
        channel: &Uri,
        seq: ServerSeq,
    ) -> Result<Option<LoadedChannel>, StoreError> {
        let Some((snapshot, state)) = channels::read_snapshot(&self.connection, channel)? else {
            return Ok(None);
        };
        if snapshot > seq_to_sql(seq) {
            return Ok(None);
        }
        let mut later = channels::actions_after(&self.connection, channel, snapshot)?;
        later.retain(|envelope| envelope.server_seq <= seq);
        let (loaded, _) =
            channels::rebuild_state(&self.connection, channel, state, later, LoadExtent::Tail)?;
        Ok(Some(loaded))
    }

    fn read_channel(
        &mut self,
        channel: &Uri,
        extent: LoadExtent,
    ) -> Result<Option<LoadedChannel>, StoreError> {
        let Some((seq, state)) = channels::read_snapshot(&self.connection, channel)? else {
            return Ok(None);
        };
        let later = channels::actions_after(&self.connection, channel, seq)?;
        let (loaded, kept) =
            channels::rebuild_state(&self.connection, channel, state, later, extent)?;
        self.stored_turns.insert(channel.clone(), kept);
        Ok(Some(loaded))
    }

    /// Loads the state that a host needs when it starts.
    pub fn load_host(&mut self) -> Result<StoredHost, StoreError> {
        let remembered = self.read_host();
        remembered.map_err(|error| report_damage(&self.directory.database_path(), error))
    }

    fn read_host(&mut self) -> Result<StoredHost, StoreError> {
        let root = self.load(&RootChannel.into(), LoadExtent::Whole)?;
        let root = match root.map(|root| root.state) {
            Some(ChannelState::Root(root)) => Some((*root).clone()),
            _ => None,
        };
        let mut unreadable = Vec::new();
        let sessions = "SELECT session, summary FROM sessions";
        let sessions = self.read_rows(sessions, &mut unreadable, |session, text| {
            rows::decode_row(|| format!("the summary of {session}"), text)
        })?;
        let clients = "SELECT client, record FROM clients WHERE left_at IS NULL";
        let clients = self.read_rows(clients, &mut unreadable, |client, text| {
            let row: ClientRow = rows::decode_row(|| format!("client {client}"), text)?;
            Ok((ClientId::from(client), row.into()))
        })?;
        let options = "SELECT provider, options FROM agent_options";
        let agent_options = self.read_rows(options, &mut unreadable, |provider, text| {
            let row: AgentOptionsRow =
                rows::decode_row(|| format!("the options of agent {provider}"), text)?;
            Ok((ProviderId::from(provider), row.into()))
        })?;
        let removed_sessions = self.removed_sessions()?;
        let mut channels = self
            .connection
            .prepare("SELECT channel, session, born FROM channels WHERE channel <> ?1")?;
        let channels = channels.query_map([RootChannel::URI], |row| {
            Ok(StoredChannel {
                channel: Uri::from(row.get::<_, String>(0)?),
                session: row.get::<_, Option<String>>(1)?.map(Uri::from),
                created_seq: seq_from_sql(row.get(2)?),
            })
        })?;
        Ok(StoredHost {
            root,
            seq: self.read_number("seq")?,
            log_start: self.read_number("log_start")?,
            epochs: self.load_epochs()?,
            sessions,
            channels: channels.collect::<Result<_, _>>()?,
            clients,
            agent_options,
            removed_sessions,
            memory: None,
            unreadable,
        })
    }

    /// Reads the environment variables of a session.
    pub fn session_environment(&self, session: &Uri) -> Result<SessionEnvironment, StoreError> {
        let sql = "SELECT variables FROM session_environments WHERE session = ?1";
        let mut statement = self.connection.prepare_cached(sql)?;
        let row = statement.query_row([session.as_str()], |row| row.get(0));
        let text: Option<String> = row.optional()?;
        let Some(text) = text else {
            return Ok(SessionEnvironment::default());
        };
        let unreadable = |problem: String| StoreError::Unreadable {
            what: format!("the environment of {session}"),
            problem,
        };
        // The text of a JSON error may contain a value.
        let variables: BTreeMap<String, String> = serde_json::from_str(&text)
            .map_err(|_| unreadable("not an object of strings".to_owned()))?;
        SessionEnvironment::new(variables).map_err(|problem| unreadable(problem.to_string()))
    }

    fn removed_sessions(&self) -> Result<Vec<RemovedSession>, StoreError> {
        let query = "SELECT seq, session, provider FROM removed_sessions ORDER BY seq";
        let mut query = self.connection.prepare(query)?;
        let removed = query.query_map([], |row| {
            Ok(RemovedSession {
                seq: seq_from_sql(row.get(0)?),
                session: Uri::from(row.get::<_, String>(1)?),
                provider: ProviderId::from(row.get::<_, String>(2)?),
            })
        })?;
        Ok(removed.collect::<Result<_, _>>()?)
    }

    /// Returns the actions that a client missed: the envelopes as they were sent, in order.
    pub fn replay(
        &self,
        after: ServerSeq,
        until: ServerSeq,
        channels: &[Uri],
    ) -> Result<Vec<String>, StoreError> {
        let mut found = BTreeMap::new();
        let mut query = self.connection.prepare_cached(
            "SELECT seq, envelope FROM log WHERE channel = ?1 AND seq > ?2 AND seq <= ?3",
        )?;
        for channel in channels {
            let bounds = params![channel.as_str(), seq_to_sql(after), seq_to_sql(until)];
            let mut rows = query.query(bounds)?;
            while let Some(row) = rows.next()? {
                found.insert(row.get::<_, i64>(0)?, row.get::<_, String>(1)?);
            }
        }
        Ok(found.into_values().collect())
    }

    /// Returns the size of a replay in bytes.
    pub fn replay_bytes(&self, after: ServerSeq, channels: &[Uri]) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT coalesce(sum(length(CAST(envelope AS BLOB))), 0) FROM log
             WHERE channel = ?1 AND seq > ?2",
        )?;
        let mut bytes = 0;
        for channel in channels {
            let row = query.query_row(params![channel.as_str(), seq_to_sql(after)], |row| {
                row.get(0)
            });
            bytes += i64::unsigned_abs(row?);
        }
        Ok(bytes)
    }

    fn read_rows<T>(
        &self,
        query: &str,
        unreadable: &mut Vec<String>,
        read: impl Fn(&str, &str) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare(query)?;
        let mut rows = statement.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            let text: String = row.get(1)?;
            // One unreadable row must not make the others unavailable.
            match read(&name, &text) {
                Ok(row) => found.push(row),
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        Ok(found)
    }

    pub(crate) fn read_number(&self, name: &str) -> Result<ServerSeq, StoreError> {
        let value = self
            .connection
            .prepare_cached("SELECT value FROM numbers WHERE name = ?1")?
            .query_row([name], |row| row.get(0))?;
        Ok(seq_from_sql(value))
    }
}

fn open_database(database: &Path, durability: Durability) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(database)?;
    // The data directory is locked, but a backup tool may read the database.
    connection.busy_timeout(Duration::from_secs(5))?;
    // Has an effect only on a new database, before anything is written to it.
    reclaim::request_auto_vacuum(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // A checkpoint must not block the writer: `wal_checkpoint` runs them on its own thread.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // Truncates a write-ahead log that once became large.
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    schema::migrate_schema(&mut connection)?;
    migration::migrate_rows(&mut connection)?;
    reclaim::convert_database(&connection)?;
    // SQLite detects corruption only when it reads a page.
    connection.query_row("SELECT count(*) FROM numbers", [], |_| Ok(()))?;
    Ok(connection)
}

/// Copies the database if SQLite reports corruption, and returns the error to report.
pub(crate) fn report_damage(database: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Database(problem) if is_corruption(&problem) => {
            match data_directory::copy_damaged(database) {
                Ok(copy) => StoreError::Damaged {
                    database: database.to_owned(),
                    copy,
                    problem: problem.to_string(),
                },
                Err(error) => error,
            }
        }
        other => other,
    }
}

pub(crate) fn is_corruption(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Sequence numbers are below 2^53, so the conversion never saturates.
pub(crate) fn seq_to_sql(seq: ServerSeq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}

pub(crate) fn seq_from_sql(value: i64) -> ServerSeq {
    ServerSeq(u64::try_from(value).unwrap_or(0))
}
