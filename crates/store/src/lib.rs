//! What a host remembers: the log, snapshots, sessions, clients.
//!
//! **What it does.** [`Store::append`] keeps what a step of the host wants
//! kept, all of it or nothing, before anyone sees it. [`Store::load_host`]
//! and [`Store::load`] give it back after a restart, [`Store::replay`] to a
//! client that comes back.
//!
//! **What it never does.** It decides nothing, and it never starts afresh
//! over data that it can't read: that is set aside, and said so.
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
pub use error::StoreError;
pub use retention::Retention;
pub use store::{Durability, Store};
