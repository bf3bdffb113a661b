//! A client, as its users see it.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod engine;
mod optimistic_state;
mod reconnect;
