//! The agent host as a state machine: inputs in, effects out.
//!
//! **What it does.** [`Host::step`] takes one input and says what has to be
//! done. It decides who may do what, numbers what happens, and keeps every
//! channel's state.
//!
//! **What it never does.** No clock, randomness, file, socket or runtime: time
//! and unique numbers come in through [`Env`]. It waits for nothing and knows
//! nothing of what agents there are but data.
//!
//! **Where to start.** [`Input`], [`Effects`], then `Host::step`; `commit` is
//! the only place where state changes, `policy` the only one that says no to a
//! client's action, `react` what follows from one.

pub mod agent;
mod agent_content;
mod agent_events;
mod agent_notes;
mod agent_options;
mod annotations;
mod attachments;
mod authentication;
mod background_commands;
mod changes;
mod changesets;
mod chats;
mod client_tools;
mod clients;
mod command_report;
mod commit;
mod completions;
mod config;
mod configuration;
mod contents;
mod customizations;
pub mod customizing;
mod directories;
mod dispatch;
mod early_turns;
mod effect;
mod env;
mod epochs;
mod files;
mod flags;
mod forbidden;
mod forks;
mod grants;
mod handshake;
mod history;
mod host;
mod input;
mod isolation;
mod leave;
mod limits;
pub mod links;
mod list_changes;
mod memory;
mod models;
mod moves;
mod needs;
mod output_previews;
mod permissions;
mod policy;
mod provisional;
mod questions;
mod quirks;
mod react;
mod readings;
mod receive;
mod recovery;
mod refusal;
mod response_usage;
mod restore;
mod scenes;
mod servers;
mod sessions;
mod settings;
mod side_channel;
mod sources;
mod standing;
mod step;
mod subscribe;
mod summary;
mod terminal_commands;
mod terminal_output;
mod terminal_turns;
mod terminals;
mod tool_checks;
pub mod tool_servers;
pub mod tool_use;
mod turn_edits;
mod turns;
mod unfinished_calls;
pub mod uris;
mod usage;
mod waiting;
mod watches;
mod whose_tokens;
mod workers;

pub use agent_content::clean_action;
pub use agent_options::AgentOptions;
pub use authentication::{AccessToken, TokenKey};
pub use changes::{
    ChangeJob, ChangeTask, ChangesetDiff, CheckpointId, CheckpointReport, DiffEndpoint, DiffRange,
    EditSurvey, GitStatus, OperationKind, OperationRequest, OperationResult, SurveyScope,
    SurveyedEdits, TurnRef, WorkspaceStatus, Worktree, WorktreeRequest,
};
pub use clients::{ClientRecord, GracePeriodId, Principal};
pub use command_report::{
    BACKGROUND_NOTE, COMMAND_COLS, COMMAND_PREVIEW_BYTES, COMMAND_ROWS, CommandReport,
    RAW_INPUT_META_KEY, code_block, terminal_call_meta,
};
pub use completions::{FileKind, FileMatch, FileSearch, MAX_COMPLETION_ITEMS};
pub use config::HostConfig;
pub use contents::{ContentAddress, InvalidContentAddress, SessionKey, StoredText, short_hash};
pub use customizations::apply_enablement_settings;
pub use effect::{AppVisibility, ChatKey, Effect, Effects, Recipient, ResponseBody, StoreWrite};
pub use env::Env;
pub use epochs::{ClosedEpoch, WriterEpochs};
pub use files::{FileAccess, FileJob, FileRequest, GrantedRoot};
pub use host::{Host, StoredChannel, StoredHost};
pub use input::{
    ChannelNeed, ClientMessage, ConnectionId, Input, LoadExtent, LoadedChannel, RejectedDispatch,
};
pub use list_changes::{MAX_REMOVED_SESSIONS, RemovedSession};
pub use questions::RawResponse;
pub use quirks::ClientQuirks;
pub use recovery::RecoveryOutcome;
pub use refusal::{Refusal, RequestFailure};
pub use scenes::StateView;
pub use side_channel::{
    McpClientMessage, is_server_channel, strip_apps_from_action, strip_apps_from_state,
};
pub use terminal_output::{CommandLine, TerminalEnd, TerminalEvent};
pub use terminals::{PtyCommand, TerminalProgram};
pub use watches::WatchRequest;
