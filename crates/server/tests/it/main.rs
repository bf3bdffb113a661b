//! The server with real sockets, a real log, and the official client.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod access_control;
mod acp;
mod agent_flood;
mod auto_approval;
mod changes;
mod checkpoints;
mod cursors;
mod custom_agent_tools;
mod customizations;
mod earlier_data_directory;
mod exhaustion;
mod files;
mod flood;
mod full_disk;
mod host_files;
mod host_requests;
mod legacy_clients;
mod limits;
mod load_errors;
mod official;
mod page;
mod peer;
mod raw_messages;
mod restored_copy;
mod scripted;
mod session_retention;
mod shared_directories;
mod slow_client;
mod specification_clients;
mod terminals;
mod test_server;
mod tls;
mod tool_hooks;
mod tool_servers;
mod transports;
mod unspecified_behavior;
mod vscode;
mod vscode_calls;
mod vscode_cursors;
mod vscode_customizations;
