//! Who hears what an agent sends.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc;

use crate::acp::live::Call;
use crate::acp::wire::{CallError, Incoming, Object};

/// Updates that wait for the session they belong to. When there are more, the
/// oldest are forgotten.
const EARLY: usize = 500;

/// What was asked, and by which line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Marked {
    pub(super) line: u64,
    pub(super) call: Call,
}

/// Who hears what.
#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) lines: BTreeMap<u64, mpsc::Sender<Incoming<Call>>>,
    pub(super) next_line: u64,
    /// The line of each session of the agent.
    pub(super) sessions: BTreeMap<String, u64>,
    /// Updates of sessions that nobody knows yet.
    pub(super) early: Vec<(String, Object)>,
    /// What the agent said it can do.
    pub(super) initialized: Option<Value>,
    /// Why it was ended.
    pub(super) ended: Option<String>,
}

pub(super) fn lock(routes: &Mutex<Routes>) -> MutexGuard<'_, Routes> {
    routes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells each line what it has to hear, until there is nothing more.
pub(super) async fn route(
    mut incoming: mpsc::Receiver<Incoming<Marked>>,
    routes: Arc<Mutex<Routes>>,
) {
    while let Some(incoming) = incoming.recv().await {
        if let Incoming::Closed(reason) = incoming {
            return close(reason, &routes).await;
        }
        let heard = lock(&routes).sort(incoming);
        for (line, heard) in heard {
            // Who does not listen any more needs not hear it.
            line.send(heard).await.unwrap_or_default();
        }
    }
}

/// The agent is gone: all have to know.
async fn close(reason: Option<String>, routes: &Mutex<Routes>) {
    let (lines, reason) = {
        let mut routes = lock(routes);
        let ended = routes.ended.get_or_insert_default().clone();
        let ended = (!ended.is_empty()).then_some(ended);
        (routes.lines.clone(), ended.or(reason))
    };
    for line in lines.into_values() {
        let closed = Incoming::Closed(reason.clone());
        line.send(closed).await.unwrap_or_default();
    }
}

/// Something for a line.
type Heard = (mpsc::Sender<Incoming<Call>>, Incoming<Call>);

impl Routes {
    /// Finds out whom a message is for.
    fn sort(&mut self, incoming: Incoming<Marked>) -> Vec<Heard> {
        match incoming {
            Incoming::Answer(marked, answer) => self.answered(marked, answer),
            Incoming::Update(params) => {
                let line = self.line_of(&params);
                let early = line.is_none().then(|| params.clone());
                if let Some((id, early)) =
                    early.and_then(|early| Some((session_of(&early)?, early)))
                {
                    if self.early.len() >= EARLY {
                        self.early.remove(0);
                    }
                    self.early.push((id, early));
                }
                line.map(|line| (line, Incoming::Update(params)))
                    .into_iter()
                    .collect()
            }
            Incoming::Service(request, params, reply) => {
                let line = self.line_of(&params);
                let heard = |line| (line, Incoming::Service(request, params, reply));
                line.map(heard).into_iter().collect()
            }
            // Dropped, it is answered with an error.
            Incoming::Permission(params, reply) => {
                let line = self.line_of(&params);
                let heard = |line| (line, Incoming::Permission(params, reply));
                line.map(heard).into_iter().collect()
            }
            Incoming::Elicitation(params, reply) => {
                let line = self.line_of(&params);
                let heard = |line| (line, Incoming::Elicitation(params, reply));
                line.map(heard).into_iter().collect()
            }
            Incoming::Closed(_) => Vec::new(),
        }
    }

    fn answered(&mut self, marked: Marked, answer: Result<Value, CallError>) -> Vec<Heard> {
        let Some(line) = self.lines.get(&marked.line).cloned() else {
            return Vec::new();
        };
        let mut heard = Vec::new();
        if let Ok(answer) = &answer {
            match &marked.call {
                Call::Initialize => self.initialized = Some(answer.clone()),
                Call::Open(..) | Call::Copy(..) => {
                    let id = answer.get("sessionId").and_then(Value::as_str);
                    let id = id.unwrap_or_default();
                    if self.sessions.contains_key(id) {
                        let answer = Err(CallError::Refused {
                            code: 0,
                            message: "it gave a name to two sessions".to_owned(),
                        });
                        return vec![(line, Incoming::Answer(marked.call, answer))];
                    }
                    self.sessions.insert(id.to_owned(), marked.line);
                    let (early, others): (Vec<_>, _) = std::mem::take(&mut self.early)
                        .into_iter()
                        .partition(|(of, _)| of == id);
                    self.early = others;
                    let early = early
                        .into_iter()
                        .map(|(_, params)| Incoming::Update(params));
                    heard.extend(early.map(|early| (line.clone(), early)));
                }
                _ => {}
            }
        }
        heard.push((line, Incoming::Answer(marked.call, answer)));
        heard
    }

    /// The line that a message is for; if there is only one, all are for it.
    fn line_of(&self, params: &Object) -> Option<mpsc::Sender<Incoming<Call>>> {
        let line = session_of(params).and_then(|id| self.sessions.get(&id));
        let line = match line {
            Some(line) => self.lines.get(line),
            None if self.lines.len() == 1 => self.lines.values().next(),
            None => None,
        };
        line.cloned()
    }
}

fn session_of(params: &Object) -> Option<String> {
    let id = params.get("sessionId").and_then(Value::as_str);
    id.map(str::to_owned)
}
