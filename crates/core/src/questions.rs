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
use agenthost_protocol::wire::{self, Json, Wire};

use crate::customizing::{CustomizationErrand, Heard, Ticket, Wanted};
use crate::effect::{Effect, Effects};
use crate::host::Host;
use crate::input::{ConnectionId, Input};
use crate::readings::{CONTENTS, LARGEST, Slot};

/// How long a client may take to answer.
const PATIENCE: Millis = Millis(10_000);

/// Most questions to one connection that are open. Whoever wants to ask one
/// more is told that the client is busy.
const OPEN: usize = 32;

/// The longest that a client's words are passed on.
const WORDS: usize = 200;

/// What a client answered. What it has to look like depends on what it was
/// asked, so nobody has looked at it yet.
#[derive(Clone)]
pub struct RawAnswer(pub Json);

/// Shows nothing of it: it may be what is in a file.
impl std::fmt::Debug for RawAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RawAnswer(…)")
    }
}

/// Why something could not be read from a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unread {
    #[error("the client that sent it is not connected")]
    Absent,
    #[error("the client has too much to answer already")]
    Busy,
    #[error("the client did not answer in time")]
    Silent,
    #[error("the client left before it answered")]
    Left,
    #[error("the client does not serve what it attaches")]
    Unserved,
    #[error("the client says: {0}")]
    Refused(String),
    #[error("what the client answered makes no sense")]
    Malformed,
    #[error("it is larger than {} KiB", LARGEST / 1024)]
    TooLarge,
    #[error("too much is attached to the message")]
    TooMuch,
    #[error("of all that is attached to the message, only the first {CONTENTS} are read")]
    TooMany,
}

/// What clients were asked and have not answered yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions {
    asked: u64,
    open: BTreeMap<(ConnectionId, RequestId), Question>,
}

/// Something that a client was asked.
#[derive(Debug, Clone)]
struct Question {
    wanted: Wanted,
    step: Step,
    /// Other connections of the client that may know, the best one last.
    others: Vec<ConnectionId>,
    /// Where the answer goes.
    asker: Asker,
}

/// Who wants to know something of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asker {
    /// A turn whose message refers to it.
    Turn(Slot),
    /// Whoever reads customizations.
    Customization(Ticket),
}

/// How far a question has got. Access is asked for once (RES-18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Read,
    AskForAccess,
    ReadAgain,
}

impl Host {
    /// Asks a client for something, by the last of these connections that can.
    pub(crate) fn ask_client(
        &mut self,
        mut connections: Vec<ConnectionId>,
        wanted: Wanted,
        asker: Asker,
        out: &mut Effects,
    ) {
        let Some(connection) = connections.pop() else {
            self.heard(asker, Err(Unread::Absent), out);
            return;
        };
        let question = Question {
            wanted,
            step: Step::Read,
            others: connections,
            asker,
        };
        self.ask(connection, question, out);
    }

    /// A client answered something. If nobody waits for it, nothing happens.
    pub(crate) fn hear_answer(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        answer: Result<RawAnswer, RpcError>,
        out: &mut Effects,
    ) {
        let Some(mut question) = self.questions.open.remove(&(connection, id)) else {
            return;
        };
        match (question.step, answer) {
            (Step::Read, Err(error)) if error.code == ErrorCode::PermissionDenied => {
                question.step = Step::AskForAccess;
                self.ask(connection, question, out);
            }
            (_, Err(error)) => self.ask_elsewhere(question, refusal(&error), out),
            (Step::AskForAccess, Ok(answer)) => match decode::<Empty>(&answer) {
                Ok(Empty {}) => {
                    question.step = Step::ReadAgain;
                    self.ask(connection, question, out);
                }
                Err(unread) => self.ask_elsewhere(question, unread, out),
            },
            (Step::Read | Step::ReadAgain, Ok(answer)) => match hear(&question.wanted, &answer) {
                Ok(heard) => self.heard(question.asker, Ok(heard), out),
                Err(unread) => self.ask_elsewhere(question, unread, out),
            },
        }
    }

    /// A client had time to answer. One that is silent is not asked again, nor
    /// is anybody in its place: the agent waits.
    pub(crate) fn end_question(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        out: &mut Effects,
    ) {
        if let Some(question) = self.questions.open.remove(&(connection, id)) {
            self.heard(question.asker, Err(Unread::Silent), out);
        }
    }

    /// Who is gone answers nothing. Comes after the connection is forgotten.
    pub(crate) fn end_questions(&mut self, connection: ConnectionId, out: &mut Effects) {
        let open = &mut self.questions.open;
        let gone = open.extract_if(.., |(asked, _), _| *asked == connection);
        let gone: Vec<_> = gone.map(|(_, question)| question).collect();
        for question in gone {
            self.ask_elsewhere(question, Unread::Left, out);
        }
    }

    /// Goes on with the next connection of the same client, if there is one.
    fn ask_elsewhere(&mut self, mut question: Question, unread: Unread, out: &mut Effects) {
        let here = &self.clients.connections;
        question.others.retain(|other| here.contains_key(other));
        match question.others.pop() {
            Some(connection) => {
                question.step = Step::Read;
                self.ask(connection, question, out);
            }
            None => self.heard(question.asker, Err(unread), out),
        }
    }

    /// Tells whoever asked.
    fn heard(&mut self, asker: Asker, heard: Result<Heard, Unread>, out: &mut Effects) {
        match asker {
            Asker::Turn(slot) => {
                let read = heard.and_then(|heard| match heard {
                    Heard::Read(read) => Ok(read),
                    Heard::Listed(_) => Err(Unread::Malformed),
                });
                self.was_read(slot, read, out);
            }
            Asker::Customization(ticket) => {
                let answer = heard.map_err(|unread| unread.to_string());
                let heard = CustomizationErrand::Heard { ticket, answer };
                out.push(Effect::Customize(Box::new(heard)));
            }
        }
    }

    fn ask(&mut self, connection: ConnectionId, question: Question, out: &mut Effects) {
        let of_it = |(asked, _): &&(ConnectionId, RequestId)| *asked == connection;
        if self.questions.open.keys().filter(of_it).count() >= OPEN {
            self.ask_elsewhere(question, Unread::Busy, out);
            return;
        }
        // A number: the official client takes a request with any other id for
        // a notification (RPC-2).
        self.questions.asked += 1;
        let id = RequestId::from(self.questions.asked);
        let request = match (question.step, &question.wanted) {
            (Step::Read | Step::ReadAgain, Wanted::Read(uri)) => {
                HostRequest::ResourceRead(ResourceReadParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    encoding: None,
                    meta: None,
                })
            }
            (Step::Read | Step::ReadAgain, Wanted::List(uri)) => {
                HostRequest::ResourceList(ResourceListParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    meta: None,
                })
            }
            (Step::AskForAccess, Wanted::Read(uri) | Wanted::List(uri)) => {
                HostRequest::ResourceRequest(ResourceRequestParams {
                    channel: RootChannel,
                    uri: uri.clone(),
                    read: Some(true),
                    write: None,
                    meta: None,
                })
            }
        };
        out.push(Effect::Ask {
            connection,
            id: id.clone(),
            request: Box::new(request),
        });
        let unanswered = Input::StillUnanswered {
            connection,
            id: id.clone(),
        };
        out.later(PATIENCE, unanswered);
        self.questions.open.insert((connection, id), question);
    }
}

fn refusal(error: &RpcError) -> Unread {
    match error.code {
        // A client that serves nothing is nothing special (RPC-14).
        ErrorCode::MethodNotFound => Unread::Unserved,
        _ => Unread::Refused(error.message.chars().take(WORDS).collect()),
    }
}

fn hear(wanted: &Wanted, answer: &RawAnswer) -> Result<Heard, Unread> {
    match wanted {
        Wanted::Read(_) => Ok(Heard::Read(Arc::new(read(answer)?))),
        Wanted::List(_) => Ok(Heard::Listed(decode(answer)?)),
    }
}

/// What a client says is in a resource. Of what is too large in any case, not
/// more is made than was received.
fn read(answer: &RawAnswer) -> Result<ResourceReadResult, Unread> {
    let data = answer.0.get("data").and_then(Json::as_str);
    if data.is_some_and(|data| data.len() > 2 * LARGEST) {
        return Err(Unread::TooLarge);
    }
    decode(answer)
}

fn decode<T: Wire>(answer: &RawAnswer) -> Result<T, Unread> {
    wire::from_str(&answer.0.to_string()).map_err(|_| Unread::Malformed)
}
