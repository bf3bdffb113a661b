//! Tests for what agents and clients work on, on a real disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod agent_services;
mod bench;
mod changes;
mod content_store;
mod escape;
mod file_search;
mod files;
mod protected_paths;
mod shells;
mod terminal;
mod watch;
