//! The integration tests of the protocol: one binary, a module per subject.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod accessors;
mod action_merging;
mod decoding;
mod effects;
mod fuzz;
mod messages;
mod official;
mod reducers;
mod structural_sharing;
mod tables;
