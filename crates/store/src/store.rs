//! The store: one writer, one transaction for each batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agenthost_core::{Extent, Loaded, Remembered, StoredChannel};
use agenthost_protocol::action::{Action, ActionEnvelope};
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::ChatAction;
use agenthost_protocol::ids::{ClientId, ProviderId, ServerSeq};
use agenthost_protocol::outcome::Outcome;
use agenthost_protocol::uri::{RootChannel, Uri};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};

use crate::checkpoint::Checkpoints;
use crate::directory::{self, Directory};
use crate::error::StoreError;
use crate::older;
use crate::rows::{self, AgentOptionsRow, ClientRow};
use crate::schema;
use crate::turns::{self, Kept};

/// What a batch that was appended survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The end of the process, by whatever means.
    Process,
    /// The end of power: every batch is on the disk before it is seen.
    Power,
}

/// Everything that a host remembers.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    /// Actions since the last snapshot of each channel.
    pub(crate) since_snapshot: BTreeMap<Uri, u32>,
    /// What the rows of chats have, as far as it is known.
    pub(crate) kept: BTreeMap<Uri, Kept>,
    /// How large the log is, as its row says: asked after every batch.
    pub(crate) log_bytes: u64,
    pub(crate) checkpoints: Checkpoints,
    directory: Directory,
}

impl Store {
    /// Opens what is remembered in a directory; the first time, nothing is.
    pub fn open(path: &Path, durability: Durability) -> Result<Self, StoreError> {
        let directory = Directory::take(path)?;
        let database = directory.database();
        directory.make_database()?;
        let connection = connect(&database, durability);
        let connection = connection.map_err(|error| say_damage(&database, error))?;
        let mut store = Store {
            connection,
            log_bytes: 0,
            since_snapshot: BTreeMap::new(),
            kept: BTreeMap::new(),
            checkpoints: Checkpoints::start(&database)?,
            directory,
        };
        store.log_bytes = store.number("log_bytes")?.0;
        Ok(store)
    }

    /// Keeps the state of a channel as of an action, so that restoring it
    /// starts from there.
    pub fn snapshot(
        &mut self,
        channel: &Uri,
        loaded: &Loaded,
        seq: ServerSeq,
    ) -> Result<(), StoreError> {
        let nothing = Kept::default();
        let kept = self.kept.get(channel).unwrap_or(&nothing);
        let transaction = self.connection.transaction()?;
        transaction
            .prepare_cached("UPDATE channels SET seq = ?2, state = ?3 WHERE channel = ?1")?
            .execute(params![
                channel.as_str(),
                number(seq),
                turns::row_of(&loaded.state)?
            ])?;
        turns::write(&transaction, channel, loaded, kept)?;
        transaction.commit()?;
        self.kept.insert(channel.clone(), Kept::of(loaded));
        self.since_snapshot.remove(channel);
        Ok(())
    }

    /// Nothing happens at the moment: the time to tidy up.
    pub fn idle(&mut self) {
        self.checkpoints.idle();
    }

    /// Lets go of what is only in memory to save work, except for the
    /// channels that the host has in memory, too.
    pub fn let_go(&mut self, held: impl Fn(&Uri) -> bool) {
        self.kept.retain(|channel, _| held(channel));
    }

    /// A channel: its snapshot and what came after.
    pub fn load(&mut self, channel: &Uri, extent: Extent) -> Result<Option<Loaded>, StoreError> {
        let loaded = self.read(channel, extent);
        loaded.map_err(|error| say_damage(&self.directory.database(), error))
    }

    /// A channel as it was right after an action; `None` if what was before
    /// its snapshot would have to be known. Of a chat, the latest turns.
    pub fn load_at(&mut self, channel: &Uri, seq: ServerSeq) -> Result<Option<Loaded>, StoreError> {
        let Some((snapshot, state)) = self.row(channel)? else {
            return Ok(None);
        };
        if snapshot > number(seq) {
            return Ok(None);
        }
        let mut later = self.later(channel, snapshot)?;
        later.retain(|envelope| envelope.server_seq <= seq);
        let (loaded, _) = self.put_together(channel, state, later, Extent::Tail)?;
        Ok(Some(loaded))
    }

    /// The snapshot of a channel, and the number of the last action in it.
    fn row(&self, channel: &Uri) -> Result<Option<(i64, ChannelState)>, StoreError> {
        let row = self
            .connection
            .prepare_cached("SELECT seq, state FROM channels WHERE channel = ?1")?
            .query_row([channel.as_str()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })
            .optional()?;
        let Some((seq, text)) = row else {
            return Ok(None);
        };
        let state = rows::read(|| format!("the state of {channel}"), &text)?;
        Ok(Some((seq, state)))
    }

    fn read(&mut self, channel: &Uri, extent: Extent) -> Result<Option<Loaded>, StoreError> {
        let Some((seq, state)) = self.row(channel)? else {
            return Ok(None);
        };
        let later = self.later(channel, seq)?;
        let (loaded, kept) = self.put_together(channel, state, later, extent)?;
        self.kept.insert(channel.clone(), kept);
        Ok(Some(loaded))
    }

    /// A snapshot and what came after; and what of it the tables have.
    fn put_together(
        &self,
        channel: &Uri,
        state: ChannelState,
        later: Vec<ActionEnvelope>,
        extent: Extent,
    ) -> Result<(Loaded, Kept), StoreError> {
        let cut = |envelope: &ActionEnvelope| {
            matches!(&*envelope.action, Action::Chat(ChatAction::Truncated(_)))
        };
        // What is cut off may be cut off anywhere.
        let extent = if later.iter().any(cut) {
            Extent::Whole
        } else {
            extent
        };
        let mut loaded = turns::read(&self.connection, channel, state, extent)?;
        let kept = Kept::of(&loaded);
        for envelope in later {
            match loaded.state.reduce(&envelope.action) {
                Outcome::Applied | Outcome::NoOp => {}
                outcome @ (Outcome::WrongChannel | Outcome::Invalid(_)) => {
                    return Err(StoreError::Unreadable {
                        what: format!("action {}", envelope.server_seq.0),
                        problem: format!("{outcome:?}"),
                    });
                }
            }
        }
        Ok((loaded, kept))
    }

    /// What happened on a channel after an action.
    fn later(&self, channel: &Uri, seq: i64) -> Result<Vec<ActionEnvelope>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT seq, envelope FROM log WHERE channel = ?1 AND seq > ?2 ORDER BY seq",
        )?;
        let mut found = query.query(params![channel.as_str(), seq])?;
        let mut later = Vec::new();
        while let Some(row) = found.next()? {
            let seq: i64 = row.get(0)?;
            let text = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
            later.push(rows::read(|| format!("action {seq}"), text)?);
        }
        Ok(later)
    }

    /// What a host that starts now has to know.
    pub fn remembered(&mut self) -> Result<Remembered, StoreError> {
        let remembered = self.read_all();
        remembered.map_err(|error| say_damage(&self.directory.database(), error))
    }

    fn read_all(&mut self) -> Result<Remembered, StoreError> {
        let root = self.load(&RootChannel.into(), Extent::Whole)?;
        let root = match root.map(|root| root.state) {
            Some(ChannelState::Root(root)) => Some((*root).clone()),
            _ => None,
        };
        let mut unreadable = Vec::new();
        let sessions = "SELECT session, summary FROM sessions";
        let sessions = self.rows(sessions, &mut unreadable, |session, text| {
            rows::read(|| format!("the summary of {session}"), text)
        })?;
        let clients = "SELECT client, record FROM clients";
        let clients = self.rows(clients, &mut unreadable, |client, text| {
            let row: ClientRow = rows::read(|| format!("client {client}"), text)?;
            Ok((ClientId::from(client), row.into()))
        })?;
        let options = "SELECT provider, options FROM agent_options";
        let agent_options = self.rows(options, &mut unreadable, |provider, text| {
            let row: AgentOptionsRow =
                rows::read(|| format!("the options of agent {provider}"), text)?;
            Ok((ProviderId::from(provider), row.into()))
        })?;
        let mut channels = self
            .connection
            .prepare("SELECT channel, session, born FROM channels WHERE channel <> ?1")?;
        let channels = channels.query_map([RootChannel::URI], |row| {
            Ok(StoredChannel {
                channel: Uri::from(row.get::<_, String>(0)?),
                session: row.get::<_, Option<String>>(1)?.map(Uri::from),
                born: sequence(row.get(2)?),
            })
        })?;
        Ok(Remembered {
            root,
            seq: self.number("seq")?,
            log_start: self.number("log_start")?,
            epochs: self.epochs()?,
            sessions,
            channels: channels.collect::<Result<_, _>>()?,
            clients,
            agent_options,
            unreadable,
        })
    }

    /// What a client missed: envelopes as they went over the wire, in order.
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
            let bounds = params![channel.as_str(), number(after), number(until)];
            let mut rows = query.query(bounds)?;
            while let Some(row) = rows.next()? {
                found.insert(row.get::<_, i64>(0)?, row.get::<_, String>(1)?);
            }
        }
        Ok(found.into_values().collect())
    }

    /// How many bytes a replay would be.
    pub fn replay_bytes(&self, after: ServerSeq, channels: &[Uri]) -> Result<u64, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT coalesce(sum(length(CAST(envelope AS BLOB))), 0) FROM log
             WHERE channel = ?1 AND seq > ?2",
        )?;
        let mut bytes = 0;
        for channel in channels {
            let row = query.query_row(params![channel.as_str(), number(after)], |row| row.get(0));
            bytes += i64::unsigned_abs(row?);
        }
        Ok(bytes)
    }

    fn rows<T>(
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
            // One that can't be read is no reason to do without the others.
            match read(&name, &text) {
                Ok(row) => found.push(row),
                Err(error) => unreadable.push(error.to_string()),
            }
        }
        Ok(found)
    }

    pub(crate) fn number(&self, name: &str) -> Result<ServerSeq, StoreError> {
        let value = self
            .connection
            .prepare_cached("SELECT value FROM numbers WHERE name = ?1")?
            .query_row([name], |row| row.get(0))?;
        Ok(sequence(value))
    }
}

fn connect(database: &Path, durability: Durability) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(database)?;
    // Nobody else has the database, but a backup tool may look at it.
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let synchronous = match durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Not here: see `checkpoint`.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // A log that was long once does not stay so.
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    schema::migrate(&mut connection)?;
    older::lift(&mut connection)?;
    // Damage shows where something is read.
    connection.query_row("SELECT count(*) FROM numbers", [], |_| Ok(()))?;
    Ok(connection)
}

/// Sets a damaged database aside, and says so.
fn say_damage(database: &Path, error: StoreError) -> StoreError {
    match error {
        StoreError::Database(problem) if is_damage(&problem) => {
            match directory::set_aside(database) {
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

fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(
        code,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

/// Sequence numbers stay below 2^53, far below what a row holds.
pub(crate) fn number(seq: ServerSeq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}

pub(crate) fn sequence(value: i64) -> ServerSeq {
    ServerSeq(u64::try_from(value).unwrap_or(0))
}
