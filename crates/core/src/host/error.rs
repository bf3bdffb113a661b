//! Errors of requests, refusals of client actions, and reasons to discard actions of agents.

use agenthost_protocol::ids::{ClientId, ToolCallId, TurnId};
use agenthost_protocol::resource::ResourceRequestParams;
use agenthost_protocol::rpc::{ErrorCode, PermissionDeniedData, RpcError};
use agenthost_protocol::timestamp::TimestampError;
use agenthost_protocol::uri::{RootChannel, Uri};

use crate::policy::limits::MAX_SESSION_CHATS;
use crate::policy::scope::ScopeViolation;
use crate::resource::FileAccess;

/// The error of a request that the host could not carry out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RequestFailure {
    /// The connection sent a request before its handshake.
    #[error("send `initialize` first")]
    NotInitialized,
    /// The connection sent `initialize` a second time.
    #[error("this connection is initialized already")]
    AlreadyInitialized,
    /// The host has no record of the reconnecting client.
    #[error("client `{0}` is not known: send `initialize`")]
    UnknownClient(ClientId),
    /// The client id belongs to another principal.
    #[error("client id `{0}` belongs to another principal")]
    ClientIdTaken(ClientId),
    /// A protocol version could not be parsed.
    #[error("protocolVersions: `{0}` is not a version of the form MAJOR.MINOR.PATCH")]
    MalformedVersion(String),
    /// The session or chat does not exist.
    #[error("there is no session or chat `{0}`")]
    UnknownSession(Uri),
    /// The channel, of another kind, does not exist.
    #[error("`{0}` does not exist")]
    UnknownChannel(Uri),
    /// The agent does not exist.
    #[error("there is no agent `{0}`")]
    UnknownProvider(String),
    /// The URI belongs to an existing session.
    #[error("session `{0}` already exists")]
    SessionExists(Uri),
    /// The URI belongs to an existing channel.
    #[error("`{0}` already exists")]
    ChatExists(Uri),
    /// The chat has an active turn, which has to end first.
    #[error("a turn is in progress in `{0}`")]
    TurnInProgress(Uri),
    /// The channel exists, but its stored state could not be decoded.
    #[error("the stored state of `{0}` can't be read; see the log of the host")]
    ChannelUnreadable(Uri),
    /// The file is outside of the granted roots.
    #[error("`{uri}` is outside of the granted folders; `agenthost allow` grants more")]
    NotGranted {
        /// URI of the file.
        uri: Uri,
        /// The access that the request needs.
        access: FileAccess,
    },
    /// The operating system denied access.
    #[error("the system denies access to `{0}`")]
    AccessDenied(Uri),
    /// The URI names content of the content store, which is read-only.
    #[error("`{0}` is stored content, which is read-only")]
    ImmutableContent(Uri),
    /// The target of a write, copy or move exists.
    #[error("`{0}` already exists")]
    FileExists(Uri),
    /// The file has changed since the client read it.
    #[error("`{0}` has changed in the meantime")]
    FileChanged(Uri),
    /// An internal error, with a message for the user.
    #[error("{0}")]
    Internal(String),
    /// The host has reached its limit of sessions.
    #[error(
        "there are {0} sessions, and `limits.sessions` allows no more: dispose of some, or raise \
         the limit in the configuration"
    )]
    TooManySessions(usize),
    /// The host can't store the effects of the message, for this reason.
    #[error("the host can't store changes: {0}; nothing was changed")]
    NotStored(String),
    /// The parameters of the request are invalid.
    #[error("{0}")]
    InvalidParams(String),
    /// The scope of the device does not permit the request.
    #[error(transparent)]
    OutOfScope(ScopeViolation),
    /// The host does not support this method.
    #[error("`{0}` is not supported by this host")]
    Unsupported(&'static str),
}

impl From<RequestFailure> for RpcError {
    /// Maps each failure to its error code. There is no other mapping.
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
            RequestFailure::Internal(_) | RequestFailure::NotStored(_) => ErrorCode::InternalError,
            RequestFailure::NotInitialized | RequestFailure::AlreadyInitialized => {
                ErrorCode::InvalidRequest
            }
            RequestFailure::TooManySessions(_) => ErrorCode::InvalidRequest,
            RequestFailure::UnknownClient(_) | RequestFailure::UnknownChannel(_) => {
                ErrorCode::NotFound
            }
            RequestFailure::ClientIdTaken(_) | RequestFailure::OutOfScope(_) => {
                ErrorCode::PermissionDenied
            }
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

/// The reason why the host refused an action. Sent as `rejectionReason`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The scope of the device does not permit the action.
    #[error(transparent)]
    OutOfScope(ScopeViolation),
    /// Only the host may originate this action.
    #[error("`{0}` can only be dispatched by the host")]
    HostOnly(&'static str),
    /// The action does not apply to this kind of channel.
    #[error("`{0}` does not belong on this channel")]
    WrongChannel(&'static str),
    /// The action is malformed, or of an unknown type.
    #[error("{0}")]
    NotAnAction(String),
    /// Clients may only send messages of kind `user`.
    #[error("a client can only send messages of kind `user`")]
    NotFromUser,
    /// The chat already has an active turn.
    #[error("turn `{0}` is in progress")]
    TurnInProgress(TurnId),
    /// The named turn is not active.
    #[error("turn `{0}` is not in progress")]
    NotInProgress(TurnId),
    /// The session is not ready for a turn yet.
    #[error("the session is not ready")]
    NotReady,
    /// The chat is read-only, such as the chat of a worker.
    #[error("this chat is read-only")]
    ReadOnly,
    /// The chat already has a turn with this id.
    #[error("turn id `{0}` is in use")]
    TurnIdUsed(TurnId),
    /// The start time is invalid, so the duration of the turn could not be computed.
    #[error("startedAt: {0}")]
    Timestamp(#[from] TimestampError),
    /// The tool call is not in a state that permits this action.
    #[error("tool call `{0}` is not waiting for this action")]
    CallNotWaiting(ToolCallId),
    /// The tool call is executed by another client or by the host.
    #[error("tool call `{0}` is not executed by this client")]
    NotOwner(ToolCallId),
    /// The action names something that does not exist.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// The kind of thing, such as a tool call.
        what: &'static str,
        /// The id or name that was not found.
        name: String,
    },
    /// The turn ended in a way that can't be resumed.
    #[error("turn `{0}` can't be resumed")]
    NotResumable(TurnId),
    /// A client may do this only for itself.
    #[error("a client can only do this for itself")]
    NotSelf,
    /// The primary directory of a session can't be removed.
    #[error("the primary directory of this session cannot be changed")]
    PrimaryDirectory,
    /// The agent lacks this feature.
    #[error("the agent does not support {0}")]
    Unsupported(&'static str),
    /// The value exceeds a limit in bytes.
    #[error("{what} may have at most {limit} bytes")]
    TooLarge {
        /// The value that is too large.
        what: &'static str,
        /// The limit in bytes.
        limit: usize,
    },
    /// A value is not allowed, for this reason.
    #[error("{0}")]
    Invalid(String),
}

/// The reason why an action of an agent is discarded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ActionCheckError {
    /// Such a part has an action of its own, which also updates the input needed.
    #[error("a part of this kind has its own action")]
    PartHasOwnAction,
    /// The URL, which a client would open, is not a web page.
    #[error("its URL is not the address of a web page")]
    NotWebPage,
    /// Another part or tool call of the turn has this id.
    #[error("its id is in use in this turn")]
    NameUsed,
    /// The URI for a worker chat is in use.
    #[error("its URI is in use")]
    AddressTaken,
    /// The URI for a worker chat is not a chat URI.
    #[error(transparent)]
    InvalidAddress(RequestFailure),
    /// The session has reached its limit of chats.
    #[error("a session may have at most {MAX_SESSION_CHATS} chats")]
    TooManyChats,
    /// The tool call that spawns a worker does not exist or has ended.
    #[error("the tool call that spawns it is not running")]
    SpawningCallNotRunning,
    /// The background work refers to a channel of another session.
    #[error("there is no `{0}` in this session")]
    NotInSession(Uri),
}
