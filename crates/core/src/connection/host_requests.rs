//! What the host asks its clients, and what comes of it.
//!
//! A client has things that only it can read, and serves them by the same
//! requests that it reads files of the host with (RES-1). Every question ends:
//! with an answer, when its time is over, or with its connection (RPC-13).

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

use crate::chat::turn::pending_prompt::{AttachmentSlot, MAX_ATTACHMENT_BYTES, MAX_ATTACHMENTS};
use crate::customization::driver::{CustomizationCommand, QueryId, ResourceQuery, ResourceReply};
use crate::host::Host;
use crate::host::effect::{Effect, Effects};
use crate::host::input::{ConnectionId, Input};
use crate::resource::access_requests::AccessRequest;

/// How long a client may take to answer.
const HOST_REQUEST_TIMEOUT: Millis = Millis(10_000);

/// Most questions to one connection that are open. Whoever wants to ask one
/// more is told that the client is busy.
const MAX_OPEN_HOST_REQUESTS: usize = 32;

/// The longest that a client's words are passed on.
const MAX_CLIENT_ERROR_CHARS: usize = 200;

/// What a client answered. What it has to look like depends on what it was
/// asked, so nobody has looked at it yet.
#[derive(Clone)]
pub struct RawResponse(pub Json);

/// Shows nothing of it: it may be what is in a file.
impl std::fmt::Debug for RawResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RawAnswer(…)")
    }
}

/// Why something could not be read from a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientReadError {
    /// No client that could answer is connected.
    #[error("the client that sent it is not connected")]
    Absent,
    /// As many requests wait for the client as may.
    #[error("the client has too much to answer already")]
    Busy,
    /// The client took too long.
    #[error("the client did not answer in time")]
    TimedOut,
    /// The connection ended first.
    #[error("the client left before it answered")]
    Disconnected,
    /// The client does not know the request.
    #[error("the client does not serve what it attaches")]
    Unsupported,
    /// The client answered with this error.
    #[error("the client says: {0}")]
    Refused(String),
    /// The answer can't be decoded.
    #[error("what the client answered makes no sense")]
    Malformed,
    /// The content exceeds the limit.
    #[error("it is larger than {} KiB", MAX_ATTACHMENT_BYTES / 1024)]
    TooLarge,
    /// All contents of a message together exceed the limit.
    #[error("too much is attached to the message")]
    TotalTooLarge,
    /// More contents are attached than are read.
    #[error("of all that is attached to the message, only the first {MAX_ATTACHMENTS} are read")]
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

/// What clients were asked and have not answered yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostRequests {
    last_id: u64,
    open: BTreeMap<(ConnectionId, RequestId), OpenHostRequest>,
}

/// Something that a client was asked.
#[derive(Debug, Clone)]
struct OpenHostRequest {
    query: ResourceQuery,
    step: ReadStep,
    /// Other connections of the client that may know, the best one last.
    fallback_connections: Vec<ConnectionId>,
    /// Where the answer goes.
    origin: RequestOrigin,
}

/// Who wants to know something of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestOrigin {
    /// A turn whose message refers to it.
    Turn(AttachmentSlot),
    /// Whoever reads customizations.
    Customization(QueryId),
}

/// How far a question has got. Access is asked for once (RES-18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadStep {
    Read,
    RequestAccess,
    ReadAgain,
}

impl Host {
    /// Asks a client for something, by the last of these connections that can.
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

    /// A client answered something. If nobody waits for it, nothing happens.
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

    /// A client had time to answer. One that is silent is not asked again, nor
    /// is anybody in its place: the agent waits.
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

    /// Who is gone answers nothing. Comes after the connection is forgotten.
    pub(crate) fn fail_requests_of(&mut self, connection: ConnectionId, out: &mut Effects) {
        let open = &mut self.requests.host.open;
        let gone = open.extract_if(.., |(asked, _), _| *asked == connection);
        let gone: Vec<_> = gone.map(|(_, question)| question).collect();
        for question in gone {
            self.try_next_connection(question, ClientReadError::Disconnected, out);
        }
    }

    /// Goes on with the next connection of the same client, if there is one.
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

    /// Tells whoever asked.
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
        // A number: the official client takes a request with any other id for
        // a notification (RPC-2).
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
    // A client that serves nothing is nothing special (RPC-14).
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

/// What a client says is in a resource. Of what is too large in any case, not
/// more is made than was received.
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
