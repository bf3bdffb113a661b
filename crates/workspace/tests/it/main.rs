//! Tests for what agents and clients work on, on a real disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod bench;
mod changes;
mod contents;
mod escape;
mod files;
mod find;
mod for_agents;
mod protected;
mod shells;
mod terminal;
mod watch;
