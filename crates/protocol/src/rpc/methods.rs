//! The methods of the protocol with their parameters and results.

use serde::{Serialize, Serializer};

use super::error::{ErrorCode, RpcError};
use super::message::Call;
use crate::action::ReceivedEnvelope;
use crate::automation::{
    FetchAutomationRunsParams, ListAutomationTriggerDefinitionsParams,
    ListAutomationTriggerDefinitionsResult, RunAutomationParams, RunAutomationResult,
};
use crate::changeset::{InvokeChangesetOperationParams, InvokeChangesetOperationResult};
use crate::chat::{
    CompletionsParams, CompletionsResult, CreateChatParams, DisposeChatParams, FetchTurnsParams,
    MoveChatParams, MoveChatResult,
};
use crate::connection::{
    DispatchActionParams, InitializeParams, InitializeResult, PingParams, ReconnectRequest,
    ReconnectResponse, SubscribeParams, SubscribeResult, UnsubscribeParams,
};
use crate::resource::{
    CreateResourceWatchParams, CreateResourceWatchResult, ResourceCopyParams, ResourceDeleteParams,
    ResourceListParams, ResourceListResult, ResourceMkdirParams, ResourceMoveParams,
    ResourceReadParams, ResourceReadResult, ResourceRequestParams, ResourceResolveParams,
    ResourceResolveResult, ResourceWriteParams,
};
use crate::root::{
    AuthRequiredParams, AuthenticateParams, ListSessionsParams, ListSessionsResult,
    OtlpExportParams, ProgressParams, SessionAddedParams, SessionRemovedParams,
    SessionSummaryChangedParams,
};
use crate::session::{
    CreateSessionParams, DisposeSessionParams, ResolveSessionConfigParams,
    ResolveSessionConfigResult, SessionConfigCompletionsParams, SessionConfigCompletionsResult,
};
use crate::terminal::{CreateTerminalParams, DisposeTerminalParams};
use crate::wire::{DecodeError, Document, Limits, NamedShape, Node, Shape, Wire};

/// The parameters of a request, with the type of its result.
pub trait Command: Wire {
    /// Method name of the request.
    const METHOD: &'static str;
    /// Type of the result.
    type Result: Wire;
}

/// The result of a command without one: an explicit `null` (RPC-3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Null;

impl Wire for Null {
    fn decode(node: Node<'_>) -> Result<Self, DecodeError> {
        if node.is_null() {
            Ok(Null)
        } else {
            Err(DecodeError::expected("null", node))
        }
    }

    fn shape() -> Shape {
        Shape::Null
    }
}

impl Serialize for Null {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

/// A result without fields: `{}` (RPC-4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Wire)]
pub struct Empty {}

/// The error of a call that can't be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The method is unknown.
    #[error("unknown method `{0}`")]
    UnknownMethod(String),
    /// The parameters are invalid.
    #[error(transparent)]
    InvalidParams(#[from] DecodeError),
}

impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        let code = match error {
            CallError::UnknownMethod(_) => ErrorCode::MethodNotFound,
            CallError::InvalidParams(_) => ErrorCode::InvalidParams,
        };
        RpcError::new(code, error.to_string())
    }
}

macro_rules! methods {
    (
        $(#[$doc:meta])*
        pub enum $name:ident {
            $($method:literal => $variant:ident($params:ty),)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $(
                #[doc = concat!("`", $method, "`.")]
                $variant($params),
            )*
        }

        impl $name {
            /// Method names in the order of the table.
            pub const METHODS: &'static [&'static str] = &[$($method),*];

            /// Decodes a call according to its method.
            pub fn decode(call: &Call<'_>) -> Result<Self, CallError> {
                match &*call.method {
                    $($method => Ok($name::$variant(params(call)?)),)*
                    unknown => Err(CallError::UnknownMethod(unknown.chars().take(60).collect())),
                }
            }

            /// Returns the method name of the call.
            pub fn method(&self) -> &'static str {
                match self {
                    $($name::$variant(_) => $method,)*
                }
            }

            /// Returns the shapes of the parameters, by method.
            pub fn shapes() -> Vec<NamedShape> {
                vec![$(($method, <$params as Wire>::shape),)*]
            }
        }

        impl Serialize for $name {
            /// Encodes only the parameters, without the method.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($name::$variant(params) => params.serialize(serializer),)*
                }
            }
        }
    };
}

macro_rules! requests {
    (
        $(#[$doc:meta])*
        pub enum $name:ident {
            $($method:literal => $variant:ident($params:ty) -> $result:ty,)*
        }
    ) => {
        methods! {
            $(#[$doc])*
            pub enum $name {
                $($method => $variant($params),)*
            }
        }

        $(
            impl Command for $params {
                const METHOD: &'static str = $method;
                type Result = $result;
            }
        )*

        impl $name {
            /// Returns the shapes of the results, by method.
            pub fn result_shapes() -> Vec<NamedShape> {
                vec![$(($method, <$result as Wire>::shape),)*]
            }
        }
    };
}

/// Decodes the parameters. Absent parameters are decoded as an empty object, so that the error
/// names the missing field.
fn params<T: Wire>(call: &Call<'_>) -> Result<T, DecodeError> {
    match call.params {
        Some(params) => T::decode(params),
        None => {
            let empty = Document::parse("{}", Limits::default())
                .map_err(|error| DecodeError::new(error.to_string()))?;
            T::decode(empty.root())
        }
    }
}

requests! {
    /// A request of a client to the host.
    pub enum ClientRequest {
        "initialize" => Initialize(InitializeParams) -> InitializeResult,
        "ping" => Ping(PingParams) -> Null,
        "reconnect" => Reconnect(ReconnectRequest) -> ReconnectResponse,
        "subscribe" => Subscribe(SubscribeParams) -> SubscribeResult,
        "listSessions" => ListSessions(ListSessionsParams) -> ListSessionsResult,
        "createSession" => CreateSession(CreateSessionParams) -> Null,
        "disposeSession" => DisposeSession(DisposeSessionParams) -> Null,
        "resolveSessionConfig" => ResolveSessionConfig(ResolveSessionConfigParams) -> ResolveSessionConfigResult,
        "sessionConfigCompletions" => SessionConfigCompletions(SessionConfigCompletionsParams) -> SessionConfigCompletionsResult,
        "createChat" => CreateChat(CreateChatParams) -> Null,
        "disposeChat" => DisposeChat(DisposeChatParams) -> Null,
        "moveChat" => MoveChat(MoveChatParams) -> MoveChatResult,
        "fetchTurns" => FetchTurns(FetchTurnsParams) -> Empty,
        "completions" => Completions(CompletionsParams) -> CompletionsResult,
        "createTerminal" => CreateTerminal(CreateTerminalParams) -> Null,
        "disposeTerminal" => DisposeTerminal(DisposeTerminalParams) -> Null,
        "invokeChangesetOperation" => InvokeChangesetOperation(InvokeChangesetOperationParams) -> InvokeChangesetOperationResult,
        "authenticate" => Authenticate(AuthenticateParams) -> Empty,
        "resourceRead" => ResourceRead(ResourceReadParams) -> ResourceReadResult,
        "resourceWrite" => ResourceWrite(ResourceWriteParams) -> Empty,
        "resourceList" => ResourceList(ResourceListParams) -> ResourceListResult,
        "resourceCopy" => ResourceCopy(ResourceCopyParams) -> Empty,
        "resourceDelete" => ResourceDelete(ResourceDeleteParams) -> Empty,
        "resourceMove" => ResourceMove(ResourceMoveParams) -> Empty,
        "resourceResolve" => ResourceResolve(ResourceResolveParams) -> ResourceResolveResult,
        "resourceMkdir" => ResourceMkdir(ResourceMkdirParams) -> Empty,
        "resourceRequest" => ResourceRequest(ResourceRequestParams) -> Empty,
        "createResourceWatch" => CreateResourceWatch(CreateResourceWatchParams) -> CreateResourceWatchResult,
        "listAutomationTriggerDefinitions" => ListAutomationTriggerDefinitions(ListAutomationTriggerDefinitionsParams) -> ListAutomationTriggerDefinitionsResult,
        "runAutomation" => RunAutomation(RunAutomationParams) -> RunAutomationResult,
        "fetchAutomationRuns" => FetchAutomationRuns(FetchAutomationRunsParams) -> Empty,
    }
}

methods! {
    /// A notification of a client to the host.
    pub enum ClientNotification {
        "unsubscribe" => Unsubscribe(UnsubscribeParams),
        "dispatchAction" => DispatchAction(DispatchActionParams),
    }
}

methods! {
    /// A notification of the host to a client.
    pub enum HostNotification {
        "action" => Action(ReceivedEnvelope),
        "root/sessionAdded" => SessionAdded(Box<SessionAddedParams>),
        "root/sessionRemoved" => SessionRemoved(SessionRemovedParams),
        "root/sessionSummaryChanged" => SessionSummaryChanged(Box<SessionSummaryChangedParams>),
        "root/progress" => Progress(ProgressParams),
        "auth/required" => AuthRequired(Box<AuthRequiredParams>),
        "otlp/exportLogs" => OtlpExportLogs(OtlpExportParams),
        "otlp/exportTraces" => OtlpExportTraces(OtlpExportParams),
        "otlp/exportMetrics" => OtlpExportMetrics(OtlpExportParams),
    }
}

methods! {
    /// A request of the host to a client, for resources of the client. The results are the same
    /// as for the requests of a client (RES-1).
    pub enum HostRequest {
        "resourceRead" => ResourceRead(ResourceReadParams),
        "resourceWrite" => ResourceWrite(ResourceWriteParams),
        "resourceList" => ResourceList(ResourceListParams),
        "resourceCopy" => ResourceCopy(ResourceCopyParams),
        "resourceDelete" => ResourceDelete(ResourceDeleteParams),
        "resourceMove" => ResourceMove(ResourceMoveParams),
        "resourceResolve" => ResourceResolve(ResourceResolveParams),
        "resourceMkdir" => ResourceMkdir(ResourceMkdirParams),
        "resourceRequest" => ResourceRequest(ResourceRequestParams),
        "createResourceWatch" => CreateResourceWatch(CreateResourceWatchParams),
    }
}
