//! Effects: the store writes and commands that a step returns.
//!
//! A step returns two lists. All writes are committed to the store first, in one transaction.
//! Then the effects run in order. So a crash can never undo a change that a client has seen or
//! that a job was started for.

pub(crate) mod audit;

use std::collections::BTreeSet;
use std::sync::Arc;

use agenthost_protocol::action::{ActionEnvelope, Rejection};
use agenthost_protocol::changeset::InvokeChangesetOperationResult;
use agenthost_protocol::channel::ChannelState;
use agenthost_protocol::chat::{CompletionsResult, MoveChatResult};
use agenthost_protocol::connection::{InitializeResult, ReconnectSnapshot, SubscribeResult};
use agenthost_protocol::ids::{ClientId, ProviderId, ServerSeq};
use agenthost_protocol::number::Millis;
use agenthost_protocol::resource::{
    CreateResourceWatchResult, ResourceListResult, ResourceReadResult, ResourceResolveResult,
};
use agenthost_protocol::root::ListSessionsResult;
use agenthost_protocol::rpc::{HostNotification, HostRequest, RequestId, RpcError};
use agenthost_protocol::session::{
    ResolveSessionConfigResult, SessionConfigCompletionsResult, SessionSummary,
};
use agenthost_protocol::state_view::StateView;
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::agent::AgentCommand;
use crate::agent::environment::SessionEnvironment;
use crate::agent::options::AgentOptions;
use crate::changeset::driver::ChangeJob;
use crate::chat::completions::FileSearch;
use crate::connection::auth::{AccessToken, TokenKey};
use crate::connection::channel_recovery::RecoveryOutcome;
use crate::connection::registry::{ClientRecord, Principal};
use crate::customization::driver::CustomizationCommand;
use crate::host::effect::audit::AuditEntry;
use crate::host::input::{ConnectionId, Input};
use crate::resource::FileJob;
use crate::resource::content::StoredText;
use crate::resource::watches::WatchRequest;
use crate::session::list::RemovedSession;
use crate::terminal::PtyCommand;
use crate::tools::mcp::driver::McpCommand;

/// The result of one or more steps.
#[derive(Debug, Default)]
pub struct Effects {
    /// Rows for the store, committed before any effect runs.
    pub writes: Vec<StoreWrite>,
    /// Commands to the world outside of the core, in this order.
    pub effects: Vec<Effect>,
}

/// A row to insert, update or delete in the store.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreWrite {
    /// Appends an accepted action to the log.
    Action(Arc<ActionEnvelope>),
    /// Records that a sequence number was used without a logged action.
    SeqUsed(ServerSeq),
    /// Stores a new channel.
    ChannelCreated {
        channel: Uri,
        /// The session that owns the channel; `None` for channels of the host itself.
        session: Option<Uri>,
        /// The first state, as of `seq`.
        state: ChannelState,
        /// The last sequence number before the channel was created.
        seq: ServerSeq,
    },
    /// Deletes a channel for good.
    ChannelRemoved {
        channel: Uri,
        /// The last sequence number before the removal.
        seq: ServerSeq,
    },
    /// Moves a channel to another session.
    ChannelMoved {
        channel: Uri,
        /// The session that owns it now.
        session: Uri,
    },
    /// Stores the summary of a session for the session list.
    Session(Arc<SessionSummary>),
    /// Deletes a session for good.
    SessionRemoved(Uri),
    /// Records a session that was removed from the published list. The store keeps the last
    /// [`MAX_REMOVED_SESSIONS`](crate::MAX_REMOVED_SESSIONS).
    SessionUnlisted(RemovedSession),
    /// Stores the record of a client.
    Client(ClientId, Box<ClientRecord>),
    /// Records that the grace period of a client has ended. The host does not keep the record in
    /// memory any longer.
    ClientReleased(ClientId, Millis),
    /// Limits the released clients.
    ClientsPruned {
        /// Clients that were released until then are deleted.
        left_until: Millis,
        /// At most this many are kept, the latest ones.
        max_clients: usize,
    },
    /// Deletes the record of a client.
    ClientRemoved(ClientId),
    /// Stores the environment variables of a session.
    SessionEnvironment {
        session: Uri,
        environment: SessionEnvironment,
    },
    /// Gives a session the environment variables of another one, if that has any.
    SessionEnvironmentCopied { from: Uri, to: Uri },
    /// Deletes the records of all clients of a principal.
    PrincipalForgotten(Principal),
    /// Appends an entry to the audit log.
    Audit(Box<AuditEntry>),
    /// Stores the options that an agent offers.
    AgentOptions(ProviderId, Box<AgentOptions>),
}

/// A command to the world outside of the core.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Sends the response to a client's request.
    Respond {
        /// The connection that sent the request.
        connection: ConnectionId,
        id: RequestId,
        /// The result or the error.
        result: Result<ResponseBody, RpcError>,
    },
    /// Sends a request to a client. Its response arrives as `ClientMessage::Response`.
    SendRequest {
        /// The connection of the client.
        connection: ConnectionId,
        /// The id that the response will carry.
        id: RequestId,
        request: Box<HostRequest>,
    },
    /// Publishes an action to subscribers of the current release.
    Publish {
        /// The action with its sequence number.
        envelope: Arc<ActionEnvelope>,
        /// The subscribers, each with its latency.
        to: Vec<Recipient>,
    },
    /// Publishes an action to subscribers that need a downgrade.
    PublishLegacy {
        /// The action with its sequence number.
        envelope: Arc<ActionEnvelope>,
        /// The state of the channel before the action; `None` for deltas of a stream, which are
        /// the same in all releases.
        before: Option<ChannelState>,
        /// The states around the channel, right after the action.
        view: Box<StateView>,
        /// The connections of the subscribers.
        to: Vec<ConnectionId>,
    },
    /// Sends an action to a single subscriber, when the other subscribers get another version
    /// of it or none.
    PublishToOne {
        /// The connection of the subscriber.
        connection: ConnectionId,
        /// The action with its sequence number.
        envelope: Box<ActionEnvelope>,
    },
    /// Reports to a client that its action was rejected.
    RejectAction {
        /// The connection that dispatched the action.
        connection: ConnectionId,
        /// The action with the reason.
        rejection: Box<Rejection>,
    },
    /// Sends a notification to some clients.
    Notify {
        notification: Arc<HostNotification>,
        /// The connections of the recipients.
        to: Vec<ConnectionId>,
    },
    /// Closes a connection after its queued messages were sent.
    CloseConnection {
        /// The connection to close.
        connection: ConnectionId,
    },
    /// Sends a command to an agent.
    Agent {
        /// The session of the agent.
        session: Uri,
        /// The agent that runs the session.
        provider: ProviderId,
        /// The command, delivered in order.
        command: Box<AgentCommand>,
    },
    /// Stores an access token in memory for agents, or deletes it. Tokens are never written to
    /// disk.
    StoreToken {
        /// The principal and the resource of the token.
        key: TokenKey,
        /// The token; `None` deletes the stored one.
        token: Option<AccessToken>,
    },
    /// Replaces the principals whose tokens a session may use. The first principal with a token
    /// is used (AUT-13).
    SetTokenPrincipals {
        /// Channel URI of the session.
        session: Uri,
        /// In order of preference; empty after the session was removed.
        principals: Vec<Principal>,
    },
    /// Reports that an action of an agent or of the host was discarded, because the reducer
    /// rejected it.
    ReportDiscarded {
        /// The channel of the action.
        channel: Uri,
        /// The type of the action.
        action: &'static str,
        /// The reason of the reducer.
        reason: String,
    },
    /// Reports that a session was removed by a limit of the configuration.
    ReportRemoved {
        session: Uri,
        /// The key of the limit.
        rule: &'static str,
    },
    /// Sends an input to the host after a delay. There is no cancellation: the handler has to
    /// ignore a timer that is out of date.
    Schedule {
        /// The delay until the input is sent.
        delay: Millis,
        /// The input to send.
        input: Box<Input>,
    },
    /// Stores text in the content store before the later effects run.
    StoreContent(Box<StoredText>),
    /// Shares stored content with the session that chats have moved to, so that both sessions
    /// can read it.
    ShareContent {
        /// The session that the chats were in.
        from: Uri,
        /// The session that the chats are in now.
        to: Uri,
    },
    /// Deletes the stored content of a session, except content that it shares with another
    /// session.
    DeleteContent {
        /// Channel URI of the session.
        session: Uri,
    },
    /// Runs a file job, which ends with `Input::RequestCompleted`.
    AccessFiles(Box<FileJob>),
    /// Sends a command to a terminal. Its events arrive as `Input::Terminal`.
    Terminal {
        /// The session whose content store receives output that is too long for the state.
        content_session: Option<Uri>,
        /// Channel URI of the terminal.
        terminal: Uri,
        /// The command for its pseudoterminal.
        command: Box<PtyCommand>,
    },
    /// Runs a job of the change tracker. The input with its result depends on the job.
    TrackChanges(Box<ChangeJob>),
    /// Replaces the keys of approved code of repositories. Sent when the keys change; the
    /// initial set is empty.
    TrustCode {
        /// The keys of all approved code.
        keys: BTreeSet<String>,
    },
    /// Forwards a notification of an MCP server to clients.
    ForwardMcpNotification {
        /// The method name in MCP.
        method: String,
        /// The parameters of the notification.
        params: Object,
        /// The connections of the recipients.
        to: Vec<ConnectionId>,
    },
    /// Starts a resource watch, which sends `Input::WatchStarted` once and
    /// `Input::FilesChanged` for changes.
    Watch(Box<WatchRequest>),
    /// Stops a resource watch.
    Unwatch {
        /// Channel URI of the watch.
        channel: Uri,
    },
    /// Searches for files, which ends with `Input::FileSearchFinished`.
    SearchFiles(Box<FileSearch>),
    /// Sends a command to the customization driver. Its events arrive as
    /// `Input::Customization`.
    Customization(Box<CustomizationCommand>),
    /// Sends a command to the MCP servers of a session. Their events arrive as `Input::Mcp`.
    Mcp(Box<McpCommand>),
}

/// A subscriber that an action is published to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    /// The connection of the subscriber.
    pub connection: ConnectionId,
    /// Maximum delay of the action, in which it can be merged with others.
    pub max_latency: Millis,
}

/// Visibility of MCP Apps in the states and actions for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppVisibility {
    /// The client supports MCP Apps and gets the complete state.
    Visible,
    /// The channels of MCP Apps are removed (see
    /// [`strip_apps_from_state`](crate::strip_apps_from_state)).
    Hidden,
}

/// The successful result of a request.
#[derive(Debug, Clone)]
pub enum ResponseBody {
    /// The JSON value `null`.
    Null,
    /// An empty JSON object.
    Empty,
    Initialize(Box<InitializeResult>),
    /// The result of `reconnect`: the logged actions of some channels in a range. The log is
    /// read when the response is encoded.
    Replay {
        /// The last sequence number that the client has seen.
        after: ServerSeq,
        /// The last sequence number of the replay.
        until: ServerSeq,
        /// The channels to replay.
        channels: Vec<Uri>,
        /// Requested channels that no longer exist.
        missing: Vec<Uri>,
        /// The visibility of MCP Apps for this client.
        apps: AppVisibility,
    },
    /// The result of `reconnect` when the log no longer has the actions that the client missed.
    Snapshots(ReconnectSnapshot),
    /// The result of `reconnect` with a cursor for each channel. The log is read when the
    /// response is encoded.
    Recoveries {
        /// The outcome for each channel, in the order of the request.
        channels: Vec<RecoveryOutcome>,
        /// The last sequence number of each replay.
        until: ServerSeq,
        /// The visibility of MCP Apps for this client.
        apps: AppVisibility,
    },
    Subscribe(Box<SubscribeResult>),
    /// The result of `listSessions`.
    ListSessions(ListSessionsResult),
    ResolveSessionConfig(Box<ResolveSessionConfigResult>),
    SessionConfigCompletions(SessionConfigCompletionsResult),
    CreateResourceWatch(CreateResourceWatchResult),
    ResourceRead(Box<ResourceReadResult>),
    ResourceList(ResourceListResult),
    ResourceResolve(Box<ResourceResolveResult>),
    Completions(CompletionsResult),
    ChangesetOperation(Box<InvokeChangesetOperationResult>),
    /// The result of `moveChat`.
    MoveChat(MoveChatResult),
    /// The result that an MCP server returned.
    McpResult(Box<Json>),
}

impl Effects {
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Schedules an input after a delay.
    pub(crate) fn schedule(&mut self, delay: Millis, input: Input) {
        let input = Box::new(input);
        self.push(Effect::Schedule { delay, input });
    }

    pub(crate) fn write(&mut self, write: StoreWrite) {
        self.writes.push(write);
    }

    pub(crate) fn respond(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        answer: ResponseBody,
    ) {
        self.push(Effect::Respond {
            connection,
            id: id.clone(),
            result: Ok(answer),
        });
    }

    pub(crate) fn respond_error(
        &mut self,
        connection: ConnectionId,
        id: &RequestId,
        error: RpcError,
    ) {
        self.push(Effect::Respond {
            connection,
            id: id.clone(),
            result: Err(error),
        });
    }
}
