-- The tables as the first version made them.
CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO numbers VALUES ('seq', 0), ('log_start', 0);
CREATE TABLE log (
    seq INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    at INTEGER NOT NULL,
    envelope TEXT NOT NULL
);
CREATE INDEX log_by_channel ON log (channel, seq);
CREATE TABLE channels (
    channel TEXT PRIMARY KEY,
    session TEXT,
    born INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE sessions (session TEXT PRIMARY KEY, summary TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE clients (client TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
PRAGMA user_version = 1;
