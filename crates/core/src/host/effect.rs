//! What the host wants done.
//!
//! A step leaves two lists behind. The writes go to the log first, all of them
//! in one transaction; then the effects are carried out, in order. So nothing
//! is seen, and nothing is started, that a crash could make undone.

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
use crate::agent::options::AgentOptions;
use crate::changeset::driver::ChangeJob;
use crate::chat::completions::FileSearch;
use crate::connection::auth::{AccessToken, TokenKey};
use crate::connection::channel_recovery::RecoveryOutcome;
use crate::connection::registry::{ClientRecord, Principal};
use crate::customization::driver::CustomizationCommand;
use crate::host::input::{ConnectionId, Input};
use crate::resource::FileJob;
use crate::resource::content::StoredText;
use crate::resource::watches::WatchRequest;
use crate::session::list::RemovedSession;
use crate::terminal::PtyCommand;
use crate::tools::mcp::driver::McpCommand;

/// What a step wants done.
#[derive(Debug, Default)]
pub struct Effects {
    /// To the log, before anything else.
    pub writes: Vec<StoreWrite>,
    /// To the world, in this order.
    pub effects: Vec<Effect>,
}

/// Something to keep.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreWrite {
    /// An accepted action.
    Action(Arc<ActionEnvelope>),
    /// A number was used for something that is not kept.
    SeqUsed(ServerSeq),
    /// A channel came into being.
    ChannelCreated {
        /// The channel.
        channel: Uri,
        /// The session it belongs to; none for the host's own.
        session: Option<Uri>,
        /// Its state, as of `seq`.
        state: ChannelState,
        /// The last action before it.
        seq: ServerSeq,
    },
    /// A channel is gone for good.
    ChannelRemoved {
        /// The channel.
        channel: Uri,
        /// The last action before that.
        seq: ServerSeq,
    },
    /// A channel belongs to another session now.
    ChannelMoved {
        /// The channel.
        channel: Uri,
        /// The session.
        session: Uri,
    },
    /// What a list of sessions shows of a session.
    Session(Arc<SessionSummary>),
    /// A session is gone for good.
    SessionRemoved(Uri),
    /// A session was removed from the list that clients see. The last
    /// [`MAX_REMOVED_SESSIONS`](crate::MAX_REMOVED_SESSIONS) are kept.
    SessionUnlisted(RemovedSession),
    /// What is remembered of a client.
    Client(ClientId, Box<ClientRecord>),
    /// A client is forgotten.
    ClientRemoved(ClientId),
    /// What an agent offers.
    AgentOptions(ProviderId, Box<AgentOptions>),
}

/// Something to do.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Answer a request.
    Respond {
        /// Where.
        connection: ConnectionId,
        /// To what.
        id: RequestId,
        /// With what.
        result: Result<ResponseBody, RpcError>,
    },
    /// Ask a client something; its answer comes as `Received::Response`.
    SendRequest {
        /// Where.
        connection: ConnectionId,
        /// What its answer will name.
        id: RequestId,
        /// What.
        request: Box<HostRequest>,
    },
    /// Send an action to its subscribers.
    Publish {
        /// The action.
        envelope: Arc<ActionEnvelope>,
        /// The subscribers.
        to: Vec<Recipient>,
    },
    /// Tell subscribers of older versions of an action.
    PublishLegacy {
        /// The action.
        envelope: Arc<ActionEnvelope>,
        /// The state of its channel before it; `None` for pieces of a stream,
        /// which are the same in all versions.
        before: Option<ChannelState>,
        /// What there was right after it.
        view: Box<StateView>,
        /// The subscribers.
        to: Vec<ConnectionId>,
    },
    /// Show one subscriber what others know already.
    PublishToOne {
        /// Where.
        connection: ConnectionId,
        /// What.
        envelope: Box<ActionEnvelope>,
    },
    /// Tell a client that its action was refused.
    RejectAction {
        /// Where.
        connection: ConnectionId,
        /// What.
        rejection: Box<Rejection>,
    },
    /// Tell some clients something.
    Notify {
        /// What.
        notification: Arc<HostNotification>,
        /// Whom.
        to: Vec<ConnectionId>,
    },
    /// End a connection, once everything for it has been sent.
    CloseConnection {
        /// Which.
        connection: ConnectionId,
    },
    /// Ask something of an agent.
    Agent {
        /// The session it works for.
        session: Uri,
        /// The agent.
        provider: ProviderId,
        /// What.
        command: Box<AgentCommand>,
    },
    /// Keep a token for agents, in memory and nowhere else, or forget it.
    StoreToken {
        /// Who gave it, and what for.
        key: TokenKey,
        /// The token; `None` forgets the last.
        token: Option<AccessToken>,
    },
    /// Whose tokens a session may use: those of the first who has one (AUT-13).
    SetTokenPrincipals {
        /// The session.
        session: Uri,
        /// All of them; nobody, if it is gone.
        principals: Vec<Principal>,
    },
    /// Report that an agent, or the host itself, wanted something that would
    /// have broken the state. It did not happen.
    ReportDiscarded {
        /// The channel.
        channel: Uri,
        /// The action.
        action: &'static str,
        /// How it would have broken it.
        reason: String,
    },
    /// Send an input after a while. Each is sent, whatever happens meanwhile.
    Schedule {
        /// After how long.
        delay: Millis,
        /// What.
        input: Box<Input>,
    },
    /// Keep some text, before what comes after this is seen.
    StoreContent(Box<StoredText>),
    /// Chats of a session belong to another one now: what was kept for the
    /// first is the other's, too.
    ShareContent {
        /// The session that they were in.
        from: Uri,
        /// The session that they are in.
        to: Uri,
    },
    /// Forget all content that was kept for a session, and that no other has a
    /// share in.
    DeleteContent {
        /// The session.
        session: Uri,
    },
    /// Do something with files, and send `Input::RequestCompleted`.
    AccessFiles(Box<FileJob>),
    /// Do something with a terminal that a client opened; what happens in it
    /// comes as `Input::Terminal`.
    Terminal {
        /// The session that output is stored for which is too long to be shown.
        content_session: Option<Uri>,
        /// The terminal.
        terminal: Uri,
        /// What.
        command: Box<PtyCommand>,
    },
    /// Find something out about the files of a session, or do something with
    /// them; what comes back depends on what it is.
    TrackChanges(Box<ChangeJob>),
    /// Replace the keys of the code that a person has allowed to run: that of
    /// repositories. Sent when they change; at first there are none.
    TrustCode {
        /// The keys.
        keys: BTreeSet<String>,
    },
    /// Pass on what a server of tools has to say.
    ForwardMcpNotification {
        /// What, in the words of MCP.
        method: String,
        /// With what.
        params: Object,
        /// To whom.
        to: Vec<ConnectionId>,
    },
    /// Begin a watch, and send `Input::WatchStarted`; from then on
    /// `Input::FilesChanged`.
    Watch(Box<WatchRequest>),
    /// End a watch.
    Unwatch {
        /// The watch.
        channel: Uri,
    },
    /// Look for files, and send `Input::FileSearchFinished`.
    SearchFiles(Box<FileSearch>),
    /// Find out about customizations; what is found comes as
    /// `Input::Customization`.
    Customization(Box<CustomizationCommand>),
    /// Do something with servers of tools; what happens comes as
    /// `Input::Mcp`.
    Mcp(Box<McpCommand>),
}

/// Someone to send an action to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    /// Where.
    pub connection: ConnectionId,
    /// How long it may wait for others that it can be merged with.
    pub max_latency: Millis,
}

/// What of a state a client gets to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppVisibility {
    /// All of it.
    Visible,
    /// All but how apps talk to their servers (see `without_apps`).
    Hidden,
}

/// The answer to a request that went well.
#[derive(Debug, Clone)]
pub enum ResponseBody {
    /// `null`.
    Null,
    /// `{}`.
    Empty,
    /// To `initialize`.
    Initialize(Box<InitializeResult>),
    /// To `reconnect`: what the log has after one point, up to another, for
    /// some channels. The log is read when the answer is written.
    Replay {
        /// The last action that the client has seen.
        after: ServerSeq,
        /// The last action there is.
        until: ServerSeq,
        /// The channels it wants.
        channels: Vec<Uri>,
        /// Those that are gone.
        missing: Vec<Uri>,
        /// Whether the client gets to see all there is.
        apps: AppVisibility,
    },
    /// To `reconnect`, when the log no longer has what was missed.
    Snapshots(ReconnectSnapshot),
    /// To `reconnect` with a cursor for each channel. The log is read when the
    /// answer is written.
    Recoveries {
        /// The outcome for each channel, in the order of the request.
        channels: Vec<RecoveryOutcome>,
        /// The last action there is.
        until: ServerSeq,
        /// Whether the client gets to see all there is.
        apps: AppVisibility,
    },
    /// To `subscribe`.
    Subscribe(Box<SubscribeResult>),
    /// To `listSessions`.
    ListSessions(ListSessionsResult),
    /// To `resolveSessionConfig`.
    ResolveSessionConfig(Box<ResolveSessionConfigResult>),
    /// To `sessionConfigCompletions`.
    SessionConfigCompletions(SessionConfigCompletionsResult),
    /// To `createResourceWatch`.
    CreateResourceWatch(CreateResourceWatchResult),
    /// To `resourceRead`.
    ResourceRead(Box<ResourceReadResult>),
    /// To `resourceList`.
    ResourceList(ResourceListResult),
    /// To `resourceResolve`.
    ResourceResolve(Box<ResourceResolveResult>),
    /// To `completions`.
    Completions(CompletionsResult),
    /// To `invokeChangesetOperation`.
    ChangesetOperation(Box<InvokeChangesetOperationResult>),
    /// To `moveChat`.
    MoveChat(MoveChatResult),
    /// What a server of tools answered.
    McpResult(Box<Json>),
}

impl Effects {
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Has an input sent after a while.
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
