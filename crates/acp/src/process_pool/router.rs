//! Routes each message of an agent process to the connection that it is for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::connection::AgentCall;
use crate::transport::{AgentCallError, AgentMessage, JsonParams, session_id};

/// The capacity of a connection's message queue. A full queue blocks all connections of the
/// process.
const CONNECTION_QUEUE: usize = 64;

/// The maximum number of buffered updates for unknown sessions. The oldest are dropped first.
const MAX_EARLY_UPDATES: usize = 500;

/// The id of a connection within one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AgentConnectionId(u64);

/// The receiver of the messages for one connection.
pub(crate) type AgentMessages = mpsc::Receiver<AgentMessage<AgentCall>>;

type AgentMessageSender = mpsc::Sender<AgentMessage<AgentCall>>;

/// A request together with the connection that sent it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TaggedCall {
    pub(crate) connection: AgentConnectionId,
    pub(crate) call: AgentCall,
}

/// The result of claiming an agent session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionClaim {
    /// The connection that claimed the session owns it.
    Granted,
    /// Another connection owns the session.
    Taken,
}

/// The connections to a process and the owners of its agent sessions.
#[derive(Debug, Default)]
pub(crate) struct RoutingTable {
    connections: BTreeMap<AgentConnectionId, AgentMessageSender>,
    last_connection: u64,
    /// The connection that owns each agent session.
    sessions: BTreeMap<String, AgentConnectionId>,
    /// Updates of unknown sessions: agents send updates of a session before the response with
    /// its id.
    early_updates: Vec<(String, JsonParams)>,
    /// The agent's response to `initialize`.
    pub(super) initialize_result: Option<Value>,
    /// The reason why the process was ended, or an empty string.
    pub(super) end_reason: Option<String>,
}

/// Routes messages until the agent's stream ends.
pub(super) async fn route_messages(
    mut incoming: mpsc::Receiver<AgentMessage<TaggedCall>>,
    routing: Arc<Mutex<RoutingTable>>,
) {
    while let Some(message) = incoming.recv().await {
        if let AgentMessage::Closed(reason) = message {
            return close_connections(reason, &routing).await;
        }
        let routed = lock(&routing).route_message(message);
        if let Some((sender, message)) = routed {
            sender.send(message).await.ignore_closed();
        }
    }
}

/// Sends `Closed` to all connections after the agent's stream has ended.
async fn close_connections(reason: Option<String>, routing: &Mutex<RoutingTable>) {
    let (connections, reason) = {
        let mut routing = lock(routing);
        let end_reason = routing.end_reason.get_or_insert_default().clone();
        let end_reason = (!end_reason.is_empty()).then_some(end_reason);
        (routing.connections.clone(), end_reason.or(reason))
    };
    for sender in connections.into_values() {
        let closed = AgentMessage::Closed(reason.clone());
        sender.send(closed).await.ignore_closed();
    }
}

/// A message together with the queue of its connection.
type RoutedMessage = (AgentMessageSender, AgentMessage<AgentCall>);

impl RoutingTable {
    /// Adds a connection; `None` if the process has exited or is about to. The first message is
    /// the stored `initialize` response, if there is one.
    pub(super) fn add_connection(&mut self) -> Option<(AgentConnectionId, AgentMessages)> {
        if self.end_reason.is_some() {
            return None;
        }
        let (sender, messages) = mpsc::channel(CONNECTION_QUEUE);
        if let Some(initialized) = self.initialize_result.clone() {
            let response = AgentMessage::Response(AgentCall::Initialize, Ok(initialized));
            // The queue is new, so it has capacity.
            sender.try_send(response).ignore_infallible();
        }
        self.last_connection += 1;
        let id = AgentConnectionId(self.last_connection);
        self.connections.insert(id, sender);
        Some((id, messages))
    }

    /// Removes a connection. Returns its agent sessions if the process continues for other
    /// connections, so that the caller closes them.
    pub(super) fn remove_connection(&mut self, connection: AgentConnectionId) -> Vec<String> {
        self.connections.remove(&connection);
        let (own, others): (BTreeMap<_, _>, _) = std::mem::take(&mut self.sessions)
            .into_iter()
            .partition(|(_, owner)| *owner == connection);
        self.sessions = others;
        if self.connections.is_empty() {
            // No connection may join a process that is about to end.
            self.end_reason.get_or_insert_default();
            return Vec::new();
        }
        own.into_keys().collect()
    }

    /// Routes messages about an agent session to this connection, unless another connection
    /// owns it.
    pub(crate) fn claim_session(
        &mut self,
        connection: AgentConnectionId,
        session: &str,
    ) -> SessionClaim {
        let owner = *self
            .sessions
            .entry(session.to_owned())
            .or_insert(connection);
        if owner != connection {
            return SessionClaim::Taken;
        }
        // Buffered updates of an earlier use do not belong to this one.
        drop(self.take_early_updates(session));
        SessionClaim::Granted
    }

    /// Removes the owner of an agent session.
    pub(crate) fn release_session(&mut self, connection: AgentConnectionId, session: &str) {
        if self.sessions.get(session) == Some(&connection) {
            self.sessions.remove(session);
        }
    }

    /// Returns and removes the buffered updates of a session.
    pub(crate) fn take_early_updates(&mut self, session: &str) -> Vec<JsonParams> {
        let (found, others): (Vec<_>, _) = std::mem::take(&mut self.early_updates)
            .into_iter()
            .partition(|(id, _)| id == session);
        self.early_updates = others;
        found.into_iter().map(|(_, params)| params).collect()
    }

    /// Buffers an update of a session that has no owner yet.
    fn buffer_early_update(&mut self, params: JsonParams) {
        let Some(id) = session_id(&params).map(str::to_owned) else {
            return;
        };
        if self.early_updates.len() >= MAX_EARLY_UPDATES {
            self.early_updates.remove(0);
        }
        self.early_updates.push((id, params));
    }

    /// Returns the message and the queue of the connection that it is for.
    fn route_message(&mut self, message: AgentMessage<TaggedCall>) -> Option<RoutedMessage> {
        match message {
            AgentMessage::Response(tagged, response) => self.route_response(tagged, response),
            AgentMessage::Update(params) => {
                let Some(sender) = self.owner_of(&params) else {
                    self.buffer_early_update(params);
                    return None;
                };
                Some((sender, AgentMessage::Update(params)))
            }
            // A request without a recipient is dropped, and its responder then sends an error.
            AgentMessage::Service(request, params, responder) => {
                let sender = self.recipient_of(&params)?;
                Some((sender, AgentMessage::Service(request, params, responder)))
            }
            AgentMessage::Permission(params, responder) => {
                let sender = self.recipient_of(&params)?;
                Some((sender, AgentMessage::Permission(params, responder)))
            }
            AgentMessage::Elicitation(params, responder) => {
                let sender = self.recipient_of(&params)?;
                Some((sender, AgentMessage::Elicitation(params, responder)))
            }
            AgentMessage::Closed(_) => None,
        }
    }

    fn route_response(
        &mut self,
        tagged: TaggedCall,
        response: Result<Value, AgentCallError>,
    ) -> Option<RoutedMessage> {
        let TaggedCall { connection, call } = tagged;
        let sender = self.connections.get(&connection)?.clone();
        if let Ok(result) = &response {
            match &call {
                AgentCall::Initialize => self.initialize_result = Some(result.clone()),
                AgentCall::Open(..) | AgentCall::Fork(..) => {
                    let id = result.get("sessionId").and_then(Value::as_str);
                    let id = id.unwrap_or_default();
                    if self.sessions.contains_key(id) {
                        let rejected = Err(AgentCallError::Rejected {
                            code: 0,
                            message: "the agent gave the same id to two sessions".to_owned(),
                        });
                        return Some((sender, AgentMessage::Response(call, rejected)));
                    }
                    self.sessions.insert(id.to_owned(), connection);
                }
                _ => {}
            }
        }
        Some((sender, AgentMessage::Response(call, response)))
    }

    /// Returns the queue of the connection that owns the session of a message.
    fn owner_of(&self, params: &JsonParams) -> Option<AgentMessageSender> {
        let owner = self.sessions.get(session_id(params)?)?;
        self.connections.get(owner).cloned()
    }

    /// Returns the queue of the connection that a request is for. A single connection receives
    /// all requests.
    fn recipient_of(&self, params: &JsonParams) -> Option<AgentMessageSender> {
        let owner = session_id(params).and_then(|id| self.sessions.get(id));
        let sender = match owner {
            Some(owner) => self.connections.get(owner),
            None if self.connections.len() == 1 => self.connections.values().next(),
            None => None,
        };
        sender.cloned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;

    fn update(session: &str, number: u32) -> AgentMessage<TaggedCall> {
        let params = json!({"sessionId": session, "update": number});
        AgentMessage::Update(params.as_object().unwrap().clone())
    }

    fn opened(connection: AgentConnectionId, session: &str) -> AgentMessage<TaggedCall> {
        let call = AgentCall::Open(None, Instant::now());
        let result = Ok(json!({"sessionId": session}));
        AgentMessage::Response(TaggedCall { connection, call }, result)
    }

    fn early_updates(routing: &mut RoutingTable, session: &str) -> Vec<Value> {
        let params = routing.take_early_updates(session);
        params
            .iter()
            .map(|params| params["update"].clone())
            .collect()
    }

    #[test]
    fn updates_are_buffered_until_their_session_is_opened() {
        let mut routing = RoutingTable::default();
        let (one, _messages) = routing.add_connection().unwrap();
        let (_two, _messages) = routing.add_connection().unwrap();
        for message in [update("a", 1), update("b", 2), update("a", 3)] {
            assert!(routing.route_message(message).is_none());
        }
        assert!(routing.route_message(opened(one, "a")).is_some());
        assert!(routing.route_message(update("a", 4)).is_some());
        assert_eq!(early_updates(&mut routing, "a"), [1, 3]);
        assert_eq!(early_updates(&mut routing, "a"), [0; 0]);
        assert_eq!(early_updates(&mut routing, "b"), [2]);
    }

    #[test]
    fn claiming_a_session_discards_its_early_updates() {
        let mut routing = RoutingTable::default();
        let (one, _messages) = routing.add_connection().unwrap();
        let (two, _messages) = routing.add_connection().unwrap();
        assert!(routing.route_message(update("a", 1)).is_none());
        assert_eq!(routing.claim_session(one, "a"), SessionClaim::Granted);
        assert_eq!(routing.claim_session(two, "a"), SessionClaim::Taken);
        assert_eq!(early_updates(&mut routing, "a"), [0; 0]);
        routing.release_session(two, "a");
        assert_eq!(routing.claim_session(two, "a"), SessionClaim::Taken);
        routing.release_session(one, "a");
        assert_eq!(routing.claim_session(two, "a"), SessionClaim::Granted);
    }
}
