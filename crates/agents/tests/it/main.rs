//! Agents at work.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod bench;
mod large_results;
mod shell;
mod turn_mapper;
