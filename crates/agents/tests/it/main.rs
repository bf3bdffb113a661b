//! Agents at work.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod bench;
mod mapping;
mod shell;
