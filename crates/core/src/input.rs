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
use crate::authentication::TokenPlace;
use crate::changes::{
    ChangeOperation, Comparison, Mark, Marked, Operated, SurveyedEdits, TurnOf, Worktree,
};
use crate::clients::{Departure, Principal};
use crate::completions::{FileSearch, FoundFile};
use crate::customizing::CustomizationEvent;
use crate::effect::Answer;
use crate::questions::RawAnswer;
use crate::refusal::Failure;
use crate::side_channel::ServerMessage;
use crate::terminal_output::TerminalEvent;
use crate::tool_servers::{ToolEvent, ToolTicket};
use crate::watches::WatchErrand;

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
        message: Received,
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
    GraceEnded {
        /// The client.
        client: ClientId,
        /// When it left.
        departure: Departure,
    },
    /// The time of a token is over. Sent for every token; a newer one for the
    /// same is left alone.
    TokenExpired {
        /// Whose it was, and what for.
        place: TokenPlace,
        /// When it was given.
        given: u128,
    },
    /// The log forgot old actions.
    Compacted {
        /// Where it starts now.
        log_start: ServerSeq,
    },
    /// The state of a channel was read from the log, because the next input
    /// needs it; see `Host::needs`.
    Restored {
        /// The channel.
        channel: Uri,
        /// What was read.
        loaded: Loaded,
    },
    /// Something was done with files, or it is known why not.
    Answered {
        /// Who asked.
        connection: ConnectionId,
        /// What has to be answered.
        id: RequestId,
        /// What came of it.
        answer: Box<Result<Answer, Failure>>,
    },
    /// Something happened in a terminal that the host runs.
    Terminal {
        /// The terminal.
        terminal: Uri,
        /// What.
        event: TerminalEvent,
    },
    /// It is remembered how the files of a session were, or known why not.
    Marked {
        /// The session.
        session: Uri,
        /// The moment.
        mark: Mark,
        /// What came of it.
        outcome: Box<Result<Marked, Failure>>,
    },
    /// It is known how files differ, or why not.
    Compared {
        /// The changeset.
        channel: Uri,
        /// What came of it.
        outcome: Box<Result<Comparison, Failure>>,
    },
    /// It is known which files a running turn has edited.
    Surveyed {
        /// The turn that the edits are reported in.
        turn: TurnOf,
        /// The edits; none if the files could not be compared.
        surveyed: Box<SurveyedEdits>,
    },
    /// Something was done about a changeset, or could not be.
    Operated {
        /// What was wanted.
        wanted: Box<ChangeOperation>,
        /// What it is called where it was offered.
        name: OperationId,
        /// What came of it.
        outcome: Result<Operated, Failure>,
    },
    /// The worktree of a new session is there, or could not be made.
    WorktreeMade {
        /// The session.
        session: Uri,
        /// What came of it.
        outcome: Result<Worktree, Failure>,
    },
    /// A while has passed since a changeset was computed.
    LookAgain {
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
    StillUngranted {
        /// Who asked.
        connection: ConnectionId,
        /// What has to be answered.
        id: RequestId,
    },
    /// Something is known about the customizations of a session.
    Customized {
        /// The session.
        session: Uri,
        /// What.
        event: CustomizationEvent,
    },
    /// Something happened to the servers of tools of a session.
    Tools {
        /// The session.
        session: Uri,
        /// What.
        event: ToolEvent,
    },
    /// An agent had time to tell of a tool call that it has made.
    StillUntold {
        /// The call.
        call: ToolTicket,
    },
    /// What was read that agents are known to have was gathered for a while.
    AgentsLearned,
    /// A watch has begun, or could not.
    Watching {
        /// The watch.
        errand: Box<WatchErrand>,
        /// Why it could not.
        begun: Result<(), Failure>,
    },
    /// A watch saw something.
    FilesChanged {
        /// The watch.
        channel: Uri,
        /// What it saw.
        changes: Vec<ResourceChange>,
    },
    /// A while has passed since a watch began. If nobody watches, it ends.
    StillUnwatched {
        /// The watch.
        channel: Uri,
    },
    /// Files were looked for.
    FilesFound {
        /// The search.
        search: Box<FileSearch>,
        /// What was found, best first.
        files: Vec<FoundFile>,
    },
    /// The patience with a client that runs a tool call is over. If it has not
    /// said anything about it since, it will not.
    StillSilent {
        /// The session.
        session: Uri,
        /// What the session said of the call when it became patient.
        call: Arc<SessionInputRequest>,
    },
    /// A client had time to answer what it was asked.
    StillUnanswered {
        /// Who was asked.
        connection: ConnectionId,
        /// What.
        id: RequestId,
    },
    /// A while has passed. What nobody looks at is let go from memory; the
    /// log has it.
    Quiet,
}

/// An action of a client that was refused before the host could judge it.
#[derive(Debug, Clone)]
pub struct RefusedDispatch {
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
pub struct Loaded {
    /// Its state. Of a long chat, only the latest turns may be in it.
    pub state: ChannelState,
    /// The turns before those, the oldest first.
    pub earlier: Vec<TurnId>,
}

impl Loaded {
    /// A channel with all there is to it.
    pub fn whole(state: impl Into<ChannelState>) -> Self {
        Loaded {
            state: state.into(),
            earlier: Vec::new(),
        }
    }
}

/// How much of a channel is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Of a chat, the latest turns will do.
    Tail,
    /// All of it.
    Whole,
}

/// A channel that has to be read before a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The channel.
    pub channel: Uri,
    /// How much of it.
    pub extent: Extent,
}

/// A message of a peer, decoded.
#[derive(Debug, Clone)]
pub enum Received {
    /// It wants an answer.
    Request(RequestId, Box<ClientRequest>),
    /// It wants none.
    Notification(Box<ClientNotification>),
    /// It is an answer to what the host asked, or meant to be one.
    Response(RequestId, Box<Result<RawAnswer, RpcError>>),
    /// Something for a server of tools; without an id it wants no answer.
    ToServer(Option<RequestId>, Box<ServerMessage>),
    /// It wants to take up where it was, but the log has more for it than one
    /// answer should hold.
    TooMuchMissed(RequestId, Box<ReconnectParams>),
    /// It is an action that there is no word for in the host's version.
    Refused(Box<RefusedDispatch>),
    /// It could not be decoded. Comes this way so that the answer keeps its
    /// place among the others.
    Invalid(RequestId, RpcError),
}
