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
pub use authentication::{Token, TokenPlace};
pub use changes::{
    ChangeErrand, ChangeOperation, ChangeTask, Comparison, EditSurvey, GitStanding, Mark, Marked,
    Moment, Operated, Operation, Span, Standing, SurveyScope, SurveyedEdits, TurnOf, Worktree,
    WorktreeWish,
};
pub use clients::{ClientRecord, Departure, Principal};
pub use command_report::{
    COMMAND_COLS, COMMAND_ROWS, CommandReport, PREVIEW_BYTES, RAW_INPUT, code_block,
    terminal_call_meta,
};
pub use completions::{FileKind, FileSearch, FoundFile, ITEMS};
pub use config::Config;
pub use contents::{ContentAddress, KeptText, MalformedAddress, SessionKey, short_hash};
pub use customizations::as_kept;
pub use effect::{Answer, Effect, Effects, Recipient, Seen, TurnPlace, Write};
pub use env::Env;
pub use epochs::{ClosedEpoch, WriterEpochs};
pub use files::{Access, FileErrand, FileRequest, Root};
pub use host::{Host, Remembered, StoredChannel};
pub use input::{ConnectionId, Extent, Input, Loaded, Need, Received, RefusedDispatch};
pub use questions::RawAnswer;
pub use quirks::ClientQuirks;
pub use recovery::Recovery;
pub use refusal::{Failure, Refusal};
pub use scenes::Scene;
pub use side_channel::{ServerMessage, hide_apps, is_server_channel, without_apps};
pub use terminal_output::{CommandLine, TerminalEnd, TerminalEvent};
pub use terminals::{TerminalCommand, TerminalProgram};
pub use watches::WatchErrand;
