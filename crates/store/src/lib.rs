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
mod audit;
mod channels;
mod check;
mod clients;
mod copy;
mod data_directory;
mod epochs;
mod error;
mod inspection;
mod migration;
mod reclaim;
mod retention;
mod rows;
mod runner;
mod schema;
mod space;
mod store;
mod turns;
mod usage;
mod wal_checkpoint;

pub use append::AppendResult;
pub use audit::verification::{AuditProblem, AuditReport, verify_audit};
pub use audit::{AuditFilter, AuditRecord, read_audit};
pub use check::{DatabaseReport, RowKind, RowProblem, check_database};
pub use copy::copy_database;
pub use data_directory::{
    DATABASE_FILE, DirectoryLock, LOG_DIR, is_in_use, lock_directory, wait_until_free,
};
pub use error::StoreError;
pub use inspection::{StoreSummary, inspect};
pub use reclaim::MaintenanceState;
pub use retention::Retention;
pub use runner::{RunnerProgress, StoredRunner};
pub use store::{Durability, Store};
pub use usage::{SessionUsage, StoreUsage, measure_database};
