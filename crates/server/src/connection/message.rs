//! Events for the loop, and the decoding of client messages.

use agenthost_core::{
    ClientMessage, ConnectionId, Input, McpClientMessage, PeerIdentity, RawResponse,
    is_server_channel,
};
use agenthost_protocol::rpc;
use agenthost_protocol::rpc::{
    Call, CallError, ClientNotification, ClientRequest, ErrorCode, RequestId, RpcError,
};
use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::{Document, Json, Limits, Node, Object};
use axum::extract::ws::Utf8Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::connection::salvage;
use crate::delivery::outbox::{CloseReason, OutboxSender};
use crate::legacy::CurrentVersionFlag;
use crate::server::agent_catalog::AgentList;

/// An event in the input queue of the loop.
#[derive(Debug)]
pub(crate) enum LoopEvent {
    /// A client was authenticated and connected.
    Connected {
        connection: ConnectionId,
        peer: PeerIdentity,
        outbox: OutboxSender,
        /// Set when the client is known to speak the current version.
        version_flag: CurrentVersionFlag,
    },
    /// A client sent a message. The permit counts against the limit of the connection until the
    /// loop has handled the message.
    MessageReceived {
        connection: ConnectionId,
        message: ReceivedMessage,
        permit: OwnedSemaphorePermit,
        /// The length of the message text.
        bytes: usize,
    },
    /// The client sends no more messages. It still gets its responses.
    ReadEnded {
        connection: ConnectionId,
        reason: CloseReason,
    },
    /// Agents were installed, removed or configured.
    AgentsReplaced(AgentList),
    /// An input that does not come from a connection, or the end of one.
    Input(Input),
    /// An input of the runner, with its number.
    RunnerInput { number: u64, input: Input },
}

/// A message of a client, decoded or as text.
#[derive(Debug)]
pub(crate) enum ReceivedMessage {
    /// A message in the current version.
    Decoded(ClientMessage),
    /// A message in a legacy or still unknown version.
    Raw(Utf8Bytes),
}

/// Decodes a message. Returns `None` if it can be ignored: a notification with an unknown
/// method (RPC-11) or with invalid parameters.
pub(crate) fn decode_message(text: &str, limits: Limits) -> Option<ClientMessage> {
    let document = match Document::parse(text, limits) {
        Ok(document) => document,
        Err(error) => {
            if let Some(id) = salvage::salvage_response_id(text) {
                tracing::debug!(%error, "failed to decode a response");
                // `null` is not a valid result of any host request, so the pending request
                // fails.
                let nothing = RawResponse(Json::Null);
                return Some(ClientMessage::Response(id, Box::new(Ok(nothing))));
            }
            let error = RpcError::new(ErrorCode::ParseError, error.to_string());
            return Some(ClientMessage::Invalid(RequestId::Null, error));
        }
    };
    match rpc::Message::decode(&document) {
        // A response never gets a response, even if it is invalid.
        Err(invalid) if is_response(document.root()) => {
            let id = invalid.id.clone();
            Some(ClientMessage::Response(id, Box::new(Err(invalid.into()))))
        }
        Err(invalid) => Some(ClientMessage::Invalid(invalid.id.clone(), invalid.into())),
        Ok(rpc::Message::Request(id, call))
            if let Some(message) = decode_mcp_message(&document, &call) =>
        {
            Some(ClientMessage::ToMcpServer(Some(id), Box::new(message)))
        }
        Ok(rpc::Message::Notification(call))
            if let Some(message) = decode_mcp_message(&document, &call) =>
        {
            Some(ClientMessage::ToMcpServer(None, Box::new(message)))
        }
        Ok(rpc::Message::Request(id, call)) => Some(match ClientRequest::decode(&call) {
            Ok(request) => ClientMessage::Request(id, Box::new(request)),
            Err(error) => ClientMessage::Invalid(id, error.into()),
        }),
        Ok(rpc::Message::Notification(call)) => match ClientNotification::decode(&call) {
            Ok(notification) => Some(ClientMessage::Notification(Box::new(notification))),
            Err(CallError::UnknownMethod(_)) => None,
            Err(CallError::InvalidParams(error)) => {
                // A notification has no response that could report the error.
                tracing::debug!(method = %call.method, %error, "notification ignored");
                None
            }
        },
        Ok(rpc::Message::Response(response)) => {
            let answer = response.outcome.map(|result| RawResponse(result.to_json()));
            Some(ClientMessage::Response(response.id, Box::new(answer)))
        }
    }
}

/// Decodes a message for an MCP server. It names the `mcp:` channel of the server in its
/// parameters or beside them. Methods of AHP are for the host itself, even with such a
/// channel.
fn decode_mcp_message(document: &Document<'_>, call: &Call<'_>) -> Option<McpClientMessage> {
    let own = ClientRequest::METHODS
        .iter()
        .chain(ClientNotification::METHODS);
    if own.copied().any(|method| method == call.method) {
        return None;
    }
    let params = call.params.map(|params| params.to_json());
    let inside = params
        .as_ref()
        .and_then(|params| params.get("channel")?.as_str());
    let channel = match inside {
        Some(channel) => channel.to_owned(),
        None => {
            let beside = document.root().get("channel").ok()??.to_json();
            beside.as_str()?.to_owned()
        }
    };
    if !is_server_channel(&channel) {
        return None;
    }
    let mut params = match params {
        Some(Json::Object(params)) => params,
        _ => Object::default(),
    };
    params.shift_remove("channel");
    Some(McpClientMessage {
        channel: Uri::from(channel),
        method: call.method.clone().into_owned(),
        params,
    })
}

/// Returns `true` if an invalid message was meant as a response.
fn is_response(message: Node<'_>) -> bool {
    let has = |name| matches!(message.get(name), Ok(Some(_)));
    !has("method") && (has("result") || has("error"))
}
