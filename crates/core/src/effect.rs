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
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Json, Object};

use crate::agent::AgentCommand;
use crate::agent_options::AgentOptions;
use crate::authentication::{Token, TokenPlace};
use crate::changes::ChangeErrand;
use crate::clients::{ClientRecord, Principal};
use crate::completions::FileSearch;
use crate::contents::KeptText;
use crate::customizing::CustomizationErrand;
use crate::files::FileErrand;
use crate::input::{ConnectionId, Input};
use crate::recovery::Recovery;
use crate::scenes::Scene;
use crate::terminals::TerminalCommand;
use crate::tool_servers::ToolErrand;
use crate::watches::WatchErrand;

/// What a step wants done.
#[derive(Debug, Default)]
pub struct Effects {
    /// To the log, before anything else.
    pub writes: Vec<Write>,
    /// To the world, in this order.
    pub effects: Vec<Effect>,
}

/// Something to keep.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// An accepted action.
    Action(Arc<ActionEnvelope>),
    /// A number was used for something that is not kept.
    Number(ServerSeq),
    /// A channel came into being.
    Created {
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
    Removed {
        /// The channel.
        channel: Uri,
        /// The last action before that.
        seq: ServerSeq,
    },
    /// A channel belongs to another session now.
    Moved {
        /// The channel.
        channel: Uri,
        /// The session.
        session: Uri,
    },
    /// What a list of sessions shows of a session.
    Session(Arc<SessionSummary>),
    /// A session is gone for good.
    SessionRemoved(Uri),
    /// What is remembered of a client.
    Client(ClientId, Box<ClientRecord>),
    /// A client is forgotten.
    ClientForgotten(ClientId),
    /// What an agent offers.
    AgentOptions(ProviderId, Box<AgentOptions>),
}

/// Something to do.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Answer a request.
    Reply {
        /// Where.
        connection: ConnectionId,
        /// To what.
        id: RequestId,
        /// With what.
        answer: Result<Answer, RpcError>,
    },
    /// Ask a client something; its answer comes as `Received::Response`.
    Ask {
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
    Retell {
        /// The action.
        envelope: Arc<ActionEnvelope>,
        /// The state of its channel before it; `None` for pieces of a stream,
        /// which are the same in all versions.
        before: Option<ChannelState>,
        /// What there was right after it.
        scene: Box<Scene>,
        /// The subscribers.
        to: Vec<ConnectionId>,
    },
    /// Show one subscriber what others know already.
    Show {
        /// Where.
        connection: ConnectionId,
        /// What.
        envelope: Box<ActionEnvelope>,
    },
    /// Tell a client that its action was refused.
    Reject {
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
    Close {
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
    Token {
        /// Who gave it, and what for.
        place: TokenPlace,
        /// The token; `None` forgets the last.
        token: Option<Token>,
    },
    /// Whose tokens a session may use: those of the first who has one (AUT-13).
    TokensOf {
        /// The session.
        session: Uri,
        /// All of them; nobody, if it is gone.
        principals: Vec<Principal>,
    },
    /// Report that an agent, or the host itself, wanted something that would
    /// have broken the state. It did not happen.
    Discarded {
        /// The channel.
        channel: Uri,
        /// The action.
        action: &'static str,
        /// How it would have broken it.
        reason: String,
    },
    /// Send an input after a while. Each is sent, whatever happens meanwhile.
    Later {
        /// After how long.
        after: Millis,
        /// What.
        input: Box<Input>,
    },
    /// Keep some text, before what comes after this is seen.
    KeepContent(Box<KeptText>),
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
    ForgetContent {
        /// The session.
        session: Uri,
    },
    /// Do something with files, and send `Input::Answered`.
    UseFiles(Box<FileErrand>),
    /// Do something with a terminal that a client opened; what happens in it
    /// comes as `Input::Terminal`.
    Terminal {
        /// The turn that it is for, if it is for one.
        place: Option<TurnPlace>,
        /// The terminal.
        terminal: Uri,
        /// What.
        command: Box<TerminalCommand>,
    },
    /// Find something out about the files of a session, or do something with
    /// them; what comes back depends on what it is. What is asked of the agent
    /// after a turn is about to begin waits until that is marked.
    Changes(Box<ChangeErrand>),
    /// Replace the keys of the code that a person has allowed to run: that of
    /// repositories. Sent when they change; at first there are none.
    TrustCode {
        /// The keys.
        keys: BTreeSet<String>,
    },
    /// Pass on what a server of tools has to say.
    PassOn {
        /// What, in the words of MCP.
        method: String,
        /// With what.
        params: Object,
        /// To whom.
        to: Vec<ConnectionId>,
    },
    /// Begin a watch, and send `Input::Watching`; from then on
    /// `Input::FilesChanged`.
    Watch(Box<WatchErrand>),
    /// End a watch.
    Unwatch {
        /// The watch.
        channel: Uri,
    },
    /// Look for files, and send `Input::FilesFound`.
    FindFiles(Box<FileSearch>),
    /// Find out about customizations; what is found comes as
    /// `Input::Customized`.
    Customize(Box<CustomizationErrand>),
    /// Do something with servers of tools; what happens comes as
    /// `Input::Tools`.
    Tools(Box<ToolErrand>),
}

/// Where a turn is that changes files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TurnPlace {
    /// The session.
    pub session: Uri,
    /// The chat.
    pub chat: Uri,
}

/// Someone to send an action to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    /// Where.
    pub connection: ConnectionId,
    /// How long it may wait for others that it can be merged with.
    pub patience: Millis,
}

/// What of a state a client gets to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// All of it.
    All,
    /// All but how apps talk to their servers (see `without_apps`).
    WithoutApps,
}

/// The answer to a request that went well.
#[derive(Debug, Clone)]
pub enum Answer {
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
        seen: Seen,
    },
    /// To `reconnect`, when the log no longer has what was missed.
    Snapshots(ReconnectSnapshot),
    /// To `reconnect` with a cursor for each channel. The log is read when the
    /// answer is written.
    Recoveries {
        /// The outcome for each channel, in the order of the request.
        channels: Vec<Recovery>,
        /// The last action there is.
        until: ServerSeq,
        /// Whether the client gets to see all there is.
        seen: Seen,
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
    Watch(CreateResourceWatchResult),
    /// To `resourceRead`.
    Read(Box<ResourceReadResult>),
    /// To `resourceList`.
    List(ResourceListResult),
    /// To `resourceResolve`.
    Resolve(Box<ResourceResolveResult>),
    /// To `completions`.
    Completions(CompletionsResult),
    /// To `invokeChangesetOperation`.
    Operated(Box<InvokeChangesetOperationResult>),
    /// To `moveChat`.
    MoveChat(MoveChatResult),
    /// What a server of tools answered.
    OfServer(Box<Json>),
}

impl Effects {
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Has an input sent after a while.
    pub(crate) fn later(&mut self, after: Millis, input: Input) {
        let input = Box::new(input);
        self.push(Effect::Later { after, input });
    }

    pub(crate) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(crate) fn answer(&mut self, connection: ConnectionId, id: &RequestId, answer: Answer) {
        self.push(Effect::Reply {
            connection,
            id: id.clone(),
            answer: Ok(answer),
        });
    }

    pub(crate) fn fail(&mut self, connection: ConnectionId, id: &RequestId, error: RpcError) {
        self.push(Effect::Reply {
            connection,
            id: id.clone(),
            answer: Err(error),
        });
    }
}
