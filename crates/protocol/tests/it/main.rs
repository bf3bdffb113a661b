//! The integration tests of the protocol: one binary, a module per subject.

mod decoding;
mod fuzz;
mod messages;
mod official;
mod reducers;
mod sharing;
mod tables;
