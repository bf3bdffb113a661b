//! Stores the state of a host in SQLite: the action log, snapshots, sessions and clients.
//!
//! **What it does.** [`Store::append`] commits the writes of a batch in one transaction,
//! before their effects become visible. [`Store::load_host`] and [`Store::load`] read the
//! state after a restart; [`Store::replay`] reads the actions that a reconnecting client
//! missed.
//!
//! **What it must never do.** It makes no decisions about sessions or clients. It never
//! starts with an empty database in place of one that it cannot read: it makes a copy and
//! returns an error.
//!
//! **Where to start.** [`Store`]; `schema` has the tables.

mod append;
mod data_directory;
mod epochs;
mod error;
mod migration;
mod retention;
mod rows;
mod schema;
mod store;
mod turns;
mod wal_checkpoint;

pub use append::AppendResult;
pub use data_directory::{LOG_DIR, is_in_use, wait_until_free};
pub use error::StoreError;
pub use retention::Retention;
pub use store::{Durability, Store};
