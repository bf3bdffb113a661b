//! Tests our messages against the official clients and reducers of every release.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
#![expect(clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

mod findings;
mod live;
mod losses;
mod releases;
mod round_trips;
mod rows;
mod sequences;
mod squares;
mod stage;
mod understood;
