//! Agents at work.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod acp;
// The testkit is built on this crate, so its agent comes as a file.
#[expect(unreachable_pub, reason = "it is public where it lives")]
#[path = "../../../testkit/src/acp_agent.rs"]
mod acp_agent;
mod acp_choices;
mod acp_files;
mod acp_prepared;
mod acp_sign_in;
mod acp_terminals;
mod acp_tools;
mod bench;
mod large;
mod lasting;
mod mapping;
mod sharing;
mod shell;
