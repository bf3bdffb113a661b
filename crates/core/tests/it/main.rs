//! The host, driven by text: one binary, a module per subject.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod access_scopes;
mod action_table;
mod agent_catalog;
mod annotations;
mod audit;
mod authentication;
mod change_results;
mod changesets;
mod chat_moves;
mod chats;
mod completions;
mod configuration;
mod continuation;
mod customizations;
mod digest;
mod directories;
mod dispatch;
mod environment;
mod full_disk;
mod handshake;
mod host_requests;
mod input_requests;
mod interrupted_calls;
mod invariants;
mod labels;
mod limits;
mod log;
mod mcp_servers;
mod reconnect_cursors;
mod remembered;
mod render;
mod restart;
mod retention;
mod script;
mod server_problems;
mod sessions;
mod simulation;
mod steering_messages;
mod stored_content;
mod subscriptions;
mod terminal_turns;
mod terminals;
mod test_host;
mod tool_hooks;
mod turn_edits;
mod turn_tools;
mod turns;
mod vscode;
mod vscode_customizations;
mod workers;
