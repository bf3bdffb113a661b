//! Tests for the store: what it keeps, and how it handles damage, crashes and removal.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod audit;
mod checked;
mod clients;
mod damage;
mod driver;
mod environments;
mod epochs;
mod full;
mod killed;
mod legacy_rows;
mod reclaimed_space;
mod reload;
mod removed_sessions;
mod turns;
