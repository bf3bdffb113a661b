//! The steps between versions, one file for each.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod older;
mod seeds;
mod v0_1;
mod v0_2;
mod v0_3;
mod v0_9;
mod worlds;
