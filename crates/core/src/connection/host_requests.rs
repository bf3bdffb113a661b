//! Sends requests of the host to clients, and delivers their responses.
//!
//! Some resources can only be read by a client. The client serves them with the same
//! requests that it reads files of the host with (RES-1). Every request ends: with a
//! response, with a timeout, or with its connection (RPC-13).

use std::collections::BTreeMap;
use std::sync::Arc;

use agenthost_protocol::number::Millis;
use agenthost_protocol::resource::{
    ResourceListParams, ResourceReadParams, ResourceReadResult, ResourceRequestParams,
};
use agenthost_protocol::rpc::{Empty, ErrorCode, HostRequest, RequestId, RpcError};
use agenthost_protocol::uri::RootChannel;
use agenthost_protocol::wire;
use agenthost_protocol::wire::{Json, Wire};
use serde::{Deserialize, Serialize};

use crate::chat::turn::pending_prompt::{AttachmentSlot, MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS};
use crate::customization::driver::{CustomizationCommand, QueryId, ResourceQuery, ResourceReply};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::input::{ConnectionId, Input};
use crate::resource::access_requests::AccessRequest;

/// Timeout of a request to a client. A turn may wait for the response, so it is short.
const HOST_REQUEST_TIMEOUT: Millis = Millis(10_000);

/// Limit for the open requests of one connection. A further request fails with
/// [`ClientReadError::Busy`].
const MAX_OPEN_HOST_REQUESTS: usize = 32;

/// Limit for the length of a client's error message that is passed on.
const MAX_CLIENT_ERROR_CHARS: usize = 200;

/// The undecoded response of a client. Its type depends on the request.
#[derive(Clone)]
pub struct RawResponse(pub Json);

/// Hides the response, which may contain the content of a file.
impl std::fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RawResponse(…)")
    }
}

/// An error that prevented a read from a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ClientReadError {
    /// No client that could respond is connected.
    #[error("the client that sent it is not connected")]
    Absent,
    /// The connection has reached the limit of open requests.
    #[error("the client has too many open requests")]
    Busy,
    /// The request has timed out.
    #[error("the client did not respond in time")]
    TimedOut,
    /// The connection was closed before the response.
    #[error("the client disconnected before it responded")]
    Disconnected,
    /// The client does not implement the request.
    #[error("the client does not serve resources")]
    Unsupported,
    /// The client responded with this error.
    #[error("the client reports: {0}")]
    Refused(String),
    /// The response can't be decoded.
    #[error("the client's response is malformed")]
    Malformed,
    /// The content exceeds the size limit.
    #[error("it is larger than {} KiB", MAX_ATTACHMENT_BYTES / 1024)]
    TooLarge,
    /// The contents of a message together exceed the size limit.
    #[error("the attachments of the message are too large")]
    TotalTooLarge,
    /// The message has more attachments than are read.
    #[error("only the first {MAX_ATTACHMENTS} attachments of the message are read")]
    TooMany,
}

/// Requests without a response so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenRequests {
    /// Requests of the host to clients.
    pub(super) host: HostRequests,
    /// Requests of clients for access to files.
    pub(crate) access: Vec<AccessRequest>,
}

/// Requests to clients that have no response yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostRequests {
    last_id: u64,
    open: BTreeMap<(ConnectionId, RequestId), OpenHostRequest>,
}

/// A request that was sent to a client.
#[derive(Debug, Clone)]
struct OpenHostRequest {
    query: ResourceQuery,
    step: ReadStep,
    /// Other connections of the client to retry on, the best one last.
    fallback_connections: Vec<ConnectionId>,
    /// Receiver of the response.
    origin: RequestOrigin,
}

/// The component that needs the resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// A turn whose message has the attachment.
    Turn(AttachmentSlot),
    /// The customization driver, with the id of its query.
    Customization(QueryId),
}

/// Progress of a read. Access is requested at most once (RES-18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadStep {
    Read,
    RequestAccess,
    ReadAgain,
}

impl Host {
    /// Requests a resource from a client, on the last of these connections.
    pub(crate) fn request_from(
        &mut self,
        mut connections: Vec<ConnectionId>,
        query: ResourceQuery,
        origin: RequestOrigin,
        out: &mut Effects,
    ) {
        let Some(connection) = connections.pop() else {
            self.deliver_reply(origin, Err(ClientReadError::Absent), out);
            return;
        };
        let question = OpenHostRequest {
            query,
            step: ReadStep::Read,
            fallback_connections: connections,
            origin,
        };
        self.send_host_request(connection, question, out);
    }

    /// Handles the response of a client. A response without an open request is ignored.
    pub(crate) fn handle_response(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        answer: Result<RawResponse, RpcError>,
        out: &mut Effects,
    ) {
        let Some(mut question) = self.requests.host.open.remove(&(connection, id)) else {
            return;
        };
        match (question.step, answer) {
            (ReadStep::Read, Err(error)) if error.code == ErrorCode::PermissionDenied => {
                question.step = ReadStep::RequestAccess;
                self.send_host_request(connection, question, out);
            }
            (_, Err(error)) => self.try_next_connection(question, to_read_error(&error), out),
            (ReadStep::RequestAccess, Ok(answer)) => match decode_response::<Empty>(&answer) {
                Ok(Empty {}) => {
                    question.step = ReadStep::ReadAgain;
                    self.send_host_request(connection, question, out);
                }
                Err(unread) => self.try_next_connection(question, unread, out),
            },
            (ReadStep::Read | ReadStep::ReadAgain, Ok(answer)) => {
                match decode_reply(&question.query, &answer) {
                    Ok(heard) => self.deliver_reply(question.origin, Ok(heard), out),
                    Err(unread) => self.try_next_connection(question, unread, out),
                }
            }
        }
    }

    /// Fails a request that has timed out. There is no retry on another connection, because
    /// the agent is waiting.
    pub(crate) fn expire_request(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        out: &mut Effects,
    ) {
        if let Some(question) = self.requests.host.open.remove(&(connection, id)) {
            self.deliver_reply(question.origin, Err(ClientReadError::TimedOut), out);
        }
    }

    /// Fails the open requests of a closed connection, or retries them on another one. Must
    /// be called after the connection was removed.
    pub(crate) fn fail_requests_of(&mut self, connection: ConnectionId, out: &mut Effects) {
        let open = &mut self.requests.host.open;
        let gone = open.extract_if(.., |(asked, _), _| *asked == connection);
        let gone: Vec<_> = gone.map(|(_, question)| question).collect();
        for question in gone {
            self.try_next_connection(question, ClientReadError::Disconnected, out);
        }
    }

    /// Retries a request on the next connection of the same client, or delivers the error.
    fn try_next_connection(
        &mut self,
        mut question: OpenHostRequest,
        unread: ClientReadError,
        out: &mut Effects,
    ) {
        let here = &self.clients.connections;
        question
            .fallback_connections
            .retain(|other| here.contains_key(other));
        match question.fallback_connections.pop() {
            Some(connection) => {
                question.step = ReadStep::Read;
                self.send_host_request(connection, question, out);
            }
            None => self.deliver_reply(question.origin, Err(unread), out),
        }
    }

    /// Delivers the reply to the turn or driver that sent the request.
    fn deliver_reply(
        &mut self,
        origin: RequestOrigin,
        heard: Result<ResourceReply, ClientReadError>,
        out: &mut Effects,
    ) {
        match origin {
            RequestOrigin::Turn(slot) => {
                let read = heard.and_then(|heard| match heard {
                    ResourceReply::Read(read) => Ok(read),
                    ResourceReply::Listed(_) => Err(ClientReadError::Malformed),
                });
                self.attachment_read(slot, read, out);
            }
            RequestOrigin::Customization(ticket) => {
                let heard = CustomizationCommand::QueryAnswered {
                    id: ticket,
                    reply: heard,
                };
                out.push(Effect::Customization(Box::new(heard)));
            }
        }
    }

    fn send_host_request(
        &mut self,
        connection: ConnectionId,
        question: OpenHostRequest,
        out: &mut Effects,
    ) {
        let of_it = |(asked, _): &&(ConnectionId, RequestId)| *asked == connection;
        if self.requests.host.open.keys().filter(of_it).count() >= MAX_OPEN_HOST_REQUESTS {
            self.try_next_connection(question, ClientReadError::Busy, out);
            return;
        }
        // The id must be a number: the official client treats a request with any other id
        // as a notification (RPC-2).
        self.requests.host.last_id += 1;
        let id = RequestId::from(self.requests.host.last_id);
        let request = match (question.step, &question.query) {
            (ReadStep::Read | ReadStep::ReadAgain, ResourceQuery::Read(uri)) => {
                HostRequest::ResourceRead(ResourceReadParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    encoding: None,
                    meta: None,
                })
            }
            (ReadStep::Read | ReadStep::ReadAgain, ResourceQuery::List(uri)) => {
                HostRequest::ResourceList(ResourceListParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    meta: None,
                })
            }
            (ReadStep::RequestAccess, ResourceQuery::Read(uri) | ResourceQuery::List(uri)) => {
                HostRequest::ResourceRequest(ResourceRequestParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    read: Some(true),
                    write: None,
                    meta: None,
                })
            }
        };
        out.push(Effect::SendRequest {
            connection,
            id: id.clone(),
            request: Box::new(request),
        });
        let unanswered = Input::HostRequestTimedOut {
            connection,
            id: id.clone(),
        };
        out.schedule(HOST_REQUEST_TIMEOUT, unanswered);
        self.requests.host.open.insert((connection, id), question);
    }
}

fn to_read_error(error: &RpcError) -> ClientReadError {
    // Clients need not implement any request of the host (RPC-14).
    if error.code == ErrorCode::MethodNotFound {
        return ClientReadError::Unsupported;
    }
    ClientReadError::Refused(error.message.chars().take(MAX_CLIENT_ERROR_CHARS).collect())
}

fn decode_reply(
    wanted: &ResourceQuery,
    answer: &RawResponse,
) -> Result<ResourceReply, ClientReadError> {
    match wanted {
        ResourceQuery::Read(_) => Ok(ResourceReply::Read(Arc::new(decode_read_result(answer)?))),
        ResourceQuery::List(_) => Ok(ResourceReply::Listed(decode_response(answer)?)),
    }
}

/// Decodes the result of a read. Content that exceeds the limit in any encoding is rejected
/// before it is copied.
fn decode_read_result(answer: &RawResponse) -> Result<ResourceReadResult, ClientReadError> {
    let data = answer.0.get("data").and_then(Json::as_str);
    if data.is_some_and(|data| data.len() > 2 * MAX_ATTACHMENT_BYTES) {
        return Err(ClientReadError::TooLarge);
    }
    decode_response(answer)
}

fn decode_response<T: Wire>(answer: &RawResponse) -> Result<T, ClientReadError> {
    wire::from_str(&answer.0.to_string()).map_err(|_| ClientReadError::Malformed)
}
