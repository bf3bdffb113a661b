//! Tests for the store: what it keeps, and how it handles damage, crashes and removal.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod damage;
mod driver;
mod epochs;
mod killed;
mod memory;
mod older;
mod removed;
mod turns;
