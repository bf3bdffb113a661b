//! Why the host does not do what it was asked.

use agenthost_protocol::ids::{ClientId, ToolCallId, TurnId};
use agenthost_protocol::resource::ResourceRequestParams;
use agenthost_protocol::rpc::{ErrorCode, PermissionDeniedData, RpcError};
use agenthost_protocol::timestamp::TimestampError;
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::policy::limits::MAX_SESSION_CHATS;
use crate::resource::FileAccess;

/// Why a request was not carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestFailure {
    /// Nothing was said yet but this.
    #[error("say `initialize` first")]
    NotInitialized,
    /// It was said before.
    #[error("this connection is initialized already")]
    AlreadyInitialized,
    /// The client is not known any more.
    #[error("client `{0}` is not known here any more: initialize again")]
    UnknownClient(ClientId),
    /// The name belongs to somebody else.
    #[error("client id `{0}` is in use by somebody else")]
    ClientIdTaken(ClientId),
    /// A version could not be read.
    #[error("protocolVersions: `{0}` is not a version of the form MAJOR.MINOR.PATCH")]
    MalformedVersion(String),
    /// There is no such session or chat.
    #[error("there is no session or chat `{0}`")]
    UnknownSession(Uri),
    /// There is no such channel of another kind.
    #[error("there is nothing at `{0}`")]
    UnknownChannel(Uri),
    /// There is no such agent.
    #[error("there is no agent `{0}`")]
    UnknownProvider(String),
    /// The address is in use.
    #[error("there is a session `{0}` already")]
    SessionExists(Uri),
    /// The address is in use.
    #[error("there is something at `{0}` already")]
    ChatExists(Uri),
    /// Something has to end first.
    #[error("a turn is in progress in `{0}`")]
    TurnInProgress(Uri),
    /// It is there, but what the log has of it makes no sense.
    #[error("what is kept of `{0}` can't be read; the log of the host says why")]
    ChannelUnreadable(Uri),
    /// A file is outside of what was granted.
    #[error(
        "`{uri}` is outside of the folders that may be used here; `agenthost allow` lets a person \
         add more"
    )]
    NotGranted {
        /// The file.
        uri: Uri,
        /// What was wanted.
        access: FileAccess,
    },
    /// The system does not let the host.
    #[error("the system denies access to `{0}`")]
    AccessDenied(Uri),
    /// The host keeps it as it is.
    #[error("`{0}` is content that the host keeps as it is: it can be read, and nothing else")]
    ImmutableContent(Uri),
    /// There is a file already.
    #[error("there is something at `{0}` already")]
    FileExists(Uri),
    /// A file is not as it was.
    #[error("`{0}` has changed in the meantime")]
    FileChanged(Uri),
    /// Something went wrong that is nobody's fault.
    #[error("{0}")]
    Internal(String),
    /// The host has as many sessions as it may have.
    #[error(
        "there are {0} sessions, the most that `limits.sessions` allows: dispose of some, or \
         raise the limit in the configuration"
    )]
    TooManySessions(usize),
    /// The parameters do not make sense.
    #[error("{0}")]
    InvalidParams(String),
    /// The host does not do this.
    #[error("`{0}` is not supported by this host")]
    Unsupported(&'static str),
}

impl From<RequestFailure> for RpcError {
    /// The one place that says which failure is which code.
    fn from(failure: RequestFailure) -> Self {
        let code = match &failure {
            RequestFailure::NotGranted { uri, access } => {
                let request = ResourceRequestParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    read: Some(true),
                    write: (*access == FileAccess::Write).then_some(true),
                    meta: None,
                };
                let request = Some(request);
                let data = PermissionDeniedData { request };
                return RpcError::permission_denied(failure.to_string(), &data);
            }
            RequestFailure::AccessDenied(_) | RequestFailure::ImmutableContent(_) => {
                ErrorCode::PermissionDenied
            }
            RequestFailure::FileExists(_) => ErrorCode::AlreadyExists,
            RequestFailure::FileChanged(_) => ErrorCode::Conflict,
            RequestFailure::Internal(_) => ErrorCode::InternalError,
            RequestFailure::NotInitialized | RequestFailure::AlreadyInitialized => {
                ErrorCode::InvalidRequest
            }
            RequestFailure::TooManySessions(_) => ErrorCode::InvalidRequest,
            RequestFailure::UnknownClient(_) | RequestFailure::UnknownChannel(_) => {
                ErrorCode::NotFound
            }
            RequestFailure::ClientIdTaken(_) => ErrorCode::PermissionDenied,
            RequestFailure::MalformedVersion(_) | RequestFailure::InvalidParams(_) => {
                ErrorCode::InvalidParams
            }
            RequestFailure::UnknownSession(_) => ErrorCode::SessionNotFound,
            RequestFailure::UnknownProvider(_) => ErrorCode::ProviderNotFound,
            RequestFailure::SessionExists(_) => ErrorCode::SessionAlreadyExists,
            RequestFailure::ChatExists(_) => ErrorCode::AlreadyExists,
            RequestFailure::TurnInProgress(_) => ErrorCode::TurnInProgress,
            RequestFailure::ChannelUnreadable(_) => ErrorCode::InternalError,
            RequestFailure::Unsupported(_) => ErrorCode::MethodNotFound,
        };
        RpcError::new(code, failure.to_string())
    }
}

/// Why an action was refused. Becomes the `rejectionReason`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Only the host may.
    #[error("`{0}` can only be dispatched by the host")]
    HostOnly(&'static str),
    /// It belongs elsewhere.
    #[error("`{0}` does not belong on this channel")]
    WrongChannel(&'static str),
    /// The action is malformed, or of an unknown type.
    #[error("{0}")]
    NotAnAction(String),
    /// Clients speak for their users.
    #[error("a client can only send messages of kind `user`")]
    NotFromUser,
    /// One turn at a time.
    #[error("turn `{0}` is in progress")]
    TurnInProgress(TurnId),
    /// No turn to do it to.
    #[error("turn `{0}` is not in progress")]
    NotInProgress(TurnId),
    /// The agent is not up.
    #[error("the session is not ready")]
    NotReady,
    /// Workers are for watching.
    #[error("this chat can only be watched")]
    ReadOnly,
    /// Names are used once.
    #[error("turn id `{0}` is in use")]
    TurnIdUsed(TurnId),
    /// A turn with such a start could never end.
    #[error("startedAt: {0}")]
    Timestamp(#[from] TimestampError),
    /// The call is not in the state for this.
    #[error("tool call `{0}` does not wait for this")]
    CallNotWaiting(ToolCallId),
    /// The call is another client's, or the host's.
    #[error("tool call `{0}` is not carried out by this client")]
    NotOwner(ToolCallId),
    /// What the action names is not there.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The turn can't be taken up again.
    #[error("turn `{0}` can't be resumed")]
    NotResumable(TurnId),
    /// Clients speak for themselves.
    #[error("a client can only do this for itself")]
    NotSelf,
    /// The first directory of a session is special.
    #[error("the primary directory of this session stays where it is")]
    PrimaryDirectory,
    /// The agent does not have it.
    #[error("the agent does not support {0}")]
    Unsupported(&'static str),
    /// A byte limit is exceeded.
    #[error("{what} may have at most {limit} bytes")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A value is not allowed.
    #[error("{0}")]
    Invalid(String),
}

/// Why an action of an agent is discarded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ActionCheckError {
    /// Another action adds such a part, and says what the chat waits for.
    #[error("such a part is added by an action of its own")]
    PartHasOwnAction,
    /// A client would open it.
    #[error("its URL is not one of a web page")]
    NotWebPage,
    /// Parts and calls of a turn have names of their own.
    #[error("its name is in use in this turn")]
    NameUsed,
    /// The address of a chat for a worker is in use.
    #[error("there is something at this address already")]
    AddressTaken,
    /// The address of a chat for a worker is not one of a chat.
    #[error(transparent)]
    InvalidAddress(RequestFailure),
    /// The session has as many chats as it may have.
    #[error("a session may have at most {MAX_SESSION_CHATS} chats")]
    TooManyChats,
    /// The tool call that spawns a worker is over, or there is none.
    #[error("the call that spawns it does not run")]
    SpawningCallNotRunning,
    /// The work in the background is about something of another session.
    #[error("there is no `{0}` in this session")]
    NotInSession(Uri),
}
