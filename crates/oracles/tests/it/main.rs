//! Tests our messages against the official clients and reducers of every release.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
#![expect(clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::print_stdout, reason = "what is skipped is said")]

mod accepted_differences;
mod findings;
mod generated_host;
mod live;
mod official_parsers;
mod reduced_states;
mod releases;
mod round_trips;
mod sequences;
mod stored_rows;
