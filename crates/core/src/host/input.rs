//! What happens to the host.

use std::sync::Arc;

use agenthost_protocol::action::RawAction;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::connection::ReconnectParams;
use agenthost_protocol::ids::{ClientId, ClientSeq, OperationId, ServerSeq, TurnId};
use agenthost_protocol::resource::ResourceChange;
use agenthost_protocol::rpc::{ClientNotification, ClientRequest, RequestId, RpcError};
use agenthost_protocol::session::SessionInputRequest;
use agenthost_protocol::uri::Uri;

use crate::agent::AgentEvent;
use crate::changeset::driver::{
    ChangesetDiff, CheckpointId, CheckpointReport, OperationRequest, OperationResult,
    SurveyedEdits, TurnRef, Worktree,
};
use crate::chat::completions::{FileMatch, FileSearch};
use crate::connection::auth::TokenKey;
use crate::connection::host_requests::RawResponse;
use crate::connection::registry::{GracePeriodId, Principal};
use crate::customization::driver::CustomizationEvent;
use crate::host::effect::ResponseBody;
use crate::host::error::RequestFailure;
use crate::resource::watches::WatchRequest;
use crate::terminal::output::TerminalEvent;
use crate::tools::mcp::app_channel::McpClientMessage;
use crate::tools::mcp::driver::{GatewayCallId, McpEvent};

/// One connection of one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Input {
    /// The host has started. Always the first.
    Started,
    /// A peer connected and was authenticated.
    Connected {
        /// A number that no other connection has had.
        connection: ConnectionId,
        /// Who it is, as the transport knows it.
        principal: Principal,
    },
    /// A peer said something.
    Received {
        /// Where.
        connection: ConnectionId,
        /// What.
        message: ClientMessage,
    },
    /// A peer is gone.
    Disconnected {
        /// Which.
        connection: ConnectionId,
    },
    /// An agent did something.
    Agent {
        /// The session it works for.
        session: Uri,
        /// What it did.
        event: AgentEvent,
    },
    /// The grace period of a client is over. Sent for every period that was
    /// asked for; a client that came back in time is left alone, also if it has
    /// left again.
    GraceExpired {
        /// The client.
        client: ClientId,
        /// When it left.
        grace_period: GracePeriodId,
    },
    /// The time of a token is over. Sent for every token; a newer one for the
    /// same is left alone.
    TokenExpired {
        /// Whose it was, and what for.
        key: TokenKey,
        /// When it was given.
        nonce: u128,
    },
    /// The log forgot old actions.
    LogCompacted {
        /// Where it starts now.
        log_start: ServerSeq,
    },
    /// The state of a channel was read from the log, because the next input
    /// needs it; see `Host::missing_channels`.
    ChannelLoaded {
        /// The channel.
        channel: Uri,
        /// What was read.
        loaded: LoadedChannel,
    },
    /// Something was done with files, or it is known why not.
    RequestCompleted {
        /// Who asked.
        connection: ConnectionId,
        /// What has to be answered.
        id: RequestId,
        /// What came of it.
        result: Box<Result<ResponseBody, RequestFailure>>,
    },
    /// Something happened in a terminal that the host runs.
    Terminal {
        /// The terminal.
        terminal: Uri,
        /// What.
        event: TerminalEvent,
    },
    /// It is remembered how the files of a session were, or known why not.
    CheckpointTaken {
        /// The session.
        session: Uri,
        /// The moment.
        checkpoint: CheckpointId,
        /// What came of it.
        outcome: Box<Result<CheckpointReport, RequestFailure>>,
    },
    /// It is known how files differ, or why not.
    DiffComputed {
        /// The changeset.
        channel: Uri,
        /// What came of it.
        outcome: Box<Result<ChangesetDiff, RequestFailure>>,
    },
    /// It is known which files a running turn has edited.
    EditsSurveyed {
        /// The turn that the edits are reported in.
        turn: TurnRef,
        /// The edits; none if the files could not be compared.
        edits: Box<SurveyedEdits>,
    },
    /// Something was done about a changeset, or could not be.
    OperationFinished {
        /// What was wanted.
        request: Box<OperationRequest>,
        /// What it is called where it was offered.
        operation_id: OperationId,
        /// What came of it.
        outcome: Result<OperationResult, RequestFailure>,
    },
    /// The worktree of a new session is there, or could not be made.
    WorktreeCreated {
        /// The session.
        session: Uri,
        /// What came of it.
        outcome: Result<Worktree, RequestFailure>,
    },
    /// A while has passed since a changeset was computed.
    ChangesetRefreshDue {
        /// The changeset.
        channel: Uri,
        /// When that was.
        round: u64,
    },
    /// Enough time has passed since the output of a terminal was shown with its
    /// call.
    PreviewDue {
        /// The terminal.
        terminal: Uri,
    },
    /// A person had time to grant what a client asked for.
    AccessRequestTimedOut {
        /// Who asked.
        connection: ConnectionId,
        /// What has to be answered.
        id: RequestId,
    },
    /// Something is known about the customizations of a session.
    Customization {
        /// The session.
        session: Uri,
        /// What.
        event: CustomizationEvent,
    },
    /// Something happened to the servers of tools of a session.
    Mcp {
        /// The session.
        session: Uri,
        /// What.
        event: McpEvent,
    },
    /// An agent had time to tell of a tool call that it has made.
    CallAnnouncementTimedOut {
        /// The call.
        call: GatewayCallId,
    },
    /// What was read that agents are known to have was gathered for a while.
    AgentListDebounced,
    /// A watch has begun, or could not.
    WatchStarted {
        /// The watch.
        request: Box<WatchRequest>,
        /// Why it could not.
        outcome: Result<(), RequestFailure>,
    },
    /// A watch saw something.
    FilesChanged {
        /// The watch.
        channel: Uri,
        /// What it saw.
        changes: Vec<ResourceChange>,
    },
    /// A while has passed since a watch began. If nobody watches, it ends.
    WatchIdleTimedOut {
        /// The watch.
        channel: Uri,
    },
    /// Files were looked for.
    FileSearchFinished {
        /// The search.
        search: Box<FileSearch>,
        /// What was found, best first.
        files: Vec<FileMatch>,
    },
    /// The patience with a client that runs a tool call is over. If it has not
    /// said anything about it since, it will not.
    ClientToolTimedOut {
        /// The session.
        session: Uri,
        /// What the session said of the call when it became patient.
        call: Arc<SessionInputRequest>,
    },
    /// A client had time to answer what it was asked.
    HostRequestTimedOut {
        /// Who was asked.
        connection: ConnectionId,
        /// What.
        id: RequestId,
    },
    /// A while has passed. What nobody looks at is let go from memory; the
    /// log has it.
    EvictionDue,
}

/// An action of a client that was refused before the host could judge it.
#[derive(Debug, Clone)]
pub struct RejectedDispatch {
    /// The channel it was meant for.
    pub channel: Uri,
    /// The client's own number for it.
    pub client_seq: ClientSeq,
    /// The action, as it came.
    pub action: RawAction,
    /// Why.
    pub reason: String,
}

/// A channel as it comes from the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedChannel {
    /// Its state. Of a long chat, only the latest turns may be in it.
    pub state: ChannelState,
    /// The turns before those, the oldest first.
    pub evicted_turns: Vec<TurnId>,
}

impl LoadedChannel {
    /// A channel with all there is to it.
    pub fn whole(state: impl Into<ChannelState>) -> Self {
        LoadedChannel {
            state: state.into(),
            evicted_turns: Vec::new(),
        }
    }
}

/// How much of a channel is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LoadExtent {
    /// Of a chat, the latest turns will do.
    Tail,
    /// All of it.
    Whole,
}

/// A channel that has to be read before a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelNeed {
    /// The channel.
    pub channel: Uri,
    /// How much of it.
    pub extent: LoadExtent,
}

/// A message of a peer, decoded.
#[derive(Debug, Clone)]
pub enum ClientMessage {
    /// It wants an answer.
    Request(RequestId, Box<ClientRequest>),
    /// It wants none.
    Notification(Box<ClientNotification>),
    /// It is an answer to what the host asked, or meant to be one.
    Response(RequestId, Box<Result<RawResponse, RpcError>>),
    /// Something for a server of tools; without an id it wants no answer.
    ToMcpServer(Option<RequestId>, Box<McpClientMessage>),
    /// It wants to take up where it was, but the log has more for it than one
    /// answer should hold.
    ReplayTooLarge(RequestId, Box<ReconnectParams>),
    /// It is an action that there is no word for in the host's version.
    Rejected(Box<RejectedDispatch>),
    /// It could not be decoded. Comes this way so that the answer keeps its
    /// place among the others.
    Invalid(RequestId, RpcError),
}
