//! Agents that speak ACP at work.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod acp;
mod acp_files;
mod acp_sign_in;
mod acp_terminals;
mod acp_tools;
#[expect(dead_code, reason = "the tests of the shell agent use the rest")]
#[path = "../../../agents/tests/it/bench.rs"]
mod bench;
mod config_options;
mod prepared_turns;
mod session_resume;
mod shared_processes;

use agenthost_testkit::acp_agent;
