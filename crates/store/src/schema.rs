//! The tables of the database and their migrations.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::StoreError;

/// Migrations, each from one schema version to the next. They are never changed or removed,
/// only added: a database of any version runs all that it has missed.
const MIGRATIONS: &[&str] = &[
    "
    -- Numbers that are not in any row: the last one given out, and where the
    -- log starts.
    CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    INSERT INTO numbers VALUES ('seq', 0), ('log_start', 0);

    -- Accepted actions, by their serverSeq.
    CREATE TABLE log (
        seq INTEGER PRIMARY KEY,
        channel TEXT NOT NULL,
        at INTEGER NOT NULL,
        envelope TEXT NOT NULL
    );
    CREATE INDEX log_by_channel ON log (channel, seq);

    -- Channels, each with a state as of some action. What came later is in
    -- the log.
    CREATE TABLE channels (
        channel TEXT PRIMARY KEY,
        session TEXT,
        born INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        state TEXT NOT NULL
    ) WITHOUT ROWID;

    CREATE TABLE sessions (session TEXT PRIMARY KEY, summary TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE clients (client TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
",
    "
    -- The turns of chats, by their place. A state has those no longer, so a
    -- long chat is kept and read piece by piece.
    CREATE TABLE turns (
        channel TEXT NOT NULL,
        position INTEGER NOT NULL,
        turn TEXT NOT NULL,
        content TEXT NOT NULL,
        PRIMARY KEY (channel, position)
    ) WITHOUT ROWID;
    INSERT INTO turns
        SELECT channel, turns.key, json_extract(turns.value, '$.id'), turns.value
        FROM channels, json_each(channels.state, '$.turns') AS turns
        WHERE json_type(channels.state, '$.turns') = 'array';
    UPDATE channels SET state = json_set(state, '$.turns', json('[]'))
        WHERE json_type(state, '$.turns') = 'array';

    -- How large the log is.
    INSERT INTO numbers
        SELECT 'log_bytes', coalesce(sum(length(CAST(envelope AS BLOB))), 0) FROM log;
",
    "
    -- The names of turns are read without their contents.
    CREATE INDEX turn_names ON turns (channel, position, turn);
",
    "
    -- The release of the protocol whose words the rows are in.
    CREATE TABLE protocol (release TEXT NOT NULL);
    INSERT INTO protocol VALUES ('1.0.0');
",
    "
    -- Writer epochs by their first number. The one that goes on has no last
    -- number; it ends where the numbers do.
    CREATE TABLE epochs (first INTEGER PRIMARY KEY, last INTEGER);
    INSERT INTO epochs VALUES (0, NULL);
",
    "
    -- What agents offered when they last ran.
    CREATE TABLE agent_options (provider TEXT PRIMARY KEY, options TEXT NOT NULL) WITHOUT ROWID;
",
    "
    -- The last sessions that were removed, for clients that have them listed.
    CREATE TABLE removed_sessions (
        seq INTEGER NOT NULL,
        session TEXT NOT NULL,
        provider TEXT NOT NULL,
        PRIMARY KEY (seq, session)
    ) WITHOUT ROWID;
",
    "
    -- The environment variables of the terminals that sessions were created from, as objects.
    CREATE TABLE session_environments (
        session TEXT PRIMARY KEY,
        variables TEXT NOT NULL
    ) WITHOUT ROWID;

    -- When the grace period of a client ended, in milliseconds since 1970. A
    -- client without it was connected, or in its grace period.
    ALTER TABLE clients ADD COLUMN left_at INTEGER;
    CREATE INDEX clients_by_departure ON clients (left_at);
",
    "
    -- The runner that the work of the host belongs to, and the last of its
    -- inputs whose actions are in the log. At most one row.
    CREATE TABLE runner (id TEXT NOT NULL, handled INTEGER NOT NULL);

    -- Commands for the runner that it may not have received, by number.
    CREATE TABLE runner_commands (number INTEGER PRIMARY KEY, command TEXT NOT NULL);

    -- What the host knows of running work besides the states of channels.
    CREATE TABLE host_memory (part TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
",
    "
    -- Removed channels whose actions are still in the log, with their last number.
    CREATE TABLE removed_channels (channel TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;

    -- The audit log. Each entry has the hash of the one before it.
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        session TEXT,
        actor TEXT NOT NULL,
        details TEXT NOT NULL,
        previous TEXT NOT NULL,
        hash TEXT NOT NULL
    );
    CREATE INDEX audit_by_session ON audit (session);

    -- The last entry that was removed because of its age, and the last entry.
    CREATE TABLE audit_ends (name TEXT PRIMARY KEY, number INTEGER NOT NULL, hash TEXT NOT NULL)
        WITHOUT ROWID;
    INSERT INTO audit_ends VALUES ('removed', 0, ''), ('last', 0, '');
",
];

/// Checks that a database has the current schema.
pub(crate) fn check_version(connection: &Connection) -> Result<(), StoreError> {
    match is_outdated(connection)? {
        true => Err(StoreError::TooOld),
        false => Ok(()),
    }
}

/// Returns `true` if migrations are missing.
pub(crate) fn is_outdated(connection: &Connection) -> Result<bool, StoreError> {
    let known = MIGRATIONS.len() as i64;
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        found if found > known => Err(StoreError::TooNew { found, known }),
        found => Ok(found < known),
    }
}

/// Runs the missing migrations, each in one transaction.
pub(crate) fn migrate_schema(connection: &mut Connection) -> Result<(), StoreError> {
    is_outdated(connection)?;
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let missed = usize::try_from(found).unwrap_or(0);
    for (version, step) in MIGRATIONS.iter().enumerate().skip(missed) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", version as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
