//! What a connection says, made into inputs.

use agenthost_core::{
    ClientMessage, ConnectionId, Input, McpClientMessage, Principal, RawResponse, is_server_channel,
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

/// Something for the loop.
#[derive(Debug)]
pub(crate) enum LoopEvent {
    /// A connection was let in.
    Connected {
        connection: ConnectionId,
        principal: Principal,
        outbox: OutboxSender,
        /// To be told when it is known that it speaks the host's version.
        version_flag: CurrentVersionFlag,
    },
    /// A peer said something. It keeps its place until the loop has dealt
    /// with it.
    MessageReceived {
        connection: ConnectionId,
        message: ReceivedMessage,
        permit: OwnedSemaphorePermit,
        /// How long it was.
        bytes: usize,
    },
    /// A peer says nothing more. It gets what is still for it.
    ReadEnded {
        connection: ConnectionId,
        reason: CloseReason,
    },
    /// Something else happened.
    Input(Input),
}

/// What a peer said.
#[derive(Debug)]
pub(crate) enum ReceivedMessage {
    /// In the host's version, and it was read.
    Decoded(ClientMessage),
    /// Which version it is in is not known, or it is an older one.
    Raw(Utf8Bytes),
}

/// Decodes a message. `None` if it needs nothing done: a notification that
/// nobody knows (RPC-11).
pub(crate) fn decode_message(text: &str, limits: Limits) -> Option<ClientMessage> {
    let document = match Document::parse(text, limits) {
        Ok(document) => document,
        Err(error) => {
            if let Some(id) = salvage::salvage_response_id(text) {
                tracing::debug!(%error, "an answer can't be read");
                // Nothing is what no question is answered with.
                let nothing = RawResponse(Json::Null);
                return Some(ClientMessage::Response(id, Box::new(Ok(nothing))));
            }
            let error = RpcError::new(ErrorCode::ParseError, error.to_string());
            return Some(ClientMessage::Invalid(RequestId::Null, error));
        }
    };
    match rpc::Message::decode(&document) {
        // An answer is never answered, however wrong it is.
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
                // There is no way to answer a notification.
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

/// What is for a server of tools, in the words of MCP: it names the channel of
/// one among its parameters, or beside them. What is about the channel
/// itself is for the host.
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

/// Whether a message that can't be read was meant as an answer.
fn is_response(message: Node<'_>) -> bool {
    let has = |name| matches!(message.get(name), Ok(Some(_)));
    !has("method") && (has("result") || has("error"))
}
