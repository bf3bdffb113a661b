//! The host, driven by text: one binary, a module per subject.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod annotations;
mod asking;
mod authentication;
mod changes;
mod changesets;
mod chats;
mod complaints;
mod completing;
mod configuration;
mod contents;
mod customizing;
mod digest;
mod directories;
mod dispatch;
mod handshake;
mod invariants;
mod labels;
mod limits;
mod log;
mod moving;
mod recovery;
mod render;
mod restart;
mod reverse;
mod scopes;
mod script;
mod servers;
mod sessions;
mod simulation;
mod subscriptions;
mod table;
mod terminal_turns;
mod terminals;
mod tool_hooks;
mod turn_edits;
mod turns;
mod unfinished_calls;
mod using_tools;
mod vscode;
mod vscode_customizations;
mod workers;
mod world;
