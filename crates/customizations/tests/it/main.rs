//! Tests of customizations.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod clients;
mod disk;
mod fetching;
mod folders;
mod generated;
mod hooks;
mod host;
mod parsing;
mod render;
mod strange;
mod tool_hooks;
mod trust;
mod turns;
