//! The server with real sockets, a real log, and the official client.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod acp;
mod agent_flood;
mod changes;
mod checkpoints;
mod choices;
mod cursors;
mod customizing;
mod exhaustion;
mod files;
mod flood;
mod gate;
mod habits;
mod kept_data;
mod limits;
mod loads;
mod official;
mod older;
mod own_files;
mod page;
mod peer;
mod raw;
mod restored;
mod reverse;
mod room;
mod scripted;
mod seeds;
mod shared_directories;
mod slow;
mod terminals;
mod tls;
mod tool_hooks;
mod tool_servers;
mod using_tools;
mod vscode;
mod vscode_calls;
mod vscode_cursors;
mod vscode_customizations;
mod ways;
