//! The server with real sockets, a real log, and the official client.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod acp;
mod changes;
mod choices;
mod customizing;
mod files;
mod flood;
mod gate;
mod limits;
mod loads;
mod official;
mod older;
mod peer;
mod raw;
mod reverse;
mod room;
mod scripted;
mod seeds;
mod slow;
mod terminals;
mod tool_hooks;
mod tool_servers;
mod using_tools;
mod ways;
