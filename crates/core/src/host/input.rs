//! Inputs: the events that the host handles.

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::action::RawAction;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::ReconnectParams;
use agenthost_protocol::ids::{ClientId, ClientSeq, OperationId, ProviderId, ServerSeq, TurnId};
use agenthost_protocol::resource::ResourceChange;
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, RequestId, RpcError};
use agenthost_protocol::session::SessionInputRequest;
use agenthost_protocol::uri::Uri;
use serde::{Deserialize, Serialize};

use crate::agent::AgentEvent;
use crate::changeset::driver::{
    ChangesetDiff, CheckpointId, CheckpointReport, OperationRequest, OperationResult,
    SurveyedEdits, TurnRef, Worktree,
};
use crate::chat::completions::{FileMatch, FileSearch};
use crate::connection::auth::TokenKey;
use crate::connection::host_requests::RawResponse;
use crate::connection::registry::{GracePeriodId, PeerIdentity, Principal, RememberedClient};
use crate::customization::driver::CustomizationEvent;
use crate::host::config::AgentCatalog;
use crate::host::effect::ResponseBody;
use crate::host::error::RequestFailure;
use crate::resource::watches::WatchRequest;
use crate::session::list::retention::RetentionCheck;
use crate::terminal::output::TerminalEvent;
use crate::tools::mcp::app_channel::McpClientMessage;
use crate::tools::mcp::driver::{GatewayCallId, McpEvent};

/// Identifies one connection of a client. Never reused within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConnectionId(pub u32);

/// An event for the host.
#[derive(Debug, Clone)]
pub enum Input {
    /// The host has started. Always the first input.
    Started,
    /// The channels of [`Host::channels_to_recover`](crate::Host::channels_to_recover) were
    /// loaded.
    Recovered,
    /// The runner, which owns agents and terminals, has ended, and a new one has started.
    RunnerLost {
        /// The reason, for users.
        reason: String,
    },
    /// A peer has connected and was authenticated.
    Connected {
        /// An id that no earlier connection had.
        connection: ConnectionId,
        /// The identity of the peer, as the transport authenticated it.
        peer: PeerIdentity,
    },
    /// A message of a peer has arrived.
    Received {
        /// The connection that it arrived on.
        connection: ConnectionId,
        /// The decoded message, or the decoding error.
        message: ClientMessage,
    },
    /// A message was handled, but its effects could not be stored. The host is in the state
    /// before the message.
    NotStored {
        connection: ConnectionId,
        message: ClientMessage,
        /// The reason, for the user.
        problem: String,
    },
    /// The host can't store changes any more, for this reason, or can store them again.
    StorageChanged { problem: Option<String> },
    /// A connection was closed.
    Disconnected {
        /// The connection that was closed.
        connection: ConnectionId,
    },
    /// The store was searched for a client that is not present, see
    /// [`Host::missing_client`](crate::Host::missing_client).
    ClientLoaded {
        client: ClientId,
        /// The client, if the store remembers it.
        remembered: Option<Box<RememberedClient>>,
    },
    /// A peer was refused before it had a connection.
    PeerRefused(RefusedPeer),
    /// A device was paired.
    DevicePaired(PeerIdentity),
    /// A paired device was revoked.
    PrincipalRevoked(Principal),
    /// An event of an agent.
    Agent {
        /// The session of the agent.
        session: Uri,
        /// The event that it reported.
        event: AgentEvent,
    },
    /// A grace period has ended. Sent for every period that was started. The host ignores it if
    /// the client has reconnected in time, also if it has disconnected again since.
    GraceExpired {
        /// The client that had disconnected.
        client: ClientId,
        /// Identifies the disconnect that started the period.
        grace_period: GracePeriodId,
    },
    /// An access token has expired. Sent for every token with an expiry. The host ignores it if
    /// a newer token has replaced this one.
    TokenExpired {
        /// The principal and the resource of the token.
        key: TokenKey,
        /// The nonce of the step that stored the token.
        nonce: u128,
    },
    /// The store has removed old actions from the log.
    LogCompacted {
        /// The log is complete after this number.
        log_start: ServerSeq,
    },
    /// A channel was loaded from the store, because the next input needs it. See
    /// `Host::missing_channels`.
    ChannelLoaded {
        channel: Uri,
        /// The state, possibly without its oldest turns.
        loaded: LoadedChannel,
    },
    /// A file job has ended.
    RequestCompleted {
        /// The connection that sent the request.
        connection: ConnectionId,
        /// The id of the request to answer.
        id: RequestId,
        /// The response body or the failure.
        result: Box<Result<ResponseBody, RequestFailure>>,
    },
    /// An event of a terminal that the host runs.
    Terminal {
        /// Channel URI of the terminal.
        terminal: Uri,
        /// The event that it reported.
        event: TerminalEvent,
    },
    /// A checkpoint was taken or has failed.
    CheckpointTaken {
        /// The session whose files it covers.
        session: Uri,
        /// The checkpoint that was requested.
        checkpoint: CheckpointId,
        /// The report, or the reason of the failure.
        outcome: Box<Result<CheckpointReport, RequestFailure>>,
    },
    /// The diff of a changeset was computed or has failed.
    DiffComputed {
        /// Channel URI of the changeset.
        channel: Uri,
        /// The diff, or the reason of the failure.
        outcome: Box<Result<ChangesetDiff, RequestFailure>>,
    },
    /// An edit survey of an active turn has ended.
    EditsSurveyed {
        /// The turn that the edits are reported in.
        turn: TurnRef,
        /// The edits; empty if the files could not be compared.
        edits: Box<SurveyedEdits>,
    },
    /// A changeset operation has ended.
    OperationFinished {
        /// The operation that was requested.
        request: Box<OperationRequest>,
        /// The id under which the changeset offered the operation.
        operation_id: OperationId,
        /// The result, or the reason of the failure.
        outcome: Result<OperationResult, RequestFailure>,
    },
    /// The worktree of a new session was created, or could not be.
    WorktreeCreated {
        /// The session that waits for it.
        session: Uri,
        /// The worktree, or the reason of the failure.
        outcome: Result<Worktree, RequestFailure>,
    },
    /// The refresh interval of a changeset has passed.
    ChangesetRefreshDue {
        /// Channel URI of the changeset.
        channel: Uri,
        /// Counts the refreshes of the changeset; a timer of an earlier round is ignored.
        round: u64,
    },
    /// The delay since the last output preview of a terminal has passed.
    PreviewDue {
        /// Channel URI of the terminal.
        terminal: Uri,
    },
    /// The timeout of an access request has passed without a grant by the user.
    AccessRequestTimedOut {
        /// The connection that sent the request.
        connection: ConnectionId,
        /// The id of the request to answer.
        id: RequestId,
    },
    /// An event of the customization driver.
    Customization {
        /// The session that it concerns.
        session: Uri,
        /// The event that the driver reported.
        event: CustomizationEvent,
    },
    /// An event of the MCP servers of a session.
    Mcp {
        /// The session that it concerns.
        session: Uri,
        /// The event that was reported.
        event: McpEvent,
    },
    /// The timeout has passed in which an agent should announce a tool call that it sent to the
    /// gateway.
    CallAnnouncementTimedOut {
        /// The call at the gateway.
        call: GatewayCallId,
    },
    /// The debounce delay of the agent list has passed.
    AgentListDebounced,
    /// Agents were installed, removed or configured.
    AgentsReplaced {
        /// All agents.
        catalog: Box<AgentCatalog>,
        /// Agents of the catalog that are new or configured differently.
        changed: BTreeSet<ProviderId>,
    },
    /// A resource watch has started or has failed.
    WatchStarted {
        /// The watch that was requested.
        request: Box<WatchRequest>,
        /// The reason of the failure, if it failed.
        outcome: Result<(), RequestFailure>,
    },
    /// A resource watch has reported changes.
    FilesChanged {
        /// Channel URI of the watch.
        channel: Uri,
        /// The changed files and folders.
        changes: Vec<ResourceChange>,
    },
    /// The idle timeout of a resource watch has passed. The host stops the watch if it has no
    /// subscriber.
    WatchIdleTimedOut {
        /// Channel URI of the watch.
        channel: Uri,
    },
    /// A file search has ended.
    FileSearchFinished {
        /// The search that was requested.
        search: Box<FileSearch>,
        /// The matches, the best first.
        files: Vec<FileMatch>,
    },
    /// The timeout of a client tool call has passed. The call fails if its client has not
    /// reported anything since the timer was started.
    ClientToolTimedOut {
        /// The session of the call.
        session: Uri,
        /// The input request of the call when the timer was started. It differs from the
        /// current one if the client has reported progress.
        call: Arc<SessionInputRequest>,
    },
    /// The timeout of a host request has passed.
    HostRequestTimedOut {
        /// The connection that the request was sent to.
        connection: ConnectionId,
        id: RequestId,
    },
    /// The limits on sessions are due to be checked.
    RetentionDue(Box<RetentionCheck>),
    /// The eviction interval has passed. The host evicts idle channels from memory; the store
    /// has them.
    EvictionDue,
}

/// A peer that was refused before it had a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPeer {
    /// The network address of the peer, if it has one.
    pub address: Option<String>,
    pub reason: String,
    /// The number of refusals since the last one that was reported.
    pub suppressed: u64,
}

/// A client's action that the server refused before it reached the host.
#[derive(Debug, Clone)]
pub struct RejectedDispatch {
    /// The channel that it was dispatched to.
    pub channel: Uri,
    /// The client's own sequence number.
    pub client_seq: ClientSeq,
    /// The action as it was received.
    pub action: RawAction,
    /// The reason, sent to the client.
    pub reason: String,
}

/// A channel as it was loaded from the store.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedChannel {
    /// The state. For a long chat it may contain only the latest turns.
    pub state: ChannelState,
    /// The turns before those in `state`, the oldest first.
    pub evicted_turns: Vec<TurnId>,
}

impl LoadedChannel {
    /// Creates a loaded channel without evicted turns.
    pub fn whole(state: impl Into<ChannelState>) -> Self {
        LoadedChannel {
            state: state.into(),
            evicted_turns: Vec::new(),
        }
    }
}

/// The part of a channel that a step needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadExtent {
    /// The latest turns of a chat are sufficient.
    Tail,
    /// The complete state with all turns.
    Whole,
}

/// A channel that has to be loaded before a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelNeed {
    pub channel: Uri,
    /// The part that is needed.
    pub extent: LoadExtent,
}

/// A message of a peer, decoded.
#[derive(Debug, Clone)]
pub enum ClientMessage {
    /// A request, which needs a response.
    Request(RequestId, Box<ClientRequest>),
    /// A notification, which gets no response.
    Notification(Box<ClientNotification>),
    /// A response to a host request. The host ignores it if no such request is open.
    Response(RequestId, Box<Result<RawResponse, RpcError>>),
    /// A message for an MCP server. Without an id it is a notification.
    ToMcpServer(Option<RequestId>, Box<McpClientMessage>),
    /// A `reconnect` whose replay would be too large for one response, so that the client gets
    /// snapshots.
    ReplayTooLarge(RequestId, Box<ReconnectParams>),
    /// An action that can't be expressed in the host's release.
    Rejected(Box<RejectedDispatch>),
    /// A request that could not be decoded. It passes through the host so that its error
    /// response keeps its position among the other responses.
    Invalid(RequestId, RpcError),
}
