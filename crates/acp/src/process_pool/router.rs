//! Who hears what an agent sends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use agenthost_stdx::result::IgnoreResult;
use agenthost_stdx::sync::lock;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::connection::AgentCall;
use crate::transport::{AgentCallError, AgentMessage, JsonParams};

/// Updates that wait for the session they belong to. When there are more, the
/// oldest are forgotten.
const MAX_EARLY_UPDATES: usize = 500;

/// What was asked, and by which line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaggedCall {
    pub(super) lease: u64,
    pub(super) call: AgentCall,
}

/// Who hears what.
#[derive(Debug, Default)]
pub(super) struct RoutingTable {
    pub(super) leases: BTreeMap<u64, mpsc::Sender<AgentMessage<AgentCall>>>,
    pub(super) next_lease: u64,
    /// The line of each session of the agent.
    pub(super) sessions: BTreeMap<String, u64>,
    /// Updates of sessions that nobody knows yet.
    pub(super) early_updates: Vec<(String, JsonParams)>,
    /// What the agent said it can do.
    pub(super) initialize_result: Option<Value>,
    /// Why it was ended.
    pub(super) end_reason: Option<String>,
}

pub(super) fn lock_routing(routes: &Mutex<RoutingTable>) -> MutexGuard<'_, RoutingTable> {
    lock(routes)
}

/// Tells each line what it has to hear, until there is nothing more.
pub(super) async fn route_messages(
    mut incoming: mpsc::Receiver<AgentMessage<TaggedCall>>,
    routes: Arc<Mutex<RoutingTable>>,
) {
    while let Some(incoming) = incoming.recv().await {
        if let AgentMessage::Closed(reason) = incoming {
            return close_leases(reason, &routes).await;
        }
        let heard = lock_routing(&routes).route_message(incoming);
        for (line, heard) in heard {
            line.send(heard).await.ignore_closed();
        }
    }
}

/// The agent is gone: all have to know.
async fn close_leases(reason: Option<String>, routes: &Mutex<RoutingTable>) {
    let (lines, reason) = {
        let mut routes = lock_routing(routes);
        let ended = routes.end_reason.get_or_insert_default().clone();
        let ended = (!ended.is_empty()).then_some(ended);
        (routes.leases.clone(), ended.or(reason))
    };
    for line in lines.into_values() {
        let closed = AgentMessage::Closed(reason.clone());
        line.send(closed).await.ignore_closed();
    }
}

/// Something for a line.
type RoutedMessage = (
    mpsc::Sender<AgentMessage<AgentCall>>,
    AgentMessage<AgentCall>,
);

impl RoutingTable {
    /// Finds out whom a message is for.
    fn route_message(&mut self, incoming: AgentMessage<TaggedCall>) -> Vec<RoutedMessage> {
        match incoming {
            AgentMessage::Response(marked, answer) => self.route_response(marked, answer),
            AgentMessage::Update(params) => {
                let line = self.lease_of(&params);
                let early = line.is_none().then(|| params.clone());
                if let Some((id, early)) =
                    early.and_then(|early| Some((session_id(&early)?, early)))
                {
                    if self.early_updates.len() >= MAX_EARLY_UPDATES {
                        self.early_updates.remove(0);
                    }
                    self.early_updates.push((id, early));
                }
                line.map(|line| (line, AgentMessage::Update(params)))
                    .into_iter()
                    .collect()
            }
            AgentMessage::Service(request, params, reply) => {
                let line = self.lease_of(&params);
                let heard = |line| (line, AgentMessage::Service(request, params, reply));
                line.map(heard).into_iter().collect()
            }
            // Dropped, it is answered with an error.
            AgentMessage::Permission(params, reply) => {
                let line = self.lease_of(&params);
                let heard = |line| (line, AgentMessage::Permission(params, reply));
                line.map(heard).into_iter().collect()
            }
            AgentMessage::Elicitation(params, reply) => {
                let line = self.lease_of(&params);
                let heard = |line| (line, AgentMessage::Elicitation(params, reply));
                line.map(heard).into_iter().collect()
            }
            AgentMessage::Closed(_) => Vec::new(),
        }
    }

    fn route_response(
        &mut self,
        tagged: TaggedCall,
        response: Result<Value, AgentCallError>,
    ) -> Vec<RoutedMessage> {
        let Some(line) = self.leases.get(&tagged.lease).cloned() else {
            return Vec::new();
        };
        let mut routed = Vec::new();
        if let Ok(response) = &response {
            match &tagged.call {
                AgentCall::Initialize => self.initialize_result = Some(response.clone()),
                AgentCall::Open(..) | AgentCall::Fork(..) => {
                    let id = response.get("sessionId").and_then(Value::as_str);
                    let id = id.unwrap_or_default();
                    if self.sessions.contains_key(id) {
                        let response = Err(AgentCallError::Rejected {
                            code: 0,
                            message: "it gave a name to two sessions".to_owned(),
                        });
                        return vec![(line, AgentMessage::Response(tagged.call, response))];
                    }
                    self.sessions.insert(id.to_owned(), tagged.lease);
                    let (early, others): (Vec<_>, _) = std::mem::take(&mut self.early_updates)
                        .into_iter()
                        .partition(|(of, _)| of == id);
                    self.early_updates = others;
                    let early = early
                        .into_iter()
                        .map(|(_, params)| AgentMessage::Update(params));
                    routed.extend(early.map(|early| (line.clone(), early)));
                }
                _ => {}
            }
        }
        routed.push((line, AgentMessage::Response(tagged.call, response)));
        routed
    }

    /// The line that a message is for; if there is only one, all are for it.
    fn lease_of(&self, params: &JsonParams) -> Option<mpsc::Sender<AgentMessage<AgentCall>>> {
        let line = session_id(params).and_then(|id| self.sessions.get(&id));
        let line = match line {
            Some(line) => self.leases.get(line),
            None if self.leases.len() == 1 => self.leases.values().next(),
            None => None,
        };
        line.cloned()
    }
}

fn session_id(params: &JsonParams) -> Option<String> {
    let id = params.get("sessionId").and_then(Value::as_str);
    id.map(str::to_owned)
}
