//! The agent host as a pure state machine: inputs in, effects out.
//!
//! **What it does.** [`Host::step`] handles one input and returns the store writes and effects
//! that follow from it. The crate holds the state of every channel, checks permissions, and
//! gives each action its sequence number.
//!
//! **What it never does.** It uses no clock, randomness, file, socket or runtime: time and
//! unique numbers come in through [`Env`]. It never blocks. It knows agents only as data.
//!
//! **Where to start.** Read `host`: [`Input`], [`Effects`], then [`Host::step`]. `host::commit`
//! is the only module that changes a channel's state, `policy` the only one that refuses a
//! client's action, and `host::react` derives the further actions and effects of a committed
//! action. Each of the other folders covers one subject.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod agent;
mod changeset;
mod chat;
mod connection;
pub mod customization;
mod host;
mod policy;
pub mod resource;
mod session;
mod terminal;
pub mod tools;

pub use agent::content::clean_action;
pub use agent::environment::{
    ENVIRONMENT_META_KEY, InvalidEnvironment, MAX_ENVIRONMENT_BYTES, MAX_ENVIRONMENT_VARIABLES,
    SessionEnvironment,
};
pub use agent::options::AgentOptions;
pub use changeset::driver::{
    ChangeJob, ChangeTask, ChangesetDiff, CheckpointId, CheckpointReport, DiffEndpoint, DiffRange,
    EditSurvey, GitStatus, OperationKind, OperationRequest, OperationResult, SurveyScope,
    SurveyedEdits, TurnRef, WorkspaceStatus, Worktree, WorktreeDisposal, WorktreeRequest,
};
pub use chat::completions::{FileKind, FileMatch, FileSearch, MAX_COMPLETION_ITEMS};
pub use connection::auth::{AccessToken, TokenKey};
pub use connection::channel_recovery::RecoveryOutcome;
pub use connection::epochs::{ClosedEpoch, WriterEpochs};
pub use connection::host_requests::{ClientReadError, RawResponse};
pub use connection::quirks::ClientQuirks;
pub use connection::registry::{
    ClientRecord, GracePeriodId, PeerIdentity, Principal, RememberedClient,
};
pub use customization::apply_enablement_settings;
pub use host::config::{AgentCatalog, HostConfig};
pub use host::effect::audit::{AuditActor, AuditEntry, AuditKind};
pub use host::effect::{AppVisibility, Effect, Effects, Recipient, ResponseBody, StoreWrite};
pub use host::error::{Refusal, RequestFailure};
pub use host::input::{
    ChannelNeed, ClientMessage, ConnectionId, Input, LoadExtent, LoadedChannel, RefusedPeer,
    RejectedDispatch,
};
pub use host::recovery::memory::{HostMemory, MemoryError, MemoryPart};
pub use host::step::Env;
pub use host::{Host, StoredChannel, StoredHost};
pub use policy::scope::{AccessScope, ScopeViolation};
pub use resource::content::{
    ContentAddress, InvalidContentAddress, SessionKey, StoredText, short_hash,
};
pub use resource::watches::WatchRequest;
pub use resource::{FileAccess, FileJob, FileRequest, GrantedRoot};
pub use session::list::retention::{RetentionCheck, SessionRetention};
pub use session::list::{MAX_REMOVED_SESSIONS, RemovedSession};
pub use terminal::background::MAX_BACKGROUND_COMMANDS;
pub use terminal::command_report::{
    BACKGROUND_NOTE, COMMAND_COLS, COMMAND_PREVIEW_BYTES, COMMAND_ROWS, CommandReport, CommandSize,
    RAW_INPUT_META_KEY, TERMINAL_SIZE_META_KEY, code_block, terminal_call_meta,
};
pub use terminal::output::{CommandLine, TerminalEnd, TerminalEvent};
pub use terminal::{PtyCommand, TerminalProgram};
pub use tools::mcp::app_channel::{
    McpClientMessage, is_server_channel, strip_apps_from_action, strip_apps_from_state,
};
